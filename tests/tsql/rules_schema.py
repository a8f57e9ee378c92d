"""Rules on definitions: types, histories and the policies that keep tenants apart."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tsql.catalogue import Catalogue, Table, options
from tests.tsql.tree import Finding, Node, Script, kind, name_of

_JSON_COLUMN = "SchemaDeclarationItemOpenjson"
_COLUMNS = ("ColumnDefinition", _JSON_COLUMN, "ProcedureParameter")
_OTHER_INSTANTS = {"DateTime", "SmallDateTime", "DateTimeOffset"}
_RETIRED = {"Text", "NText", "Image"}
_TEXTS = {"NChar", "NVarChar"}
_NARROW_TEXTS = {"Char", "VarChar"}


def whole_numbers(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """No 32-bit integer column or parameter; what is called an id has 64 bits."""
    for node in script.all(*_COLUMNS):
        name, kind_of_number = _column_name(node), _sql_type(_data_type(node))
        if kind_of_number == "Int":
            yield script.finding("32-bit integer", node, f"{name} must be BIGINT or SMALLINT")
        elif _is_id(name) and kind_of_number != "BigInt":
            yield script.finding("id", node, f"{name} must be BIGINT")


def instants(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Instants are DATETIME2(6): Python has no seventh digit, and fewer name another version."""
    for node in script.all("SqlDataTypeReference"):
        named = _sql_type(node)
        if named == "DateTime2" and [str(p.Value) for p in node.Parameters] != ["6"]:
            yield script.finding("instant", node, "write DATETIME2(6)")
        elif named in _OTHER_INSTANTS:
            yield script.finding("instant", node, f"{named} is no instant; write DATETIME2(6)")


def types(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Types of this engine, and none that is retired."""
    for node in script.all("UserDataTypeReference"):
        yield script.finding("type", node, f"{name_of(node.Name)[1]} is no type of SQL Server's")
    for node in script.all("SqlDataTypeReference"):
        if _sql_type(node) in _RETIRED:
            yield script.finding("type", node, f"{_sql_type(node)} is retired")


def texts(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Texts are of Unicode, and compared alike whatever the database or tempdb would say."""
    for node in script.all("ColumnDefinition"):
        named, name = _sql_type(node.DataType), _column_name(node)
        if named in _NARROW_TEXTS:
            yield script.finding("text", node, f"{name} loses characters; write N{named.upper()}")
        elif named in _TEXTS and node.Collation is None:
            yield script.finding("text", node, f"{name} must name its COLLATE")


def versioning(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Versioning names the schema of its history, checks it, and states how long it is kept."""
    for statement in script.all("CreateTableStatement", "AlterTableSetStatement"):
        for option in options(statement, "SystemVersioningTableOption"):
            if str(option.OptionState) == "On":
                yield from _versioning(script, option)


def _versioning(script: Script, option: Node) -> Iterator[Finding]:
    if option.HistoryTable is None or not name_of(option.HistoryTable)[0]:
        yield script.finding("history table", option, "name HISTORY_TABLE with its schema")
    if str(option.ConsistencyCheckEnabled) != "On":
        yield script.finding("history table", option, "state DATA_CONSISTENCY_CHECK = ON")
    if option.RetentionPeriod is None:
        yield script.finding("history table", option, "state HISTORY_RETENTION_PERIOD")


def truncation(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """No TRUNCATE of a versioned table or of a history: the server refuses it."""
    versioned = {name for name, table in catalogue.tables.items() if table.history}
    for node in script.all("TruncateTableStatement"):
        name = name_of(node.TableName)[1]
        if name in versioned | catalogue.histories():
            yield script.finding("truncate", node, f"{name} is versioned")


def histories(catalogue: Catalogue) -> Iterator[Finding]:
    """A history has the columns of its table and no constraint, and can be aged.

    What has a period keeps one: a migration that switches it off has to switch it on again.
    """
    for table in catalogue.tables.values():
        if table.period and table.history is None:
            yield _at(table, "history table", f"the versioning of {table.name} stays off")
        if table.history is not None:
            yield from _history(catalogue, table)


def _history(catalogue: Catalogue, table: Table) -> Iterator[Finding]:
    history = catalogue.tables.get(table.history or "")
    if history is None:
        yield _at(table, "history table", f"{table.history} is not created before it is named")
        return
    if list(history.columns.items()) != list(table.columns.items()):
        yield _at(history, "history table", f"its columns are not those of {table.name}, in order")
    if history.constraints:
        yield _at(history, "history table", "a history can't have constraints")
    clustered = [i for i in catalogue.indexes if i.table == history.name and i.clustered]
    if [i.columns for i in clustered if i.compressed] != [("validto", "validfrom")]:
        yield _at(history, "history table", "cluster it on (ValidTo, ValidFrom), page-compressed")


def policies(catalogue: Catalogue) -> Iterator[Finding]:
    """Every table with a TenantId is filtered by a policy, and blocked unless it is a history."""
    for name, table in catalogue.tables.items():
        if not catalogue.guarded(name):
            continue
        if name not in catalogue.filtered:
            yield _at(table, "row-level security", f"no policy filters {name}")
        if name not in catalogue.blocked | catalogue.histories():
            yield _at(table, "row-level security", f"no policy blocks writes to {name}")


def _at(table: Table, rule: str, message: str) -> Finding:
    return table.script.finding(rule, table.node, message)


def _column_name(node: Node) -> str:
    if kind(node) == "ProcedureParameter":
        return str(node.VariableName.Value).lstrip("@")
    column = node.ColumnDefinition if kind(node) == _JSON_COLUMN else node
    return str(column.ColumnIdentifier.Value)


def _data_type(node: Node) -> Node:
    column = node.ColumnDefinition if kind(node) == _JSON_COLUMN else node
    return column.DataType


def _sql_type(data_type: Node) -> str:
    known = data_type is not None and kind(data_type) == "SqlDataTypeReference"
    return str(data_type.SqlDataTypeOption) if known else ""


def _is_id(name: str) -> bool:
    return name == "Id" or name.endswith("Id")

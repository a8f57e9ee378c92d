"""What a schema holds, as its migrations say: tables, columns, histories, indexes and policies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.tsql.tree import Node, Script, column_path, kind, name_of

DIRECTORIES = frozenset({"Tenants"})
"""Tables that name tenants, and hold nothing of theirs: whoever looks after all must see them."""


@dataclass(slots=True)
class Table:
    """A table of the schema Memory; `columns` are the texts of their types by name, in order.

    One with a period keeps a history, named and kept for as long as `history` and `kept` say.
    """

    name: str
    columns: dict[str, str]
    script: Script
    node: Node
    history: str | None = None
    kept: str = ""
    period: bool = False
    constraints: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """A clustered or other index on a table, with its columns in order; `included` come beside."""

    name: str
    table: str
    columns: tuple[str, ...]
    included: frozenset[str]
    clustered: bool
    compressed: bool


@dataclass(slots=True)
class Catalogue:
    """All that scripts define; `filtered` and `blocked` name tables that a policy guards.

    `policies` are the policies that are switched on.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    indexes: list[Index] = field(default_factory=list)
    policies: set[str] = field(default_factory=set)
    filtered: set[str] = field(default_factory=set)
    blocked: set[str] = field(default_factory=set)

    def guarded(self, name: str) -> bool:
        """Whether a table holds rows of tenants."""
        known = name in self.tables and "TenantId" in self.tables[name].columns
        return known and name not in DIRECTORIES

    def histories(self) -> set[str]:
        """The names of all history tables."""
        return {table.history for table in self.tables.values() if table.history is not None}


def catalogue(scripts: Iterable[Script]) -> Catalogue:
    """What the scripts define."""
    found = Catalogue()
    for script in scripts:
        for node in script.all("CreateTableStatement"):
            _add_table(found, script, node)
        for node in script.all("AlterTableSetStatement"):
            _version(found.tables[name_of(node.SchemaObjectName)[1]], node)
        for node in script.all("AlterTableAddTableElementStatement"):
            columns = {str(c.ColumnIdentifier.Value): c for c in node.Definition.ColumnDefinitions}
            table = found.tables[name_of(node.SchemaObjectName)[1]]
            table.columns |= {name: _type(column) for name, column in columns.items()}
        for node in script.all("DropIndexClause"):
            gone = str(node.Index.Value), name_of(node.Object)[1]
            found.indexes = [i for i in found.indexes if (i.name, i.table) != gone]
        for node in script.all("CreateIndexStatement"):
            found.indexes.append(_index(node))
        for node in script.all("CreateSecurityPolicyStatement"):
            states = {str(o.OptionKind): str(o.OptionState) for o in node.SecurityPolicyOptions}
            if states.get("State") == "On":
                found.policies.add(name_of(node.Name)[1])
        for node in script.all("CreateSecurityPolicyStatement", "AlterSecurityPolicyStatement"):
            _change_predicates(found, node)
    return found


def options(node: Node, wanted: str) -> list[Node]:
    """The options of a type that a CREATE TABLE or ALTER TABLE statement gives."""
    return [option for option in node.Options if kind(option) == wanted]


def predicate_actions(policy: Node) -> list[Node]:
    """The predicates that a statement on a security policy adds and drops, in order.

    Raises `NotImplementedError` for one that switches a policy.
    """
    altered = kind(policy) == "AlterSecurityPolicyStatement"
    if altered and list(policy.SecurityPolicyOptions):
        raise NotImplementedError("a security policy that is switched")
    return list(policy.SecurityPredicateActions)


def added_predicates(policy: Node) -> list[Node]:
    """The predicates that a statement on a security policy adds; it may do nothing else to it."""
    actions = predicate_actions(policy)
    if any(str(a.ActionType) != "Create" for a in actions):
        raise NotImplementedError("a security policy that loses predicates")
    return actions


def text_of(node: Any) -> str:
    """The text of a fragment, its tokens joined and lower-case."""
    tokens = node.ScriptTokenStream
    span = range(node.FirstTokenIndex, node.LastTokenIndex + 1)
    words = (str(tokens[place].Text) for place in span)
    return " ".join(word.lower() for word in words if not word.isspace())


def _add_table(found: Catalogue, script: Script, node: Node) -> None:
    schema, name = name_of(node.SchemaObjectName)
    if schema != "memory":
        return
    columns = list(node.Definition.ColumnDefinitions)
    table = Table(name, {str(c.ColumnIdentifier.Value): _type(c) for c in columns}, script, node)
    table.constraints = len(list(node.Definition.TableConstraints))
    for column in columns:
        named = (c for c in column.Constraints if kind(c) != "NullableConstraintDefinition")
        table.constraints += len(list(named)) + (column.DefaultConstraint is not None)
    table.period = node.Definition.SystemTimePeriod is not None
    _version(table, node)
    found.tables[name] = table


def _version(table: Table, node: Node) -> None:
    """What a statement says of the history of a table, if it says anything."""
    for option in options(node, "SystemVersioningTableOption"):
        off, kept = str(option.OptionState) == "Off", option.RetentionPeriod
        named = None if off or option.HistoryTable is None else name_of(option.HistoryTable)[1]
        table.history = named
        table.kept = "" if off or kept is None else f"{kept.Duration.Value} {kept.Units}"


def _type(column: Node) -> str:
    """A column's type, collation and nullability: what its history must repeat."""
    if column.DataType is None:
        return "computed"
    parts = [text_of(column.DataType)]
    if column.Collation is not None:
        parts.append(text_of(column.Collation))
    parts += [text_of(c) for c in column.Constraints if kind(c) == "NullableConstraintDefinition"]
    return " ".join(parts)


def _index(node: Node) -> Index:
    columns = tuple(column_path(c.Column)[-1] for c in node.Columns)
    compressed = any(
        kind(option) == "DataCompressionOption" and str(option.CompressionLevel) == "Page"
        for option in node.IndexOptions
    )
    included = frozenset(column_path(column)[-1] for column in node.IncludeColumns)
    on, clustered = name_of(node.OnName)[1], bool(node.Clustered)
    return Index(str(node.Name.Value), on, columns, included, clustered, compressed)


def _change_predicates(found: Catalogue, node: Node) -> None:
    if name_of(node.Name)[1] not in found.policies:
        return
    for action in predicate_actions(node):
        table = name_of(action.TargetObjectName)[1]
        filters = str(action.SecurityPredicateType) == "Filter"
        guarded = found.filtered if filters else found.blocked
        if str(action.ActionType) == "Drop":
            guarded.discard(table)
        elif filters or str(action.SecurityPredicateOperation) == "All":
            arguments = [column_path(argument) for argument in action.FunctionCall.Parameters]
            guarded |= {table} if arguments == [["tenantid"]] else set()

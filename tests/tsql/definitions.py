"""What definitions do: to the schema, and to the SQLite database under it.

A versioned table is a table, its history, and triggers that move former versions there.  A policy
becomes a view of the same name for each session, and triggers that refuse what it blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from tests.tsql.catalogue import added_predicates, options, text_of
from tests.tsql.errors import ServerError
from tests.tsql.schema import Column, Schema, Stored
from tests.tsql.sqlite_text import Translator
from tests.tsql.tree import Node, Script, Statement, column_path, kind, name_of, parse
from tests.tsql.values import END_OF_TIME, instant

KNOWN = frozenset(
    {
        "AlterSecurityPolicyStatement", "AlterTableAddTableElementStatement",
        "CheckConstraintDefinition", "ColumnDefinition", "ColumnDefinitionBase",
        "ColumnWithSortOrder", "CreateFunctionStatement", "CreateIndexStatement",
        "CreateProcedureStatement", "CreateSchemaStatement", "CreateSecurityPolicyStatement",
        "CreateSequenceStatement", "CreateTableStatement", "DataCompressionOption",
        "DataTypeSequenceOption", "DefaultConstraintDefinition", "DropIndexClause",
        "DropIndexStatement", "FunctionOption",
        "IgnoreDupKeyIndexOption",
        "IndexDefinition", "NullableConstraintDefinition", "ProcedureParameter",
        "ProcedureReference", "RetentionPeriodDefinition", "ScalarExpressionSequenceOption",
        "SchemaDeclarationItemOpenjson", "SelectFunctionReturnType", "SequenceOption",
        "SystemTimePeriodDefinition", "SystemVersioningTableOption", "TableDefinition",
        "UniqueConstraintDefinition",
    }
)  # fmt: skip
"""Fragments of definitions that are understood here."""

_AFFINITIES = {
    "BigInt": "INTEGER",
    "SmallInt": "INTEGER",
    "Bit": "INTEGER",
    "Float": "REAL",
    "NVarChar": "TEXT COLLATE PADDED",
    "NChar": "TEXT COLLATE PADDED",
    "DateTime2": "BLOB",
    "RowVersion": "BLOB",
    "VarBinary": "BLOB",
}
_RANGES = {"SmallInt": 15, "BigInt": 63, "Bit": 1}


@dataclass(frozen=True, slots=True)
class Defined:
    """A schema after a definition, and the statements that bring SQLite there."""

    schema: Schema
    statements: tuple[str, ...] = ()


@cache
def defined(statement: Statement, schema: Schema) -> Defined:
    """What a batch of definitions makes of a schema; the same value each time."""
    script, _ = parse(statement)
    definitions = Definitions(script, schema)
    statements: list[str] = []
    for node in next(iter(script.tree.Batches)).Statements:
        done = definitions.ways[kind(node)](schema, node)
        schema = done.schema
        statements += done.statements
    return Defined(schema, tuple(statements))


class Definitions:
    """The definitions of one script, over the schema before it."""

    def __init__(self, script: Script, schema: Schema) -> None:
        self._script = script
        self._text = Translator(script, schema)
        self.ways: dict[str, Callable[[Schema, Node], Defined]] = {
            "AlterSecurityPolicyStatement": self._predicates,
            "CreateFunctionStatement": self._routine,
            "AlterTableAddTableElementStatement": self._add_columns,
            "CreateIndexStatement": self._index,
            "CreateProcedureStatement": self._routine,
            "CreateSchemaStatement": self._schema,
            "CreateSecurityPolicyStatement": self._policy,
            "CreateSequenceStatement": self._sequence,
            "CreateTableStatement": self._table,
            "DropIndexStatement": self._drop_index,
        }

    def _schema(self, schema: Schema, node: Node) -> Defined:
        name = str(node.Name.Value).lower()
        _refuse_known(name in schema.schemas, name)
        return Defined(replace(schema, schemas=schema.schemas | {name}))

    def _sequence(self, schema: Schema, node: Node) -> Defined:
        name = _own_name(schema, node.Name).lower()
        _refuse_known(name in schema.sequences, name)
        return Defined(replace(schema, sequences=schema.sequences | {name}))

    def _routine(self, schema: Schema, node: Node) -> Defined:
        reference = node.ProcedureReference if hasattr(node, "ProcedureReference") else node
        name = _own_name(schema, reference.Name).lower()
        _refuse_known(name in schema.routines, name)
        routine = {name: (self._script, node)}
        return Defined(replace(schema, routines={**schema.routines, **routine}))

    def _table(self, schema: Schema, node: Node) -> Defined:
        name = _own_name(schema, node.SchemaObjectName)
        _refuse_known(name.lower() in schema.tables, name)
        body = node.Definition
        columns = tuple(_column(each) for each in body.ColumnDefinitions)
        history = _history(node)
        table = Stored(name, columns, _period(body), history, _token_of(columns))
        types = {c.name.lower(): c.kind for c in columns}
        clashes = {n for n, k in types.items() if schema.types.get(n, k) != k}
        made = replace(
            schema,
            tables={**schema.tables, name.lower(): table},
            types={**schema.types, **types, **dict.fromkeys(clashes, "")},
        )
        parts = [self._column_text(each, table) for each in body.ColumnDefinitions]
        parts += [self._constraint(each) for each in body.TableConstraints]
        create = f"CREATE TABLE main.[{name}] ({', '.join(parts)}) STRICT"
        return Defined(made, (create, *_versioning(table, made)))

    def _add_columns(self, schema: Schema, node: Node) -> Defined:
        table = schema.table(_own_name(schema, node.SchemaObjectName))
        if table.history is not None:
            raise NotImplementedError("a versioned table that gets a column")
        added = node.Definition.ColumnDefinitions
        changed = replace(table, columns=(*table.columns, *(_column(each) for each in added)))
        made = replace(schema, tables={**schema.tables, table.name.lower(): changed})
        texts = [self._column_text(each, changed) for each in added]
        return Defined(
            made, tuple(f"ALTER TABLE main.[{table.name}] ADD COLUMN {text}" for text in texts)
        )

    def _column_text(self, node: Node, table: Stored) -> str:
        column = _column(node)
        name = f"[{column.name}]"
        if node.ComputedColumnExpression is not None:
            made = node.ComputedColumnExpression
            type = _AFFINITIES["NVarChar"] if kind(made) == "LeftFunctionCall" else "BLOB"
            return f"{name} {type} AS ({self._text.render(made)}) STORED"
        parts = [name, _AFFINITIES[column.kind], _filled(column.name, table)]
        parts += [self._constraint(constraint) for constraint in node.Constraints]
        if node.DefaultConstraint is not None:
            parts.append(f"DEFAULT ({self._text.render(node.DefaultConstraint.Expression)})")
        parts.append(_fits(node.DataType, column))
        return " ".join(parts)

    def _constraint(self, node: Node) -> str:
        if kind(node) == "NullableConstraintDefinition":
            return "" if node.Nullable else "NOT NULL"
        named = node.ConstraintIdentifier
        name = "" if named is None else f"CONSTRAINT [{named.Value}] "
        if kind(node) == "CheckConstraintDefinition":
            return f"{name}CHECK ({self._text.render(node.CheckCondition)})"
        if kind(node) != "UniqueConstraintDefinition":
            raise NotImplementedError(f"a {kind(node)}")
        columns = _column_list(node.Columns)
        # SQLite takes no computed column into a primary key.
        key = "PRIMARY KEY" if node.IsPrimaryKey and len(columns) < 2 else "UNIQUE"
        doubles = " ON CONFLICT IGNORE" if _ignores_doubles(node) else ""
        return f"{name}{key}" + (f" ({', '.join(columns)})" if columns else "") + doubles

    def _index(self, schema: Schema, node: Node) -> Defined:
        table = schema.table(_own_name(schema, node.OnName))
        unique = "UNIQUE " if node.Unique else ""
        condition = node.FilterPredicate
        where = "" if condition is None else f" WHERE {self._text.render(condition)}"
        columns = ", ".join(_column_list(node.Columns))
        name = _index_name(table, node.Name)
        text = f"CREATE {unique}INDEX main.{name} ON [{table.name}] ({columns}){where}"
        return Defined(schema, (text,))

    def _drop_index(self, schema: Schema, node: Node) -> Defined:
        names = [
            _index_name(schema.table(_own_name(schema, clause.Object)), clause.Index)
            for clause in node.DropIndexClauses
        ]
        return Defined(schema, tuple(f"DROP INDEX main.{name}" for name in names))

    def _policy(self, schema: Schema, node: Node) -> Defined:
        states = {str(o.OptionKind): str(o.OptionState) for o in node.SecurityPolicyOptions}
        if states.get("State") != "On":
            raise NotImplementedError("a security policy that is not switched on")
        return self._predicates(schema, node)

    def _predicates(self, schema: Schema, node: Node) -> Defined:
        guards, triggers = dict(schema.guards), list[str]()
        for action in added_predicates(node):
            table = schema.table(_own_name(schema, action.TargetObjectName))
            (argument,) = action.FunctionCall.Parameters
            condition = _predicate(schema, str(action.FunctionCall.FunctionName.Value))
            column = table.column(column_path(argument)[-1]).name
            if str(action.SecurityPredicateType) == "Filter":
                guards[table.name] = condition.replace("{}", f"{{}}.[{column}]")
            else:
                triggers += _blocking(table, condition, column)
        return Defined(replace(schema, guards=guards), tuple(triggers))


def _index_name(table: Stored, index: Node) -> str:
    """SQL Server names indexes within their tables, SQLite within its file."""
    return f"[{table.name}_{index.Value}]"


def session_views(schema: Schema) -> list[str]:
    """What makes a session see of each guarded table what the policy lets it see."""
    return [
        f"CREATE TEMP VIEW [{name}] AS SELECT * FROM main.[{name}] AS t"
        f" WHERE {condition.format('t')}"
        for name, condition in schema.guards.items()
    ]


def _own_name(schema: Schema, named: Node) -> str:
    owner, name = name_of(named)
    if owner not in schema.schemas:
        raise ServerError(2760, f"The schema {owner or 'dbo'} does not exist or is not used here.")
    return name


def _refuse_known(known: bool, name: str) -> None:
    if known:
        raise ServerError(2714, f"There is already an object named '{name}' in the database.")


def _column(node: Node) -> Column:
    kind_of = "" if node.DataType is None else str(node.DataType.SqlDataTypeOption)
    return Column(
        str(node.ColumnIdentifier.Value), "RowVersion" if kind_of == "Rowversion" else kind_of
    )


def _column_list(columns: Node) -> list[str]:
    return [f"[{column_path(each.Column)[-1]}]" for each in columns]


def _ignores_doubles(key: Node) -> bool:
    options = [option for option in key.IndexOptions if str(option.OptionKind) == "IgnoreDupKey"]
    return any(str(option.OptionState) == "On" for option in options)


def _period(body: Node) -> tuple[str, str] | None:
    period = body.SystemTimePeriod
    if period is None:
        return None
    return str(period.StartTimeColumn.Value), str(period.EndTimeColumn.Value)


def _history(node: Node) -> str | None:
    for option in options(node, "SystemVersioningTableOption"):
        return name_of(option.HistoryTable)[1]
    return None


def _token_of(columns: tuple[Column, ...]) -> str | None:
    return next((column.name for column in columns if column.kind == "RowVersion"), None)


def _filled(name: str, table: Stored) -> str:
    """What fills a column that the server writes itself."""
    if name == table.token:
        return "DEFAULT (next_token())"
    if table.period is None or name not in table.period:
        return ""
    if name == table.period[0]:
        return "DEFAULT (tx_began())"
    return f"DEFAULT (x'{instant(END_OF_TIME).hex()}')"


def _fits(data_type: Node, column: Column) -> str:
    """The check that a value fits its type."""
    bits = _RANGES.get(column.kind)
    if bits is not None and bits < 63:
        low = 0 if column.kind == "Bit" else -(2**bits)
        return f"CONSTRAINT [out of range] CHECK ([{column.name}] BETWEEN {low} AND {2**bits - 1})"
    if column.kind not in {"NVarChar", "NChar"} or "max" in text_of(data_type):
        return ""
    (size,) = (str(parameter.Value) for parameter in data_type.Parameters)
    return f"CONSTRAINT [too long] CHECK (units_of([{column.name}]) <= {size})"


def _versioning(table: Stored, schema: Schema) -> list[str]:
    """The triggers by which former versions go to the history."""
    if table.history is None or table.period is None:
        return []
    if [c.name for c in schema.table(table.history).columns] != [c.name for c in table.columns]:
        raise ServerError(13523, f"{table.history} has not the columns of {table.name}.")
    start, end = table.period
    closed = ", ".join(
        f"tx_closes(OLD.[{start}])" if column.name == end else f"OLD.[{column.name}]"
        for column in table.columns
    )
    names = ", ".join(f"[{column.name}]" for column in table.columns)
    return [
        f"CREATE TRIGGER main.[{table.name}_{event}] AFTER {event} ON [{table.name}] BEGIN "
        f"INSERT INTO [{table.history}] ({names}) VALUES ({closed}); END"
        for event in ("UPDATE", "DELETE")
    ]


def _blocking(table: Stored, condition: str, column: str) -> list[str]:
    """The triggers by which rows that a policy blocks are refused."""
    allowed = condition.replace("{}", f"NEW.[{column}]")
    refused = (
        f"RAISE(ABORT, '33504 The attempted operation failed: a block predicate on {table.name}.')"
    )
    return [
        f"CREATE TRIGGER main.[{table.name}_block_{event}] AFTER {event} ON [{table.name}] "
        f"WHEN ({allowed}) IS NOT 1 BEGIN SELECT {refused}; END"
        for event in ("INSERT", "UPDATE")
    ]


def _predicate(schema: Schema, function: str) -> str:
    """The condition of an inline function with one parameter, which is written as `{}`."""
    script, node = schema.routines[function.lower()]
    (parameter,) = node.Parameters
    query = node.ReturnType.SelectStatement.QueryExpression
    condition = Translator(script, schema).render(query.WhereClause.SearchCondition)
    return condition.replace(f":{str(parameter.VariableName.Value).lstrip('@').lower()}", "{}")

"""How INSERT, UPDATE and DELETE are written for SQLite.

The server's part is written in: who fills periods and tokens, and which rows a policy hides.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.tsql.errors import ServerError
from tests.tsql.schema import Stored
from tests.tsql.sqlite_text import Translator, name_of_element
from tests.tsql.tree import Node, column_path, kind, name_of

MOST_ROWS = 1_000
"""How many rows a list of VALUES may have."""


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that changes rows, and what it hands out.

    `names` are the columns of OUTPUT, None without one.  `before` reads what they need of the rows
    as they were: the row's number, then columns.  `text` returns the row's number, then columns;
    `picks` says for each column of OUTPUT whether it is of the former row, and which.
    """

    text: str
    lasting: bool
    names: list[str] | None = None
    before: str | None = None
    picks: tuple[tuple[bool, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """The table that a statement changes; `stored` is None for a temporary one."""

    name: str
    alias: str
    stored: Stored | None


class Changes:
    """Writes the changes of one script."""

    def __init__(self, text: Translator) -> None:
        self._text = text

    def insert(self, node: Node) -> Change:
        """An INSERT of VALUES or of a query."""
        specification = node.InsertSpecification
        target = self._named(specification.Target, None)
        columns = [column_path(column)[-1] for column in specification.Columns]
        if not columns:
            raise NotImplementedError("an INSERT that names no columns")
        for column in columns:
            _writable(target.stored, column, inserting=True)
        source = self._source(specification.InsertSource, target.stored, columns)
        names = ", ".join(f"[{column}]" for column in columns)
        text = f"{self._with(node)}INSERT INTO {target.name} ({names}) {source}"
        return self._change(text, target, specification.OutputClause, None)

    def update(self, node: Node) -> Change:
        """An UPDATE of one table, by itself or joined to others."""
        specification = node.UpdateSpecification
        target, others, conditions = self._rows(specification)
        changes = [self._set(clause, target.stored) for clause in specification.SetClauses]
        if target.stored is not None and target.stored.period is not None:
            changes.append(f"[{target.stored.period[0]}] = tx_began()")
        if target.stored is not None and target.stored.token is not None:
            changes.append(f"[{target.stored.token}] = next_token()")
        where = _where(conditions)
        joined = f" FROM {', '.join(others)}" if others else ""
        text = (
            f"{self._with(node)}UPDATE {target.name} AS {target.alias}"
            f" SET {', '.join(changes)}{joined}{where}"
        )
        rows = f"FROM {', '.join([f'{target.name} AS {target.alias}', *others])}{where}"
        return self._change(text, target, specification.OutputClause, rows)

    def delete(self, node: Node) -> Change:
        """A DELETE from one table, by itself or joined to others."""
        specification = node.DeleteSpecification
        target, others, conditions = self._rows(specification)
        where, named = _where(conditions), f"{target.name} AS {target.alias}"
        if others:
            rows = f"FROM {', '.join([named, *others])}{where}"
            where = f" WHERE rowid IN (SELECT {target.alias}.rowid {rows})"
        text = f"{self._with(node)}DELETE FROM {named}{where}"
        return self._change(text, target, specification.OutputClause, None)

    def _with(self, node: Node) -> str:
        named = node.WithCtesAndXmlNamespaces
        return "" if named is None else f"{self._text.render(named)} "

    def _source(self, source: Node, stored: Stored | None, columns: list[str]) -> str:
        instants = [
            stored is not None and stored.column(column).kind == "DateTime2" for column in columns
        ]
        if kind(source) == "ValuesInsertSource" and not source.IsDefaultValues:
            return self._values(source, instants)
        if kind(source) != "SelectInsertSource":
            raise NotImplementedError(f"an INSERT of {kind(source)}")
        query = self._text.render(source.Select)
        if not any(instants):
            return query
        names = ", ".join(f"c{place}" for place in range(len(columns)))
        cast = (f"as_instant(c{i})" if is_one else f"c{i}" for i, is_one in enumerate(instants))
        return f"SELECT {', '.join(cast)} FROM (WITH g ({names}) AS ({query}) SELECT * FROM g)"

    def _values(self, source: Node, instants: list[bool]) -> str:
        rows = list(source.RowValues)
        if len(rows) > MOST_ROWS:
            raise ServerError(10738, "The number of row value expressions exceeds 1000.")
        return "VALUES " + ", ".join(self._row(row, instants) for row in rows)

    def _row(self, row: Node, instants: list[bool]) -> str:
        pairs = zip(row.ColumnValues, instants, strict=True)
        written = (
            self._text.instant(value) if is_one else self._text.render(value)
            for value, is_one in pairs
        )
        return f"({', '.join(written)})"

    def _set(self, clause: Node, stored: Stored | None) -> str:
        if kind(clause) != "AssignmentSetClause" or str(clause.AssignmentKind) != "Equals":
            raise NotImplementedError("a SET that is no plain assignment")
        if clause.Variable is not None:
            raise NotImplementedError("a SET of a variable in an UPDATE")
        column = column_path(clause.Column)[-1]
        _writable(stored, column, inserting=False)
        typed = stored is not None and stored.column(column).kind == "DateTime2"
        value = self._text.instant(clause.NewValue) if typed else self._text.render(clause.NewValue)
        return f"[{column}] = {value}"

    def _rows(self, specification: Node) -> tuple[_Target, list[str], list[str]]:
        """The target, the other tables as texts, and all conditions."""
        if specification.TopRowFilter is not None:
            raise NotImplementedError("TOP in an UPDATE or DELETE")
        found: dict[str, Node] = {}
        conditions: list[str] = []
        source, where = specification.FromClause, specification.WhereClause
        for reference in () if source is None else source.TableReferences:
            self._flatten(reference, found, conditions)
        if where is not None:
            conditions.append(self._text.render(where.SearchCondition))
        name = name_of(specification.Target.SchemaObject)[1]
        target = self._named(specification.Target, found.pop(name.lower(), None))
        others = [self._text.render(other) for other in found.values()]
        guard = self._text.schema.guards.get(target.stored.name) if target.stored else None
        if guard is not None:
            conditions.append(guard.format(target.alias))
        return target, others, conditions

    def _flatten(self, node: Node, found: dict[str, Node], conditions: list[str]) -> None:
        if kind(node) == "QualifiedJoin":
            if str(node.QualifiedJoinType) != "Inner":
                raise NotImplementedError("an outer join in an UPDATE or DELETE")
            self._flatten(node.FirstTableReference, found, conditions)
            self._flatten(node.SecondTableReference, found, conditions)
            conditions.append(self._text.render(node.SearchCondition))
        elif node.Alias is not None:
            found[str(node.Alias.Value).lower()] = node
        else:
            found[name_of(node.SchemaObject)[1].lower()] = node

    def _named(self, target: Node, meant: Node | None) -> _Target:
        """The table that a target names, by itself or by its alias in the FROM."""
        if kind(target) != "NamedTableReference":
            raise NotImplementedError(f"a change of a {kind(target)}")
        known = self._text.schema
        alias = name_of(target.SchemaObject)[1]
        schema, name = name_of((target if meant is None else meant).SchemaObject)
        if schema != "memory":
            if not name.startswith("#"):
                raise ServerError(208, f"Invalid object name '{name}'.")
            return _Target(f"temp.[temp_{name[1:]}]", f"[{alias}]", None)
        stored = known.table(name)
        histories = {table.history for table in known.tables.values()}
        if stored.name in histories:
            raise ServerError(13559, f"Cannot change rows in the history table {name}.")
        return _Target(f"main.[{name}]", f"[{alias}]", stored)

    def _change(self, text: str, target: _Target, output: Node | None, rows: str | None) -> Change:
        lasting = target.name.startswith("main.")
        if output is None:
            return Change(text, lasting)
        elements = list(output.SelectColumns)
        sides = [column_path(element.Expression) for element in elements]
        former = [path[1] for path in sides if path[0] == "deleted" and rows is not None]
        now = [path[1] for path in sides if path[0] == "inserted" or rows is None]
        picks = _picks(sides, former, now, rows is not None)
        text += f" RETURNING {', '.join(['rowid', *(f'[{name}]' for name in now)])}"
        before = None
        if former:
            columns = self._text.columns(["rowid", *former], target.alias)
            before = f"SELECT {columns} {rows}"
        return Change(text, lasting, [name_of_element(e) for e in elements], before, picks)


def _picks(
    sides: list[list[str]], former: list[str], now: list[str], updating: bool
) -> tuple[tuple[bool, int], ...]:
    """Where each column of an OUTPUT is found; a row's number comes first."""
    return tuple(
        (True, former.index(name) + 1)
        if updating and side == "deleted"
        else (False, now.index(name) + 1)
        for side, name in sides
    )


def _writable(stored: Stored | None, column: str, *, inserting: bool) -> None:
    """Raises what the server says where a column is not for others to write."""
    if stored is None:
        return
    found = stored.column(column)
    if stored.period is not None and found.name in stored.period:
        number = 13536 if inserting else 13537
        raise ServerError(number, f"GENERATED ALWAYS column {found.name} can't be written.")
    if found.name == stored.token:
        number = 273 if inserting else 272
        raise ServerError(number, f"The timestamp column {found.name} can't be written.")
    if not found.kind:
        raise ServerError(271, f"The computed column {found.name} can't be written.")


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""

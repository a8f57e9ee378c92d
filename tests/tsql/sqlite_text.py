"""Writes the T-SQL of the procedures as SQLite's, statement by statement, from the syntax tree.

Only what the procedures use is known.  It serves one purpose: that their logic can be tried where
no server runs.  What SQL Server itself makes of the text, this can't tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tests.tsql.tree import Node, Script, column_path, kind

_SPECIAL = (
    "CastCall",
    "ColumnReferenceExpression",
    "ConvertCall",
    "FunctionCall",
    "OpenJsonTableReference",
    "OutputClause",
    "UnqualifiedJoin",
)


@dataclass(frozen=True, slots=True)
class _Applied:
    """A CROSS APPLY (VALUES …): names for expressions, within the query around it."""

    around: Node
    alias: str
    columns: dict[str, Node]


class Translator:
    """Renders fragments of one script."""

    def __init__(self, script: Script) -> None:
        stream = script.tree.ScriptTokenStream
        self._tokens = [str(token.Text) for token in stream]
        self._starts: dict[int, list[Node]] = defaultdict(list)
        for node in script.all(*_SPECIAL):
            self._starts[int(node.FirstTokenIndex)].append(node)
        self._applied = self._applied_columns(script)
        self._ways: dict[str, Callable[[Node], str]] = {
            "CastCall": self._cast,
            "ColumnReferenceExpression": self._column,
            "ConvertCall": lambda node: f"hex({self.render(node.Parameter)})",
            "FunctionCall": self._call,
            "OpenJsonTableReference": self._json_table,
            "OutputClause": lambda node: "",
            "UnqualifiedJoin": lambda node: self.render(node.FirstTableReference),
        }

    def render(self, node: Node) -> str:
        """The text of a fragment; parameters are named, `#x` becomes `temp_x`."""
        parts: list[str] = []
        place, last = int(node.FirstTokenIndex), int(node.LastTokenIndex)
        while place <= last:
            special = self._special(place, last)
            if special is not None:
                parts.append(self._ways[kind(special)](special))
                place = int(special.LastTokenIndex) + 1
            elif self._tokens[place].lower() == "memory" and self._tokens[place + 1] == ".":
                place += 2
            else:
                parts.append(_token(self._tokens[place]))
                place += 1
        return "".join(parts).rstrip("; \n")

    def update(self, node: Node) -> str:
        """An UPDATE statement; one over a join becomes SQLite's UPDATE … FROM."""
        specification = node.UpdateSpecification
        if specification.FromClause is None:
            return self.render(node)
        (joined,) = specification.FromClause.TableReferences
        where = specification.WhereClause
        conditions = [] if where is None else [self.render(where.SearchCondition)]
        tables = self._flat(joined, conditions)
        changes = ", ".join(self.render(change) for change in specification.SetClauses)
        return (
            f"UPDATE {tables[0]} SET {changes} FROM {', '.join(tables[1:])}"
            f" WHERE {' AND '.join(f'({c})' for c in conditions)}"
        )

    def insert(self, node: Node) -> str:
        """An INSERT statement; OUTPUT becomes RETURNING."""
        output = node.InsertSpecification.OutputClause
        if output is None:
            return self.render(node)
        columns = [self.render(column.Expression) for column in output.SelectColumns]
        return f"{self.render(node)} RETURNING {', '.join(columns)}".replace("inserted.", "")

    def table(self, node: Node) -> str:
        """A CREATE TABLE of a temporary table, and its indexes, as a script."""
        body = node.Definition
        parts = [self.render(part) for part in body.ColumnDefinitions]
        parts += [self.render(part) for part in body.TableConstraints]
        name = _token(str(node.SchemaObjectName.BaseIdentifier.Value))
        made = [f"CREATE TEMP TABLE {name} ({', '.join(parts)})"]
        for index in body.Indexes:
            columns = ", ".join(self.render(column) for column in index.Columns)
            made.append(f"CREATE INDEX temp.{name}_{index.Name.Value} ON {name} ({columns})")
        return ";".join(made)

    def _flat(self, joined: Node, conditions: list[str]) -> list[str]:
        if kind(joined) != "QualifiedJoin":
            return [self.render(joined)]
        conditions.append(self.render(joined.SearchCondition))
        first = self._flat(joined.FirstTableReference, conditions)
        return first + self._flat(joined.SecondTableReference, conditions)

    def _special(self, place: int, last: int) -> Node | None:
        """The largest special fragment that starts here and ends in time."""
        fitting = [node for node in self._starts.get(place, ()) if int(node.LastTokenIndex) <= last]
        return max(fitting, key=lambda node: int(node.LastTokenIndex), default=None)

    def _applied_columns(self, script: Script) -> list[_Applied]:
        found = []
        for join in script.all("UnqualifiedJoin"):
            around = min(
                (q for q in script.all("QuerySpecification") if _covers(q, join)),
                key=lambda q: int(q.LastTokenIndex) - int(q.FirstTokenIndex),
            )
            derived = join.SecondTableReference
            (row,) = derived.RowValues
            names = [str(column.Value).lower() for column in derived.Columns]
            columns = dict(zip(names, row.ColumnValues, strict=True))
            found.append(_Applied(around, str(derived.Alias.Value).lower(), columns))
        return found

    def _column(self, node: Node) -> str:
        path = column_path(node)
        for applied in self._applied if len(path) == 2 else ():
            if applied.alias == path[0] and _covers(applied.around, node):
                return f"({self.render(applied.columns[path[1]])})"
        first, last = int(node.FirstTokenIndex), int(node.LastTokenIndex)
        return "".join(_token(text) for text in self._tokens[first : last + 1])

    def _cast(self, node: Node) -> str:
        numeric = str(node.DataType.SqlDataTypeOption) in {"BigInt", "SmallInt"}
        return f"CAST({self.render(node.Parameter)} AS {'INTEGER' if numeric else 'TEXT'})"

    def _call(self, node: Node) -> str:
        name = str(node.FunctionName.Value).lower()
        arguments = [self.render(argument) for argument in node.Parameters]
        if node.WithinGroupClause is not None:
            (order,) = node.WithinGroupClause.OrderByClause.OrderByElements
            arguments.append(self.render(order.Expression))
        over = "" if node.OverClause is None else f" {self.render(node.OverClause)}"
        return f"{_RENAMED.get(name, name)}({', '.join(arguments)}){over}"

    def _json_table(self, node: Node) -> str:
        columns = [
            f"json_extract(value, '{item.Mapping.Value}') AS {_name(item)}"
            for item in node.SchemaDeclarationItems
        ]
        rows = f"json_each({self.render(node.Variable)})"
        return f"(SELECT {', '.join(columns)} FROM {rows}) AS {node.Alias.Value}"


_RENAMED = {"count_big": "count"}


def _covers(outer: Node, inner: Node) -> bool:
    starts = int(outer.FirstTokenIndex) <= int(inner.FirstTokenIndex)
    return starts and int(inner.LastTokenIndex) <= int(outer.LastTokenIndex)


def _name(item: Node) -> str:
    return str(item.ColumnDefinition.ColumnIdentifier.Value)


def _token(text: str) -> str:
    if text.startswith("@"):
        return f":{text.lstrip('@').lower()}"
    if text.startswith("N'"):
        return text[1:]
    return f"temp_{text[1:]}" if text.startswith("#") else text

"""Writes T-SQL as SQLite's SQL, from the syntax tree.

A fragment is copied token by token, but for those that SQLite says in other words.  What is not
listed here as known is refused, never guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.tsql.errors import ServerError
from tests.tsql.schema import EMPTY, Schema
from tests.tsql.sqlite_calls import Calls
from tests.tsql.tree import Node, Script, column_path, kind, name_of

PLAIN = frozenset(
    {
        "AssignmentSetClause", "BooleanBinaryExpression", "BooleanIsNullExpression",
        "BooleanNotExpression", "BooleanParenthesisExpression", "BooleanTernaryExpression",
        "CoalesceExpression", "CommonTableExpression", "ExistsPredicate",
        "ExpressionGroupingSpecification", "ExpressionWithSortOrder", "FromClause",
        "GroupByClause", "HavingClause", "IIfCall", "Identifier", "IdentifierOrValueExpression",
        "IfStatement", "InPredicate", "IntegerLiteral", "MaxLiteral", "MultiPartIdentifier",
        "NullIfExpression", "NullLiteral", "NumericLiteral", "OrderByClause", "OverClause",
        "ParenthesisExpression", "RealLiteral", "RowValue", "ScalarSubquery", "SchemaObjectName",
        "SearchedCaseExpression", "SearchedWhenClause", "SelectScalarExpression",
        "SelectStarExpression", "SelectStatement", "SimpleCaseExpression", "SimpleWhenClause",
        "SqlDataTypeReference", "StringLiteral", "UnaryExpression", "VariableReference",
        "WhereClause", "WithCtesAndXmlNamespaces", "WithinGroupClause",
    }
)  # fmt: skip
"""Fragments that mean the same in both languages, once what is in them is written."""
HINTS = frozenset(
    {
        "ForceSeek", "HoldLock", "ReadCommittedLock", "ReadPast", "Rowlock", "Serializable",
        "UpdLock",
    }
)  # fmt: skip
"""What SQLite, with its one writer, keeps anyway, or does not choose by."""
_JOINS = {"Inner": "JOIN", "LeftOuter": "LEFT JOIN"}
_COMPARISONS = {
    "Equals": "=",
    "NotEqualToBrackets": "<>",
    "NotEqualToExclamation": "<>",
    "GreaterThan": ">",
    "GreaterThanOrEqualTo": ">=",
    "LessThan": "<",
    "LessThanOrEqualTo": "<=",
}
_GLOBALS = frozenset({"dbts", "rowcount", "spid", "trancount"})


@dataclass(frozen=True, slots=True)
class _Applied:
    """A CROSS APPLY (VALUES …): names for expressions, within the query around it."""

    around: tuple[int, int]
    alias: str
    columns: dict[str, Node]


class Translator:
    """Renders fragments of one script over a schema."""

    def __init__(self, script: Script, schema: Schema = EMPTY) -> None:
        self.schema = schema
        self.script = script
        self._tokens = [_token(t) for t in script.tree.ScriptTokenStream]
        calls = Calls(script, schema, self.render)
        self._ways: dict[str, Callable[[Node], str]] = {
            "BinaryExpression": self._binary,
            "BinaryQueryExpression": self._inner,
            "BooleanComparisonExpression": self._comparison,
            "ColumnReferenceExpression": self._column,
            "DefaultLiteral": self._refuse,
            "GlobalVariableExpression": self._global,
            "InlineDerivedTable": self._values,
            "LikePredicate": calls.like,
            "NamedTableReference": self._table,
            "OffsetClause": self._offset,
            "OpenJsonTableReference": calls.json_table,
            "OutputClause": lambda node: "",
            "QualifiedJoin": self._join,
            "QueryDerivedTable": self._derived,
            "QueryParenthesisExpression": self._parenthesis,
            "QuerySpecification": self._query,
            "TopRowFilter": lambda node: "",
            "UniqueRowFilter": self._refuse,
            "UnqualifiedJoin": self._unqualified,
            **calls.ways,
        }
        self._starts: dict[int, list[tuple[int, Node]]] = defaultdict(list)
        for node in script.all(*self._ways):
            self._starts[int(node.FirstTokenIndex)].append((int(node.LastTokenIndex), node))
        self._calls = calls
        self.known = PLAIN | self._ways.keys()
        self._applied = self._applied_columns(script)

    def render(self, node: Node) -> str:
        """The text of a fragment; parameters are named, `#x` becomes `temp_x`."""
        first, last = _span(node)
        return self._spanned(first, last)

    def statement(self, node: Node) -> str:
        """The text of a whole statement, without its hints to the optimiser."""
        first, last = _span(node)
        hints = list(node.OptimizerHints)
        if hints:
            last = min(int(hint.FirstTokenIndex) for hint in hints)
            while self._tokens[last].upper() != "OPTION":
                last -= 1
            last -= 1
        return self._spanned(first, last)

    def is_instant(self, node: Node) -> bool:
        """Whether an expression is a DATETIME2 for all that can be seen."""
        return self._calls.is_instant(node)

    def instant(self, node: Node) -> str:
        """An expression where the server wants a DATETIME2."""
        return self.render(node) if self.is_instant(node) else f"as_instant({self.render(node)})"

    def columns(self, names: Iterable[str], alias: str) -> str:
        """Columns of one table, as a list."""
        return ", ".join(f"{alias}.[{name}]" for name in names)

    def _inner(self, node: Node) -> str:
        first, last = _span(node)
        return self._spanned(first, last, outermost=False)

    def _spanned(self, first: int, last: int, *, outermost: bool = True) -> str:
        parts: list[str] = []
        place = first
        while place <= last:
            most = last if outermost or place > first else last - 1
            fitting = [pair for pair in self._starts.get(place, ()) if pair[0] <= most]
            if fitting:
                end, special = max(fitting, key=lambda pair: pair[0])
                parts.append(self._ways[kind(special)](special))
                place = end + 1
            else:
                parts.append(self._tokens[place])
                place += 1
        return "".join(parts).rstrip("; \n")

    def _refuse(self, node: Node) -> str:
        raise NotImplementedError(f"{kind(node)} in {self.script.statement.text}")

    def _binary(self, node: Node) -> str:
        if str(node.BinaryExpressionType) != "Add":
            return self._inner(node)
        sides = (node.FirstExpression, node.SecondExpression)
        if any(self._calls.is_text(side) for side in sides):
            raise NotImplementedError(f"+ of texts in {self.script.statement.text}")
        first, second = (
            f"number({self.render(side)})"
            if kind(side) == "VariableReference"
            else self.render(side)
            for side in sides
        )
        return f"{first} + {second}"

    def _comparison(self, node: Node) -> str:
        sides = (node.FirstExpression, node.SecondExpression)
        write = self.instant if any(map(self.is_instant, sides)) else self.render
        first, second = map(write, sides)
        return f"{first} {_COMPARISONS[str(node.ComparisonType)]} {second}"

    def _column(self, node: Node) -> str:
        path = column_path(node)
        for applied in self._applied if len(path) == 2 else ():
            if applied.alias == path[0] and _covers(applied.around, node):
                return f"({self.render(applied.columns[path[1]])})"
        first, last = _span(node)
        if len(path) == 3 and path[0] == "memory":
            first += 2
        elif len(path) > 2:
            raise NotImplementedError(f"a column by {'.'.join(path)}")
        return "".join(self._tokens[first : last + 1])

    def _global(self, node: Node) -> str:
        name = str(node.Name).lower().lstrip("@")
        if name not in _GLOBALS:
            raise NotImplementedError(f"@@{name}")
        return f":g_{name}"

    def _table(self, node: Node) -> str:
        for hint in node.TableHints:
            if str(hint.HintKind) not in HINTS:
                raise NotImplementedError(f"the hint {hint.HintKind}")
        schema, name = name_of(node.SchemaObject)
        alias = f"[{name if node.Alias is None else node.Alias.Value}]"
        if schema == "sys":
            return f"temp.[sys_{name}] AS {alias}"
        if schema != "memory":
            if schema:
                raise ServerError(208, f"Invalid object name '{schema}.{name}'.")
            return f"{_named(name)} AS {alias}"
        if node.TemporalClause is not None:
            return f"({self._then(node.TemporalClause, name)}) AS {alias}"
        return f"{self.schema.stored(name)} AS {alias}"

    def _then(self, clause: Node, name: str) -> str:
        """A versioned table as of an instant: versions of no length are never seen."""
        table = self.schema.table(name)
        if table.period is None or table.history is None:
            raise ServerError(13544, f"{name} is no system-versioned table.")
        if str(clause.TemporalClauseType) != "AsOf":
            raise NotImplementedError(f"FOR SYSTEM_TIME {clause.TemporalClauseType}")
        at, (start, end) = self.instant(clause.StartTime), table.period
        columns = ", ".join(f"[{column.name}]" for column in table.columns)
        visible = f"[{start}] <= {at} AND [{end}] > {at}"
        return " UNION ALL ".join(
            f"SELECT {columns} FROM {self.schema.stored(each)} WHERE {visible}"
            for each in (table.name, table.history)
        )

    def _join(self, node: Node) -> str:
        words = _JOINS.get(str(node.QualifiedJoinType))
        if words is None:
            raise NotImplementedError(f"a join {node.QualifiedJoinType}")
        if words == "JOIN" and _is_few(node):
            words = "CROSS JOIN"  # in this order: SQLite would rather begin with a whole fleet
        first, second = (
            self.render(node.FirstTableReference),
            self.render(node.SecondTableReference),
        )
        return f"{first} {words} {second} ON {self.render(node.SearchCondition)}"

    def _unqualified(self, node: Node) -> str:
        way = str(node.UnqualifiedJoinType)
        if way == "CrossJoin":
            return self._inner(node)
        if way == "CrossApply" and kind(node.SecondTableReference) == "InlineDerivedTable":
            return self.render(node.FirstTableReference)
        raise NotImplementedError(f"{way} in {self.script.statement.text}")

    def _values(self, node: Node) -> str:
        """A table of values with names for its columns."""
        names = ", ".join(f"[{column.Value}]" for column in node.Columns)
        rows = ", ".join(self.render(row) for row in node.RowValues)
        alias = f"[{node.Alias.Value}]"
        return f"(WITH given ({names}) AS (VALUES {rows}) SELECT * FROM given) AS {alias}"

    def _derived(self, node: Node) -> str:
        query, alias = self.render(node.QueryExpression), f"[{node.Alias.Value}]"
        if len(list(node.Columns)) == 0:
            return f"({query}) AS {alias}"
        names = ", ".join(f"[{column.Value}]" for column in node.Columns)
        return f"(WITH given ({names}) AS ({query}) SELECT * FROM given) AS {alias}"

    def _query(self, node: Node) -> str:
        for element in node.SelectElements:
            if kind(element) not in {"SelectScalarExpression", "SelectStarExpression"}:
                raise NotImplementedError(f"{kind(element)} in a SELECT")
        top = node.TopRowFilter
        if top is None:
            return self._inner(node)
        if top.Percent or top.WithTies:
            raise NotImplementedError("TOP … PERCENT or WITH TIES")
        return f"{self._inner(node)} LIMIT {self.render(top.Expression)}"

    def _parenthesis(self, node: Node) -> str:
        return f"SELECT * FROM ({self.render(node.QueryExpression)})"

    def _offset(self, node: Node) -> str:
        most = "-1" if node.FetchExpression is None else self.render(node.FetchExpression)
        return f"LIMIT {most} OFFSET {self.render(node.OffsetExpression)}"

    def _applied_columns(self, script: Script) -> list[_Applied]:
        found = []
        for join in script.all("UnqualifiedJoin"):
            derived = join.SecondTableReference
            if kind(derived) == "InlineDerivedTable":
                (row,) = derived.RowValues
                names = [str(column.Value).lower() for column in derived.Columns]
                columns = dict(zip(names, row.ColumnValues, strict=True))
                around = _query_around(script, join)
                found.append(_Applied(around, str(derived.Alias.Value).lower(), columns))
        return found


def result_names(query: Node) -> list[str] | None:
    """The names of a query's columns, empty for those without; None where it says `*`."""
    while kind(query) != "QuerySpecification":
        inner = "QueryExpression" if hasattr(query, "QueryExpression") else "FirstQueryExpression"
        query = getattr(query, inner)
    names = []
    for element in query.SelectElements:
        if kind(element) == "SelectStarExpression":
            return None
        names.append(name_of_element(element))
    return names


def name_of_element(element: Node) -> str:
    """The name of a column in a SELECT or OUTPUT."""
    if element.ColumnName is not None:
        return str(element.ColumnName.Value)
    if kind(element.Expression) != "ColumnReferenceExpression":
        return ""
    return str(list(element.Expression.MultiPartIdentifier.Identifiers)[-1].Value)


def _is_few(join: Node) -> bool:
    """Whether a join begins with a table of parameters."""
    while kind(join) == "QualifiedJoin":
        join = join.FirstTableReference
    return kind(join) == "OpenJsonTableReference"


def _query_around(script: Script, join: Node) -> tuple[int, int]:
    spans = (_span(query) for query in script.all("QuerySpecification"))
    return min((s for s in spans if _covers(s, join)), key=lambda span: span[1] - span[0])


def _span(node: Node) -> tuple[int, int]:
    return int(node.FirstTokenIndex), int(node.LastTokenIndex)


def _covers(outer: tuple[int, int], inner: Node) -> bool:
    first, last = _span(inner)
    return outer[0] <= first and last <= outer[1]


def _token(token: Node) -> str:
    if str(token.TokenType) in {"SingleLineComment", "MultilineComment"}:
        return " "
    return _named(str(token.Text))


def _named(text: str) -> str:
    if text.startswith("@") and not text.startswith("@@"):
        return f":{text.lstrip('@').lower()}"
    if text.startswith("N'"):
        return text[1:]
    return f"temp.[temp_{text[1:]}]" if text.startswith("#") else text

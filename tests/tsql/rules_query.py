"""Rules on queries: what the grammar takes, and the server refuses once it looks at the meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.tsql.catalogue import Catalogue, text_of
from tests.tsql.sqlite_text import name_of_element
from tests.tsql.tree import Finding, Node, Script, column_path, kind

_AGGREGATES = frozenset({"avg", "count", "count_big", "max", "min", "string_agg", "sum"})
_SCALARS = frozenset({"SelectScalarExpression"})


def ordered_by(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """What a DISTINCT (145) or a UNION (104) is ordered by is in its list."""
    for query in script.all("QuerySpecification", "BinaryQueryExpression"):
        if query.OrderByClause is None or not _is_narrow(query):
            continue
        listed = _listed(query)
        for element in query.OrderByClause.OrderByElements:
            if text_of(element.Expression) not in listed:
                yield script.finding("order", element, "order by what is in the list (104, 145)")


def column_names(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Each column of a derived table has a name (8155) of its own (8156)."""
    for table in script.all("QueryDerivedTable", "CommonTableExpression"):
        if list(table.Columns):
            continue
        elements = list(_first(table.QueryExpression).SelectElements)
        names = [name_of_element(each).lower() for each in elements if kind(each) in _SCALARS]
        if "" in names:
            yield script.finding("column name", table, "a column has no name (8155)")
        for name, count in Counter(filter(None, names)).items():
            if count > 1:
                yield script.finding("column name", table, f"{name} is there twice (8156)")


def groups(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Beside aggregates stands only what is grouped by (8120)."""
    for query in script.all("QuerySpecification"):
        elements = [each for each in query.SelectElements if kind(each) in _SCALARS]
        clause = query.GroupByClause
        aggregates = [a for a in script.all("FunctionCall") if _is_aggregate(a)]
        inside = [a for a in aggregates if any(_covers(e, a) for e in elements)]
        if clause is None and not any(_innermost(script, a, query) for a in inside):
            continue
        grouped = {text_of(g) for g in clause.GroupingSpecifications} if clause else set()
        for element in elements:
            yield from _ungrouped(script, query, element, aggregates, grouped)


def recursions(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """A common table that reads itself: by UNION ALL (252), and plainly (460 to 467)."""
    for table in script.all("CommonTableExpression"):
        name = str(table.ExpressionName.Value).lower()
        query = table.QueryExpression
        if not _reads(script, query, name):
            continue
        if kind(query) != "BinaryQueryExpression" or not query.All:
            yield script.finding("recursion", table, "a recursion is a UNION ALL (252)")
            continue
        step = _first(query.SecondQueryExpression)
        wrong = [step.TopRowFilter, step.GroupByClause, step.HavingClause]
        outer = [
            join
            for join in script.all("QualifiedJoin")
            if _covers(step, join) and str(join.QualifiedJoinType) != "Inner"
        ]
        calls = [a for a in script.all("FunctionCall") if _covers(step, a) and _is_aggregate(a)]
        if any(wrong) or outer or calls or str(step.UniqueRowFilter) == "Distinct":
            yield script.finding("recursion", step, "no DISTINCT, TOP, group or outer join in it")


def id_of(node: Node) -> tuple[int, int]:
    """What tells a fragment from others of its kind."""
    return int(node.FirstTokenIndex), int(node.LastTokenIndex)


def _is_narrow(query: Node) -> bool:
    union = kind(query) == "BinaryQueryExpression"
    return union or str(query.UniqueRowFilter) == "Distinct"


def _listed(query: Node) -> set[str]:
    """The texts by which a query may be ordered: what is in its list, and the names there."""
    found: set[str] = set()
    for element in _first(query).SelectElements:
        if kind(element) in _SCALARS:
            found |= {text_of(element.Expression), name_of_element(element).lower()}
    names = {name.strip("[]") for name in found}
    return found | names | {f"[{name}]" for name in names}


def _first(query: Node) -> Node:
    """The first SELECT of a query, which names the columns."""
    while kind(query) != "QuerySpecification":
        inner = "QueryExpression" if hasattr(query, "QueryExpression") else "FirstQueryExpression"
        query = getattr(query, inner)
    return query


def _is_aggregate(call: Node) -> bool:
    return call.OverClause is None and str(call.FunctionName.Value).lower() in _AGGREGATES


def _covers(outer: Node, inner: Node) -> bool:
    (first, last), (start, end) = id_of(outer), id_of(inner)
    return first <= start and end <= last


def _innermost(script: Script, node: Node, query: Node) -> bool:
    """Whether a query is the smallest one around a fragment."""
    around = [q for q in script.all("QuerySpecification") if _covers(q, node)]
    return id_of(min(around, key=lambda q: id_of(q)[1] - id_of(q)[0])) == id_of(query)


def _ungrouped(
    script: Script, query: Node, element: Node, aggregates: list[Node], grouped: set[str]
) -> Iterator[Finding]:
    if text_of(element.Expression) in grouped:
        return
    for column in script.all("ColumnReferenceExpression"):
        free = _covers(element, column) and not any(_covers(a, column) for a in aggregates)
        own = free and _innermost(script, column, query) and column_path(column)
        if own and text_of(column) not in grouped:
            yield script.finding("group", column, f"{text_of(column)} is not grouped by (8120)")


def _reads(script: Script, query: Node, name: str) -> bool:
    return any(
        table.SchemaObject.SchemaIdentifier is None
        and str(table.SchemaObject.BaseIdentifier.Value).lower() == name
        for table in script.all("NamedTableReference")
        if _covers(query, table)
    )

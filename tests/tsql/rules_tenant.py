"""The rule that every statement on tenants' rows says whose rows it means.

For each table of a query, UPDATE, DELETE or MERGE there must be an equality that ties each scope
column (TenantId, say) to a parameter or variable, directly or by way of the same column of another
table; in a sub-query also to that column of the query around it, which is judged itself.  Only
conditions that can't be evaded count: those joined by AND, and of an outer join only for the side
that it may leave out.  An INSERT must fill the column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.tsql.catalogue import DIRECTORIES, Catalogue
from tests.tsql.tree import Finding, Node, Script, column_path, kind, name_of

RULE = "tenant predicate"
_BOUND = ("", "")
"""Stands for parameters, variables and what comes from around the statement."""


@dataclass(slots=True)
class _Scope:
    """The tables of one query, by lower-case alias, and what may be taken for what.

    `ties` lead from (alias, column) to what an equality makes it equal to.  `directories` are the
    aliases of tables that name every tenant: to be one of these binds nothing.
    """

    tables: dict[str, str | None] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    ties: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)

    def bound(self, start: tuple[str, str], seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
        if start == _BOUND:
            return True
        further = self.ties.get(start, set()) - seen
        return any(self.bound(place, seen | {start}) for place in further)


def predicates(
    script: Script, catalogue: Catalogue, columns: tuple[str, ...] = ("TenantId",)
) -> Iterator[Finding]:
    """The findings of this rule for each of the scope columns."""
    for node in script.all("QuerySpecification"):
        scope = _Scope()
        _read(scope, node.FromClause, node.WhereClause, catalogue)
        yield from _judge(script, node, scope, columns)
    for node in script.all("UpdateSpecification", "DeleteSpecification"):
        scope = _Scope()
        _add_target(scope, node, catalogue)
        _read(scope, node.FromClause, node.WhereClause, catalogue)
        yield from _judge(script, node, scope, columns)
    for node in script.all("MergeSpecification"):
        yield from _merge(script, node, catalogue, columns)
    for node in script.all("InsertSpecification"):
        yield from _insert(script, node, catalogue, columns)


def _judge(
    script: Script, node: Node, scope: _Scope, columns: tuple[str, ...]
) -> Iterator[Finding]:
    for alias, table in scope.tables.items():
        for column in columns if table is not None else ():
            if not scope.bound((alias, column.lower())):
                yield script.finding(RULE, node, f"{table} AS {alias} lacks {column} = a parameter")


def _merge(
    script: Script, node: Node, catalogue: Catalogue, columns: tuple[str, ...]
) -> Iterator[Finding]:
    scope = _Scope()
    alias = node.TableAlias
    _add_table(scope, node.Target, None if alias is None else str(alias.Value), catalogue)
    _add_source(scope, node.TableReference, catalogue, ())
    _tie(scope, node.SearchCondition, set(scope.tables))
    yield from _judge(script, node, scope, columns)
    for clause in node.ActionClauses:
        if str(clause.Condition) == "NotMatchedBySource":
            unmatched = _Scope(dict(list(scope.tables.items())[:1]))
            _tie(unmatched, clause.SearchCondition, set(unmatched.tables))
            yield from _judge(script, clause, unmatched, columns)


def _insert(
    script: Script, node: Node, catalogue: Catalogue, columns: tuple[str, ...]
) -> Iterator[Finding]:
    table = _guarded(node.Target, catalogue)
    filled = {column_path(column)[-1] for column in node.Columns}
    for column in columns if table is not None else ():
        if column.lower() not in filled:
            yield script.finding(RULE, node, f"an INSERT into {table} must fill {column}")


def _add_target(scope: _Scope, node: Node, catalogue: Catalogue) -> None:
    """What an UPDATE or DELETE names, unless that is the alias of a table in its FROM."""
    named = _Scope()
    if node.FromClause is not None:
        for reference in node.FromClause.TableReferences:
            _add_source(named, reference, catalogue, ())
    if kind(node.Target) == "NamedTableReference":
        schema, name = name_of(node.Target.SchemaObject)
        if schema or name.lower() not in named.tables:
            _add_table(scope, node.Target, None, catalogue)


def _read(scope: _Scope, source: Node | None, where: Node | None, catalogue: Catalogue) -> None:
    conditions: list[tuple[Node, set[str]]] = []
    if source is not None:
        for reference in source.TableReferences:
            conditions += _add_source(scope, reference, catalogue, ())
    if where is not None:
        conditions.append((where.SearchCondition, set(scope.tables)))
    for condition, bindable in conditions:
        _tie(scope, condition, bindable)


def _add_source(
    scope: _Scope, node: Node, catalogue: Catalogue, conditions: tuple[tuple[Node, set[str]], ...]
) -> list[tuple[Node, set[str]]]:
    """Adds the tables of a FROM; returns join conditions, each with the aliases it can bind."""
    found = list(conditions)
    if kind(node) in {"QualifiedJoin", "UnqualifiedJoin"}:
        before = set(scope.tables)
        found += _add_source(scope, node.FirstTableReference, catalogue, ())
        first = set(scope.tables) - before
        found += _add_source(scope, node.SecondTableReference, catalogue, ())
        second = set(scope.tables) - before - first
        if kind(node) == "QualifiedJoin":
            found.append((node.SearchCondition, _bindable(node, first, second)))
    elif kind(node) == "JoinParenthesisTableReference":
        found += _add_source(scope, node.Join, catalogue, ())
    else:
        alias = getattr(node, "Alias", None)
        _add_table(scope, node, None if alias is None else str(alias.Value), catalogue)
    return found


def _bindable(join: Node, first: set[str], second: set[str]) -> set[str]:
    """Whom the condition of a join keeps out: not the rows of a side that is always kept."""
    sides = {"Inner": first | second, "LeftOuter": second, "RightOuter": first}
    return sides.get(str(join.QualifiedJoinType), set())


def _add_table(scope: _Scope, node: Node, alias: str | None, catalogue: Catalogue) -> None:
    name = name_of(node.SchemaObject)[1] if kind(node) == "NamedTableReference" else ""
    known_as = (alias or name).lower()
    scope.tables[known_as] = _guarded(node, catalogue)
    if name in DIRECTORIES:
        scope.directories.add(known_as)


def _guarded(node: Node, catalogue: Catalogue) -> str | None:
    """The table that a reference names, if tenants have rows in it."""
    if kind(node) != "NamedTableReference":
        return None
    schema, name = name_of(node.SchemaObject)
    return name if schema == "memory" and catalogue.guarded(name) else None


def _tie(scope: _Scope, condition: Node | None, bindable: set[str]) -> None:
    if condition is None:
        return
    if kind(condition) == "BooleanParenthesisExpression":
        _tie(scope, condition.Expression, bindable)
    elif kind(condition) == "BooleanBinaryExpression":
        if str(condition.BinaryExpressionType) == "And":
            _tie(scope, condition.FirstExpression, bindable)
            _tie(scope, condition.SecondExpression, bindable)
    elif _is_equality(condition):
        _tie_sides(scope, condition, bindable)


def _is_equality(condition: Node) -> bool:
    compares = kind(condition) == "BooleanComparisonExpression"
    return compares and str(condition.ComparisonType) == "Equals"


def _tie_sides(scope: _Scope, equality: Node, bindable: set[str]) -> None:
    one = _place(scope, equality.FirstExpression)
    other = _place(scope, equality.SecondExpression)
    if one is not None and other is not None:
        for start, end in ((one, other), (other, one)):
            if start[0] in bindable:
                scope.ties.setdefault(start, set()).add(end)


def _place(scope: _Scope, expression: Node) -> tuple[str, str] | None:
    """The column that an expression is, or `_BOUND`; None for anything else."""
    while kind(expression) in {"ParenthesisExpression", "CastCall"}:
        inner = "Expression" if kind(expression) == "ParenthesisExpression" else "Parameter"
        expression = getattr(expression, inner)
    if kind(expression) == "VariableReference":
        return _BOUND
    if kind(expression) != "ColumnReferenceExpression":
        return None
    *qualifier, column = column_path(expression) or [""]
    alias = qualifier[-1] if qualifier else _only(scope)
    if alias is None:
        return None
    known = alias in scope.tables
    foreign = not known or (scope.tables[alias] is None and alias not in scope.directories)
    if column in {"tenantid", "fleetid"} and foreign:
        return _BOUND
    return alias, column


def _only(scope: _Scope) -> str | None:
    """The alias that an unqualified column belongs to, if there is just one table."""
    return next(iter(scope.tables)) if len(scope.tables) == 1 else None

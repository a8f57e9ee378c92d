"""Joins whose left side drives: the few ids that are asked for, then what they lead to.

Planners that know no statistics take a whole fleet for a few rows, since every index begins with
tenant and fleet, and would rather start there.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Join
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler


class DrivenJoin(Join):
    """`left JOIN right ON condition`, in this order."""

    inherit_cache = True
    onclause: ColumnElement[bool]


def drive(left: FromClause, *steps: tuple[FromClause, ColumnElement[bool]]) -> FromClause:
    """Joins each step's table to what comes before it, by its condition."""
    for right, condition in steps:
        left = DrivenJoin(left, right, condition)
    return left


@compiles(DrivenJoin, "sqlite")
def _sqlite(join: DrivenJoin, compiler: SQLCompiler, **kw: Any) -> str:
    return _in_order("CROSS JOIN", join, compiler, **kw)


@compiles(DrivenJoin, "mysql", "mariadb")
def _mariadb(join: DrivenJoin, compiler: SQLCompiler, **kw: Any) -> str:
    return _in_order("STRAIGHT_JOIN", join, compiler, **kw)


def _in_order(words: str, join: DrivenJoin, compiler: SQLCompiler, **kw: Any) -> str:
    linter = kw.get("from_linter")
    if linter is not None:  # SQLAlchemy's search for forgotten join conditions
        linter.edges.update(product(join.left._from_objects, join.right._from_objects))  # noqa: SLF001
    kw["asfrom"] = True
    left, right = (compiler.process(side, **kw) for side in (join.left, join.right))
    kw["asfrom"] = False
    return f"{left} {words} {right} ON {compiler.process(join.onclause, **kw)}"

"""Columns that test a row and are no way to find it.

Planners that know no statistics enter by an index where a column could also be looked at on the
row; what is wrapped here never chooses the way.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FunctionElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler


class _Aside(FunctionElement[Any]):
    inherit_cache = True
    name = "aside"


class _OutOfOrder(FunctionElement[Any]):
    inherit_cache = True
    name = "out_of_order"


def out_of_order(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A number that rows are sorted by, and not found in the order of: on no engine.

    With a limit, planners would rather walk an index in its order than sort the few rows that
    another one leads to.
    """
    wrapped = _OutOfOrder(column)
    wrapped.type = column.type
    return wrapped


def aside(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column, out of the planner's sight."""
    wrapped = _Aside(column)
    wrapped.type = column.type
    return wrapped


@compiles(_Aside)
def _plain(element: _Aside, compiler: SQLCompiler, **kw: Any) -> str:
    """Engines with statistics find their own way."""
    return compiler.process(element.clauses.clauses[0], **kw)


@compiles(_Aside, "sqlite")
def _sqlite(element: _Aside, compiler: SQLCompiler, **kw: Any) -> str:
    return f"+{compiler.process(element.clauses.clauses[0], **kw)}"


@compiles(_OutOfOrder)
def _sorted(element: _OutOfOrder, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({compiler.process(element.clauses.clauses[0], **kw)} + 0)"

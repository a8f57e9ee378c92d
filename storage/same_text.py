"""Compares texts exactly, on engines that pad the shorter of two texts with spaces, too."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FunctionElement, Text, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import NullType


class _SameText(FunctionElement[Any]):
    inherit_cache = True
    name = "same_text"
    type = NullType()  # a Boolean would be compared with 1 on engines that have none


class _HasPrefix(FunctionElement[Any]):
    """Of a text, its prefix, and where there is one the least text after all that have it."""

    inherit_cache = True
    name = "has_prefix"
    type = NullType()


def same_text(text: ColumnElement[Any], value: ColumnElement[Any] | str) -> ColumnElement[bool]:
    """The condition that a column is `value`, character by character."""
    return _SameText(text, literal(value, Text) if isinstance(value, str) else value)


def has_prefix(
    text: ColumnElement[Any], prefix: ColumnElement[Any], following: ColumnElement[Any] | None
) -> ColumnElement[bool]:
    """The condition that a text begins with `prefix`.

    `following` is the least text, by code points, after all that do (`filters.after_prefix`).
    """
    return _HasPrefix(text, prefix, *([] if following is None else [following]))


@compiles(_SameText)
def _plain(element: _SameText, compiler: SQLCompiler, **kw: Any) -> str:
    text, value = (compiler.process(each, **kw) for each in element.clauses)
    return f"({text} = {value})"


@compiles(_SameText, "mssql")
def _mssql(element: _SameText, compiler: SQLCompiler, **kw: Any) -> str:
    text, value = (compiler.process(each, **kw) for each in element.clauses)
    return f"({text} = {value} AND DATALENGTH({text}) = DATALENGTH({value}))"


@compiles(_HasPrefix)
def _plain_prefix(element: _HasPrefix, compiler: SQLCompiler, **kw: Any) -> str:
    """A range of the order of code points, which an index finds."""
    text, prefix, *following = (compiler.process(each, **kw) for each in element.clauses)
    return " AND ".join([f"({text} >= {prefix}", *(f"{text} < {each}" for each in following)]) + ")"


@compiles(_HasPrefix, "mssql")
def _mssql_prefix(element: _HasPrefix, compiler: SQLCompiler, **kw: Any) -> str:
    """By a cut: the order of this engine is another one, and no index has the texts in it."""
    text, prefix, *_ = (compiler.process(each, **kw) for each in element.clauses)
    start = f"LEFT({text}, DATALENGTH({prefix}) / 2)"
    return f"({start} = {prefix} AND DATALENGTH({start}) = DATALENGTH({prefix}))"

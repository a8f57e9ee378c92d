"""Compares texts exactly, on engines that pad the shorter of two texts with spaces, too."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FunctionElement, Text, column, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import NullType

_STARTS = 400
"""Characters of a key that SQL Server's indexes hold."""


class _SameText(FunctionElement[Any]):
    inherit_cache = True
    name = "same_text"
    type = NullType()  # a Boolean would be compared with 1 on engines that have none


class _HasPrefix(FunctionElement[Any]):
    """Of a text, its prefix, and where there is one the least text after all that have it."""

    inherit_cache = True
    name = "has_prefix"
    type = NullType()


class _KeyHasPrefix(_HasPrefix):
    """The same of a key whose start has an index, on engines that need one."""

    inherit_cache = True
    name = "key_has_prefix"


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


def key_has_prefix(
    key: ColumnElement[Any], prefix: ColumnElement[Any], following: ColumnElement[Any] | None
) -> ColumnElement[bool]:
    """The same for a table that is entered by the beginnings of its keys; no empty prefix."""
    return _KeyHasPrefix(key, prefix, *([] if following is None else [following]))


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


@compiles(_KeyHasPrefix, "mssql")
def _mssql_key_prefix(element: _KeyHasPrefix, compiler: SQLCompiler, **kw: Any) -> str:
    """The cut decides; a pattern leads to few rows, since the server makes a range of it."""
    key, prefix, *_ = element.clauses
    start: ColumnElement[str] = column("key_start", _selectable=key.table)
    pattern = f"LEFT({compiler.process(prefix, **kw)}, {_STARTS})"
    for sign in "[%_":
        pattern = f"REPLACE({pattern}, N'{sign}', N'[{sign}]')"
    found = f"{compiler.process(start, **kw)} LIKE CONCAT({pattern}, N'%')"
    return f"({found} AND {_mssql_prefix(element, compiler, **kw)})"

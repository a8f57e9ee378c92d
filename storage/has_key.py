"""Finds rows by their key, which may be longer than an entry of an index can be."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FunctionElement, Text, column, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import NullType


class _HasKey(FunctionElement[Any]):
    inherit_cache = True
    name = "has_key"
    type = NullType()  # a Boolean would be compared with 1 on engines that have none


def has_key(key: ColumnElement[Any], value: ColumnElement[str] | str) -> ColumnElement[bool]:
    """The condition that a row's column `key` is `value`, byte by byte."""
    return _HasKey(key, literal(value, Text) if isinstance(value, str) else value)


@compiles(_HasKey)
def _plain(element: _HasKey, compiler: SQLCompiler, **kw: Any) -> str:
    key, value = (compiler.process(each, **kw) for each in element.clauses)
    return f"({key} = {value})"


@compiles(_HasKey, "mysql", "mariadb")
def _mariadb(element: _HasKey, compiler: SQLCompiler, **kw: Any) -> str:
    """By the hash: an index holds the first 191 characters, which any number of keys may share."""
    key, value = element.clauses
    hashed: ColumnElement[bytes] = column("key_hash", _selectable=key.table)
    name, text = compiler.process(key, **kw), compiler.process(value, **kw)
    return f"({compiler.process(hashed, **kw)} = UNHEX(SHA2({text}, 256)) AND {name} = {text})"


@compiles(_HasKey, "mssql")
def _mssql(element: _HasKey, compiler: SQLCompiler, **kw: Any) -> str:
    """By the hash alone: an equality of texts ignores spaces at their ends.

    The index holds only rows that have a key, and is used where that is said.
    """
    key, value = element.clauses
    hashed: ColumnElement[bytes] = column("key_hash", _selectable=key.table)
    name, text = compiler.process(key, **kw), compiler.process(value, **kw)
    made = f"CAST(HASHBYTES('SHA2_256', {text}) AS BINARY(32))"
    return f"({compiler.process(hashed, **kw)} = {made} AND {name} IS NOT NULL)"

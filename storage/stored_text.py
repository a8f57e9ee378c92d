"""Texts as they are stored, for whoever must read damaged ones, too.

SQLite stores whatever bytes it is given as a text, and its driver fails on those that are none.
Other servers keep out what is no text.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Dialect, FunctionElement, Text, TypeDecorator
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler


class _Lenient(TypeDecorator[str]):
    """A text; bytes that are none become lone surrogates, which no sound text holds."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The text of what the driver gave."""
        return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value


class _StoredText(FunctionElement[str]):
    inherit_cache = True
    name = "stored_text"
    type = _Lenient()


def stored_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """A column of texts that is read whatever it holds."""
    return _StoredText(column)


@compiles(_StoredText)
def _plain(element: _StoredText, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **kw)


@compiles(_StoredText, "sqlite")
def _sqlite(element: _StoredText, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses.clauses[0], **kw)} AS BLOB)"

"""Statements as SQLite's driver takes them, compiled once.

A point read costs the driver some microseconds, and SQLAlchemy ten times that on its way there and
back.  Whoever listens to an engine's statements (`before_cursor_execute`) hears of these, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Executable, create_engine
from sqlalchemy.sql.compiler import SQLCompiler

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SqliteStatement:
    """A statement's text, and the names of its parameters in their order.

    `given` are the values that the statement brings itself; `conversions` and `results` the places
    among its parameters, and in a row, whose values are converted.
    """

    text: str
    names: tuple[str, ...]
    conversions: tuple[tuple[int, Convert], ...]
    given: Mapping[str, object]
    results: tuple[tuple[int, Convert], ...]

    def fetch(
        self, connection: Connection, values: Mapping[str, object]
    ) -> Sequence[tuple[Any, ...]]:
        """All rows that the statement gives in the transaction of `connection`."""
        rows: list[tuple[Any, ...]] = self._execute(connection, values).fetchall()
        return [self._converted(row) for row in rows] if self.results else rows

    def send(self, connection: Connection, values: Mapping[str, object]) -> None:
        """Executes what gives no rows."""
        self._execute(connection, values)

    def _execute(self, connection: Connection, values: Mapping[str, object]) -> Any:
        known = {**self.given, **values} if self.given else values
        given = [known[name] for name in self.names]
        for place, convert in self.conversions:
            given[place] = convert(given[place])
        cursor = connection.connection.cursor()
        for tell in connection.engine.dispatch.before_cursor_execute:
            tell(connection, cursor, self.text, tuple(given), None, False)
        cursor.execute(self.text, given)
        return cursor

    def _converted(self, row: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(row)
        for place, convert in self.results:
            changed[place] = convert(changed[place])
        return tuple(changed)


_DIALECT: Dialect = create_engine("sqlite+pysqlite://").dialect
"""The one that all engines here have: what was compiled for one database is right for any."""


@lru_cache(maxsize=1024)
def sqlite_statement(statement: Executable) -> SqliteStatement | None:
    """A statement as the driver takes it; None where its text depends on its values."""
    compiled = statement.compile(dialect=_DIALECT)  # type: ignore[attr-defined]  # all of them have
    assert isinstance(compiled, SQLCompiler)  # noqa: S101 (no DDL)
    if compiled.post_compile_params:  # a list that is spelt out
        return None
    binds = compiled.binds
    names = tuple(compiled.positiontup or ())
    conversions = [
        (place, convert)
        for place, name in enumerate(names)
        if (convert := binds[name].type.dialect_impl(_DIALECT).bind_processor(_DIALECT))
    ]
    given = {name: bind.value for name, bind in binds.items() if not bind.required}
    columns = getattr(statement, "selected_columns", ())
    results = [
        (place, convert)
        for place, column in enumerate(columns)
        if (convert := column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None))
    ]
    return SqliteStatement(str(compiled), names, tuple(conversions), given, tuple(results))

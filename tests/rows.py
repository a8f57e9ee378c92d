"""Whole rows of a table, by statements that are compiled once for an engine.

Most tests open a store of their own, and SQLAlchemy keeps what it has compiled with the store: to
look at every table afterwards took longer in the compiler than in the test.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Table, select
from sqlalchemy.sql.compiler import SQLCompiler

from retrograph.storage.as_of import TENANT
from retrograph.storage.prepared import FLEET


@dataclass(frozen=True, slots=True)
class _Reading:
    """A statement's text, the names of its parameters, what its rows are and what they take."""

    text: str
    names: tuple[str, ...]
    row: Callable[..., Any]
    decoders: tuple[tuple[int, Callable[[Any], Any]], ...]

    def decoded(self, values: Any) -> Any:
        found = list(values)
        for place, decode in self.decoders:
            found[place] = decode(found[place])
        return self.row(*found)


_KNOWN: dict[tuple[str, Table, bool], _Reading] = {}


def rows(connection: Connection, table: Table, fleet: tuple[int, int] | None = None) -> list[Any]:
    """Every row of a table, or of one tenant's fleet: named tuples, in no order."""
    key = connection.dialect.name, table, fleet is not None
    reading = _KNOWN.get(key)
    if reading is None:
        reading = _KNOWN[key] = _compiled(table, connection.dialect, scoped=fleet is not None)
    values = {} if fleet is None else {"tenant_id": fleet[0], "fleet_id": fleet[1]}
    given = tuple(values[name] for name in reading.names)
    return [reading.decoded(row) for row in connection.exec_driver_sql(reading.text, given)]


def _compiled(table: Table, dialect: Dialect, *, scoped: bool) -> _Reading:
    wanted = select(table)
    if scoped:
        wanted = wanted.where(table.c.tenant_id == TENANT, table.c.fleet_id == FLEET)
    compiled = wanted.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    kinds = [column.type.dialect_impl(dialect) for column in table.columns]
    decoders = [(n, kind.result_processor(dialect, None)) for n, kind in enumerate(kinds)]
    return _Reading(
        str(compiled),
        tuple(compiled.positiontup or ()),
        namedtuple(table.name.rpartition(".")[2], table.columns.keys()),  # noqa: PYI024
        tuple((n, decode) for n, decode in decoders if decode),
    )

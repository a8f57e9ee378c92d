"""Writes past the guards of procedural memory, as whoever holds the database can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, LargeBinary, SmallInteger, Table, Text, delete, select, update

from retrograph.resolvers.verify_checkpoints import Verified, verify_checkpoints
from retrograph.rules.chain import Head
from retrograph.rules.errors import NotFound
from retrograph.storage.write import Write
from tests.executions import Execution

Row = dict[str, Any]
_GUARDS = (
    "checkpoint_update", "checkpoint_delete",
    "checkpoint_anchor_update", "checkpoint_anchor_delete",
)  # fmt: skip


def unguarded(write: Write) -> None:
    """Takes the guards away."""
    if write.snapshot.profile.name == "sqlite":
        for name in _GUARDS:
            write.snapshot.connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")


def rows_of(run: Execution, table: Table) -> list[Row]:
    """The fleet's rows of a table."""
    scoped = (table.c.tenant_id == 1, table.c.fleet_id == run.fleet)
    with run.scope.snapshot(run.fleet) as s:
        return [dict(row) for row in s.connection.execute(select(table).where(*scoped)).mappings()]


def put(run: Execution, table: Table, columns: Row, row: Row) -> None:
    """Puts values into the row that holds `row`, found by its place alone."""

    def job(write: Write) -> None:
        unguarded(write)
        statement = update(table).where(*_here(table, row)).values(columns)
        assert write.snapshot.connection.execute(statement).rowcount == 1

    run.scope.store.write(1, run.fleet, job)


def cut(run: Execution, table: Table, row: Row) -> None:
    """Removes a row."""

    def job(write: Write) -> None:
        unguarded(write)
        assert write.snapshot.connection.execute(delete(table).where(*_here(table, row))).rowcount

    run.scope.store.write(1, run.fleet, job)


def _here(table: Table, row: Row) -> list[Any]:
    scoped = [table.c.tenant_id == row["tenant_id"], table.c.fleet_id == row["fleet_id"]]
    return [*scoped, *(each == row[each.key] for each in table.primary_key)]


def verified(
    run: Execution, head: Head | None = None, ledger: Head | None = None
) -> Verified | None:
    """What a verification finds; None where the execution isn't even there."""
    try:
        return verify_checkpoints(run.scope, run.fleet, run.name, head, ledger)
    except NotFound:
        return None


def faults(run: Execution, head: Head | None = None, ledger: Head | None = None) -> list[Any]:
    """The faults of the chain and of the ledger, each as its sequence and its name, or None."""
    found = verified(run, head, ledger)
    if found is None:
        return [(0, "MISSING")]
    both = found.fault, found.ledger.fault
    return [None if each is None else (each.sequence, each.kind.name) for each in both]


def others(column: Column[Any], value: Any, most: int) -> Iterator[Any]:
    """What a value may be changed to: each of its bytes or characters, or `most` of them.

    Also nothing where there may be nothing, and something where there is nothing.
    """
    if isinstance(column.type, SmallInteger):  # the engine allows few
        yield from {0, 1, 2} - {value}
    elif value is None or not value:
        yield {LargeBinary: b"x", Text: "x"}.get(type(column.type), 2**40)
    elif isinstance(value, int):
        yield from (value + 2**20, value + 2**40)  # no other row may have it
    else:
        for place in {*range(0, len(value), max(1, len(value) // most)), len(value) - 1}:
            yield changed(value, place)
    if value is not None and column.nullable:
        yield None


def changed(value: str | bytes, place: int) -> str | bytes:
    """The value with one bit of one of its bytes, or characters, the other way."""
    if isinstance(value, bytes):
        return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
    return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]


def allowed(run: Execution, name: str, value: Any) -> bool:
    """Whether the engine lets a column take a value at all: some are checked, tenants guarded."""
    if name in {"codec", "outcome"}:
        return value is None or value in ({0, 1} if name == "codec" else {1, 2})
    return name != "tenant_id" or run.scope.store._profile.name != "mssql"

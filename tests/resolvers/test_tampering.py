"""Whatever byte of whatever row of a chain is changed: against a kept head it is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Table, select, update

from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.chain import Head
from retrograph.rules.errors import NotFound
from retrograph.storage.payload_codec import DEFLATED_FROM
from retrograph.storage.tables import checkpoint, checkpoint_anchor, execution
from retrograph.storage.write import Write
from tests.executions import Execution

PLACES = 8
"""Bytes, or characters, of one value that are changed, one after another; its last one, too."""
TABLES = {
    "checkpoint": frozenset(checkpoint.c.keys()),
    "checkpoint_anchor": frozenset(checkpoint_anchor.c.keys()),
    # When it was begun, and by whom it was ended, is no part of what a checkpoint holds.
    "execution": frozenset({"id", "tenant_id", "fleet_id", "key", "deleted_at"}),
}
"""What is covered: every column of what makes the chain, and what leads to it."""


def others(value: Any) -> Iterator[Any]:
    """What a value may be changed to, byte by byte."""
    if isinstance(value, int):
        yield from (value + 2**20, value + 2**40)  # no other row may have it
    elif isinstance(value, str | bytes):
        for place in {*range(0, len(value), max(1, len(value) // PLACES)), len(value) - 1}:
            yield changed(value, place)
    else:
        yield 2**40


def changed(value: str | bytes, place: int) -> str | bytes:
    if isinstance(value, bytes):
        return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
    return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]


def is_found(run: Execution, head: Head) -> bool:
    try:
        return verify_checkpoints(run.scope, run.fleet, run.name, head).fault is not None
    except NotFound:
        return True


def unguarded(write: Write) -> None:
    """Takes the guards away, as whoever holds the database can."""
    if write.snapshot.profile.name == "sqlite":
        for name in ("checkpoint_update", "checkpoint_anchor_update"):
            write.snapshot.connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")


def put(run: Execution, table: Table, columns: dict[str, Any], row: dict[str, Any]) -> None:
    """Puts values into the row that holds `row`, found by its place alone."""
    here = [each == row[each.key] for each in table.primary_key]
    scoped = (table.c.tenant_id == row["tenant_id"], table.c.fleet_id == row["fleet_id"])

    def job(write: Write) -> None:
        unguarded(write)
        statement = update(table).where(*here, *scoped).values(columns)
        assert write.snapshot.connection.execute(statement).rowcount == 1

    run.scope.store.write(1, run.fleet, job)


def rows_of(run: Execution, table: Table) -> list[dict[str, Any]]:
    scoped = (table.c.tenant_id == 1, table.c.fleet_id == run.fleet)
    with run.scope.snapshot(run.fleet) as s:
        return [dict(row) for row in s.connection.execute(select(table).where(*scoped)).mappings()]


@pytest.mark.parametrize("payload", [{"step": 1}, {"text": "words " * DEFLATED_FROM}])
def test_every_byte_of_every_row_counts(run: Execution, payload: Any) -> None:
    made = run.grow(4, payload=payload)
    retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old", 2))
    head, tried = Head(4, made[-1].hash), 0
    assert not is_found(run, head)
    for table in (checkpoint, checkpoint_anchor, execution):
        for row in rows_of(run, table):
            for name in sorted(TABLES[table.name]):
                for other in others(row[name]):
                    if name in {"tenant_id", "fleet_id", "codec"} and not allowed(run, name):
                        continue
                    put(run, table, {name: other}, row)
                    assert is_found(run, head), (table.name, name, row[name], other)
                    put(run, table, {name: row[name]}, row | {name: other})
                    tried += 1
    assert not is_found(run, head)
    assert tried > 100


def allowed(run: Execution, name: str) -> bool:
    """Whether the engine lets the column be changed at all: codecs are checked, tenants guarded."""
    return name == "fleet_id" or (name == "tenant_id" and run.scope.store._profile.name != "mssql")

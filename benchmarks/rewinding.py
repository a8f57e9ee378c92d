"""A rewind after a cascade, against the driver writing the very same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cascades import fell
from benchmarks.databases import bare, fresh, opened
from benchmarks.graphs import FLEET, layered, plant
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.rows import Rows, insert
from benchmarks.sizes import Sizes
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.scope import Scope

REWIND = "rewindFleet"
BARE = "bare executemany"
_TABLES = ("node_state", "task")


def rewinding(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The fleet is felled whole, and set back to the instant just before."""
    template = plant(folder / "dag.db", layered(sizes.large, sizes.depth))
    with opened(template) as scope:
        to = scope.clock(FLEET)
        fell(scope, sizes.large)
    rows = _rows_of(template, to)
    seconds = interleaved(
        sizes.rounds,
        {BARE: lambda: rows.time(fresh(template)), REWIND: lambda: _time_rewind(template, to)},
    )
    what = f"Rewind of {sizes.large:,} nodes and their tasks, against bare `executemany`"
    yield compare(what, 4, seconds, REWIND, BARE)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a rewind wrote: history and events to insert, open versions to replace, by table."""

    inserted: dict[str, Rows]
    replaced: dict[str, tuple[str, Rows]]

    def time(self, path: Path) -> float:
        """The seconds of writing the rows in one transaction, its commit included."""
        with bare(path) as connection:
            return timed(lambda: self._write(connection))

    def _write(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for table, rows in self.inserted.items():
            if rows:
                connection.executemany(insert(table, rows), rows)
        for statement, rows in self.replaced.values():
            connection.executemany(statement, rows)
        connection.execute("DELETE FROM task_gate")
        connection.execute("COMMIT")


def _rewind(scope: Scope, to: int) -> int:
    request = Rewind(to, dry_run=False, confirm=confirmation(FLEET, to))
    return rewind_fleet(scope, FLEET, request).instant


def _time_rewind(template: Path, to: int) -> float:
    with opened(fresh(template)) as scope:
        return timed(lambda: _rewind(scope, to))


def _rows_of(template: Path, to: int) -> _Rows:
    path = fresh(template)
    with opened(path) as scope:
        at = _rewind(scope, to)
    with closing(sqlite3.connect(path)) as connection:
        read = connection.execute
        closed = {
            f"{table}_history": read(
                f"SELECT * FROM {table}_history WHERE valid_to = ?", (at,)
            ).fetchall()
            for table in _TABLES
        }
        events = read("SELECT * FROM outbox WHERE at = ?", (at,)).fetchall()
        replaced = {table: _replacing(connection, table, at) for table in _TABLES}
    return _Rows(closed | {"outbox": events}, replaced)


def _replacing(connection: sqlite3.Connection, table: str, at: int) -> tuple[str, Rows]:
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
    chosen = f"SELECT {', '.join(names)}, id FROM {table} WHERE valid_from = ?"
    statement = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?"
    return statement, connection.execute(chosen, (at,)).fetchall()

"""The yardstick of cascades: their very rows, written by four bare `executemany`."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from benchmarks.databases import bare
from benchmarks.measure import timed
from benchmarks.rows import Rows, insert

_STATES = "SELECT validity, projected, run_id, run_ordinal, valid_from, id FROM node_state"
_UPDATE = """
UPDATE node_state SET validity = ?, projected = ?, run_id = ?, run_ordinal = ?, valid_from = ?
WHERE id = ?
"""


@dataclass(frozen=True, slots=True)
class CascadeRows:
    """What a cascade wrote, table by table, in the order of the primary keys.

    Tasks and their gates are there only where something is to be judged.
    """

    states: Rows
    history: Rows
    impacts: Rows
    events: Rows
    tasks: Rows
    gates: Rows

    @classmethod
    def read(cls, path: Path) -> CascadeRows:
        """The rows of the only run of a database."""
        connection = sqlite3.connect(path)
        try:
            return cls(
                connection.execute(f"{_STATES} WHERE run_id IS NOT NULL").fetchall(),
                connection.execute("SELECT * FROM node_state_history").fetchall(),
                connection.execute("SELECT * FROM impact").fetchall(),
                connection.execute("SELECT * FROM outbox").fetchall(),
                connection.execute("SELECT * FROM task ORDER BY id").fetchall(),
                connection.execute("SELECT * FROM task_gate").fetchall(),
            )
        finally:
            connection.close()

    def time(self, path: Path) -> float:
        """The seconds of writing the rows in one transaction, its commit included."""
        with bare(path) as connection:
            return timed(lambda: self._write(connection))

    def _write(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(insert("node_state_history", self.history), self.history)
        connection.executemany(_UPDATE, self.states)
        connection.executemany(insert("impact", self.impacts), self.impacts)
        connection.executemany(insert("outbox", self.events), self.events)
        for table, rows in (("task", self.tasks), ("task_gate", self.gates)):
            if rows:
                connection.executemany(insert(table, rows), rows)
        connection.execute("COMMIT")

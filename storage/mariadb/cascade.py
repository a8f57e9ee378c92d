"""Cascades on MariaDB: seeds in, impacts out, the rounds in stored procedures in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import text

from retrograph.rules.cascade import Cascade, Seeds
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.plan import plan_hash
from retrograph.storage.named import run_named
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.sweeps import openings_by
from retrograph.storage.task_records import Opening
from retrograph.storage.write import Write

_SEEDS = {
    "seed_root": "node_id BIGINT PATH '$[0]', effect SMALLINT PATH '$[1]'",
    "seed_passing": (
        "source_id BIGINT PATH '$[0]', target_id BIGINT PATH '$[1]', type SMALLINT PATH '$[2]'"
    ),
    "seed_touched": "node_id BIGINT PATH '$[0]'",
}


def call_cascade(write: Write, seeds: Seeds, limit: int) -> InDatabase:
    """What falls with `seeds` in the fleet as the transaction has made it so far.

    The impacts stay in the session's temporary table `cascade_impact` until the next cascade of the
    same connection.  Raises `RunTooLarge`.
    """
    snapshot = write.snapshot
    execute = snapshot.connection.exec_driver_sql
    execute("CALL cascade_prepare()")
    _sow(snapshot, "seed_root", [(node, int(effect)) for node, effect in seeds.roots.items()])
    _sow(snapshot, "seed_passing", [(s, t, int(kind)) for s, t, kind in seeds.passing])
    _sow(snapshot, "seed_touched", [(node,) for node in seeds.touched])
    scope = (snapshot.tenant_id, snapshot.fleet_id)
    try:
        execute("CALL cascade_rounds(?, ?, ?)", (*scope, limit))
        execute("CALL cascade_impacts(?, ?)", scope)
    except Exception as error:
        if "RUN_TOO_LARGE" in str(error):
            raise RunTooLarge(limit) from error
        raise
    return InDatabase(snapshot, execute("SELECT COUNT(*) FROM cascade_impact").scalar_one())


@dataclass(frozen=True, slots=True)
class InDatabase:
    """A verdict that lies in the database's memory, and stays there."""

    snapshot: Snapshot
    count: int

    def __len__(self) -> int:
        return self.count

    def plan_hash(self) -> str:
        """The hash of the columns, which are fetched for it."""
        return plan_hash(self.fetched())

    def written_as(self) -> int | None:
        """No run yet."""
        return None

    def write_impacts(self, write: Write, run_id: int) -> None:
        """Copies the rows where they are."""
        run_named(write.snapshot, "copy_impacts", run_id=run_id)

    def openings(self, write: Write, run_id: int) -> list[Opening]:
        """Read back from the impacts."""
        return openings_by(write.snapshot, run_id)

    def swept(self) -> list[int]:
        """Read back as well."""
        rows = self.snapshot.connection.exec_driver_sql("SELECT node_id FROM cascade_impact").all()
        return [node_id for (node_id,) in rows]

    def note(self, write: Write) -> None:
        """No graph is kept warm for writing here."""
        write.forget_graph()

    def fetched(self) -> Cascade:
        """The same verdict as columns."""
        rows = self.snapshot.connection.exec_driver_sql(
            "SELECT node_id, kind, before_validity, after_validity, stored_before, stored_after, "
            "cause, origin_id, depth FROM cascade_impact ORDER BY ordinal"
        ).all()
        columns: Sequence[Sequence[int]] = list(zip(*rows, strict=True)) or [()] * 9
        return Cascade(*map(list, columns))  # type: ignore[arg-type]


def _sow(snapshot: Snapshot, table: str, rows: Iterable[tuple[int, ...]]) -> None:
    listed = list(rows)
    if listed:
        columns = f"JSON_TABLE(:rows, '$[*]' COLUMNS ({_SEEDS[table]}))"
        statement = text(f"INSERT INTO {table} SELECT DISTINCT * FROM {columns} AS given")  # noqa: S608
        snapshot.connection.execute(statement, {"rows": orjson.dumps(listed).decode()})

"""Cascades on SQL Server: one call of a stored procedure, from the seeds to what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CursorResult

from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.plan import plan_hash
from retrograph.storage.mssql.errors import RUN_TOO_LARGE, numbers_of
from retrograph.storage.named import run_named
from retrograph.storage.sweeps import openings_by
from retrograph.storage.task_records import Opening
from retrograph.storage.write import Write, take_ids


def call_cascade(write: Write, seeds: Seeds, limit: int) -> Written:
    """What falls with `seeds`, written with its impacts, states and events as a run's.

    The row of the run itself is its caller's to write.  Raises `RunTooLarge`, and the transaction
    is at an end then.
    """
    run_id = take_ids(write, "run", 1)[0]
    try:
        impacts = _to_the_end(
            run_named(
                write.snapshot,
                "invalidate",
                run_id=run_id,
                roots=[(node, int(effect)) for node, effect in seeds.roots.items()],
                passing=[(s, t, int(kind)) for s, t, kind in seeds.passing],
                touched=[(node,) for node in seeds.touched],
                first_ordinal=write.next_event,
                limit=limit,
            )
        )
    except Exception as error:
        if RUN_TOO_LARGE in numbers_of(error):
            raise RunTooLarge(limit) from error
        raise
    write.next_event += len(impacts)
    _, nodes, _, before, after, *_ = zip(*impacts, strict=True) if impacts else [()] * 8
    return Written(run_id, nodes, before, after)


@dataclass(frozen=True, slots=True)
class Written:
    """A verdict that was written when it was reached."""

    run_id: int
    nodes: Sequence[int]
    before: Sequence[int]
    after: Sequence[int]

    def __len__(self) -> int:
        return len(self.nodes)

    def plan_hash(self) -> str:
        """The hash of the columns."""
        return plan_hash(self)

    def written_as(self) -> int:
        """The run that was given to the procedure."""
        return self.run_id

    def write_impacts(self, write: Write, run_id: int) -> None:
        """Nothing: they are."""

    def openings(self, write: Write, run_id: int) -> list[Opening]:
        """Read back from the impacts."""
        return openings_by(write.snapshot, run_id)

    def swept(self) -> list[int]:
        """The column of nodes."""
        return list(self.nodes)

    def note(self, write: Write) -> None:
        """No graph is kept warm for writing here."""
        write.forget_graph()


def _to_the_end(result: CursorResult[Any]) -> list[tuple[int, ...]]:
    """The rows of the first result; an error after them is told only with the last one."""
    cursor: Any = result.cursor
    rows = [tuple(row) for row in cursor.fetchall()]
    while cursor.nextset():
        pass
    result.close()
    return rows

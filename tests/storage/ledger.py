"""Runs, impacts and events as rows, written without a cascade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, update

from retrograph.rules.validity import Validity
from retrograph.storage import tables
from retrograph.storage.records import RunStatus
from retrograph.storage.store import Store
from retrograph.storage.write import Write, take_ids

Cause = tuple[int, int | None, int | None]
"""An impact's node, the ordinal of its cause, and the origin that had no impact."""


def add_run(store: Store, fleet: int = 1, **columns: Any) -> int:
    """Records a run in a write of its own and returns its id."""

    def job(writes: dict[int, Write]) -> int:
        write = writes[fleet]
        (run_id,) = take_ids(write, "run", 1)
        row = {
            "id": run_id,
            "status": int(RunStatus.APPLIED),
            "root_id": 1,
            "effect": int(Validity.INVALID),
            "reason": "wrong",
            "effective_at": write.instant,
            "executed_at": write.instant,
            "impact_count": 0,
        }
        _insert(write, tables.run, row | columns)
        return run_id

    return store.write_all(1, [fleet], job)


def mark_reverted(store: Store, run_id: int, by: int) -> int:
    """Marks a run as reverted by another and returns the instant."""

    def job(write: Write) -> int:
        run = tables.run.c
        mine = (run.tenant_id == write.snapshot.tenant_id, run.fleet_id == write.snapshot.fleet_id)
        change = update(tables.run).where(run.id == run_id, *mine)
        values = {"reverted_by_run_id": by, "reverted_at": write.instant}
        write.snapshot.connection.execute(change.values(values))
        return write.instant

    return store.write(1, 1, job)


def add_impacts(store: Store, run_id: int, causes: Sequence[Cause]) -> None:
    """Records impacts in the order given; depths follow from the causes."""
    depths: list[int] = []
    for _, cause, origin in causes:
        depths.append(int(origin is not None) if cause is None else depths[cause] + 1)

    def job(write: Write) -> None:
        for ordinal, (node_id, cause, origin_id) in enumerate(causes):
            row = {
                "run_id": run_id,
                "ordinal": ordinal,
                "node_id": node_id,
                "kind": 1 + ordinal % 3,
                "before": int(Validity.CURRENTLY_VALID),
                "after": int(Validity.INVALID),
                "cause": cause,
                "origin_id": origin_id,
                "depth": depths[ordinal],
            }
            _insert(write, tables.impact, row)

    store.write(1, 1, job)


def add_events(store: Store, rows: Sequence[dict[str, Any]], fleet: int = 1) -> int:
    """Records events of one instant, which is returned."""

    def job(writes: dict[int, Write]) -> int:
        write = writes[fleet]
        for ordinal, row in enumerate(rows):
            _insert(write, tables.outbox, {"at": write.instant, "ordinal": ordinal, **row})
        return write.instant

    return store.write_all(1, [fleet], job)


def _insert(write: Write, table: Any, row: dict[str, Any]) -> None:
    s = write.snapshot
    statement = insert(table).values(tenant_id=s.tenant_id, fleet_id=s.fleet_id, **row)
    s.connection.execute(statement)

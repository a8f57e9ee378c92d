"""Writes what a cascade decided: run, impacts, states with their history, and events."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import insert

from retrograph.rules.validity import Validity
from retrograph.storage.named import run_named
from retrograph.storage.open_work import OpenTask
from retrograph.storage.records import RunRecord, RunStatus
from retrograph.storage.tables import run as run_table
from retrograph.storage.task_writes import release, settle
from retrograph.storage.verdicts import Verdict
from retrograph.storage.write import Write, take_ids


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a run is asked to be: its root, the effect on it, and why.

    `effective_at` None means the instant of the run; `reverts_run_id` names the run it undoes.
    """

    root_id: int
    effect: Validity
    reason: str
    effective_at: int | None = None
    reverts_run_id: int | None = None


def record_run(
    write: Write, order: RunOrder, verdict: Verdict, ended: Collection[OpenTask] = ()
) -> RunRecord:
    """Writes a run and all that it changed; one without impacts is recorded as `NO_CHANGE`.

    `ended` are tasks that ended with it, and that nothing waits on any more.
    """
    run = _record_of(write, order, verdict)
    write.snapshot.connection.execute(insert(run_table).values(_row_of(run)))
    if len(verdict):
        if verdict.written_as() is None:
            verdict.write_impacts(write, run.id)
            _write_states(write, run.id)
            _write_events(write, run)
        verdict.note(write)
        settle(write, verdict.swept(), verdict.openings(write, run.id), ended)
    elif ended:
        release(write, ended)
    return run


def _record_of(write: Write, order: RunOrder, verdict: Verdict) -> RunRecord:
    at, written_as = order.effective_at, verdict.written_as()
    return RunRecord(
        tenant_id=write.snapshot.tenant_id,
        fleet_id=write.snapshot.fleet_id,
        id=take_ids(write, "run", 1)[0] if written_as is None else written_as,
        status=RunStatus.APPLIED if len(verdict) else RunStatus.NO_CHANGE,
        root_id=order.root_id,
        effect=order.effect,
        reason=order.reason,
        effective_at=write.instant if at is None else at,
        executed_at=write.instant,
        impact_count=len(verdict),
        reverts_run_id=order.reverts_run_id,
        reverted_by_run_id=None,
        reverted_at=None,
        as_of=write.instant,
    )


def _row_of(run: RunRecord) -> dict[str, object]:
    return {column.name: getattr(run, column.name) for column in run_table.columns}


def _write_states(write: Write, run_id: int) -> None:
    if not write.snapshot.profile.fills_periods:
        run_named(write.snapshot, "close_impacted_states", run_id=run_id, instant=write.instant)
    run_named(write.snapshot, "apply_impacts", run_id=run_id, instant=write.instant)


def _write_events(write: Write, run: RunRecord) -> None:
    written = run_named(
        write.snapshot,
        "emit_impacts" if run.reverts_run_id is None else "emit_reversal",
        run_id=run.id,
        instant=write.instant,
        first_ordinal=write.next_event,
    )
    write.next_event += written.rowcount

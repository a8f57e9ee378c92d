"""Runs as of an instant: one is seen from its execution on, and as reverted from its revert on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Executable, Text, bindparam, case, select

from retrograph.rules.limits import MAX_ID
from retrograph.rules.validity import Validity
from retrograph.storage.driven import drive
from retrograph.storage.filters import RunFilter
from retrograph.storage.id_set import Place, id_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.records import Page, RunRecord, RunStatus
from retrograph.storage.same_text import same_text
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import run

_COLUMNS = (
    run.c.id,
    run.c.status,
    run.c.root_id,
    run.c.effect,
    run.c.reason,
    run.c.effective_at,
    run.c.executed_at,
    run.c.impact_count,
    run.c.reverts_run_id,
    run.c.reverted_by_run_id,
    run.c.reverted_at,
)


def runs_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, RunRecord]:
    """Those of `ids` that are runs of the fleet and were executed by the instant."""
    if not ids:
        return {}
    return {row[0]: _record(s, row) for row in fetch(s, _by_id, ids=ids)}


def runs_then(s: Snapshot, places: Collection[Place]) -> dict[Place, RunRecord]:
    """Those of `places` where there was a run, each as of its own instant, by one statement.

    No instant may be later than the snapshot's.
    """
    if not places:
        return {}
    rows = {row[0]: row for row in fetch(s, _by_id, ids={id for id, _ in places})}
    found = {
        place: _record(replace(s, instant=place[1]), rows[place[0]])
        for place in places
        if place[0] in rows
    }
    return {place: run for place, run in found.items() if run.executed_at <= run.as_of}


def page_runs(s: Snapshot, filter: RunFilter, first: int, after: int | None) -> Page[RunRecord]:
    """The runs that pass the filter, newest first: by descending id, below the id `after`."""
    given = {"status": filter.status, "root_id": filter.root_id, "reason": filter.reason}
    values = {name: value for name, value in given.items() if value is not None}
    before = MAX_ID if after is None else after
    rows = fetch(s, _page, frozenset(values), **values, before=before, rows=first + 1)
    return page_of(s, [_record(s, row) for row in rows], first)


def _record(s: Snapshot, row: Sequence[Any]) -> RunRecord:
    id, status, root_id, effect, *rest, reverts_run_id, reverted_by_run_id, reverted_at = row
    reason, effective_at, executed_at, impact_count = rest
    reverted = reverted_at is not None and reverted_at <= s.instant
    return RunRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        id=id,
        status=RunStatus.REVERTED if reverted else RunStatus(status),
        root_id=root_id,
        effect=Validity(effect),
        reason=reason,
        effective_at=effective_at,
        executed_at=executed_at,
        impact_count=impact_count,
        reverts_run_id=reverts_run_id,
        reverted_by_run_id=reverted_by_run_id if reverted else None,
        reverted_at=reverted_at if reverted else None,
        as_of=s.instant,
    )


@prepared
def _by_id(frame: Frame) -> Executable:  # noqa: ARG001 (runs look the same in every frame)
    ids = id_rows()
    joined = drive(ids, (run, run.c.id == ids.c.value))
    return (
        select(*_COLUMNS)
        .select_from(joined)
        .where(*within_scope(run), run.c.executed_at <= INSTANT)
    )


@prepared
def _page(frame: Frame, given: frozenset[str]) -> Executable:  # noqa: ARG001
    return (
        select(*_COLUMNS)
        .where(*scoped(run), run.c.executed_at <= INSTANT, run.c.id < bindparam("before"))
        .where(*_conditions(given))
        .order_by(run.c.id.desc())
        .limit(bindparam("rows"))
    )


def _conditions(given: frozenset[str]) -> Iterator[ColumnElement[bool]]:
    status = case((run.c.reverted_at <= INSTANT, int(RunStatus.REVERTED)), else_=run.c.status)
    conditions = {
        "status": status.in_(bindparam("status", expanding=True)),
        "root_id": run.c.root_id == bindparam("root_id"),
        "reason": same_text(run.c.reason, bindparam("reason", type_=Text)),
    }
    return (condition for name, condition in conditions.items() if name in given)

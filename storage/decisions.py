"""Decisions: who judged what of a node, when, on which evidence. They are never changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Executable, bindparam, select

from retrograph.rules.limits import MAX_ID
from retrograph.storage.bulk import insert_rows
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped
from retrograph.storage.records import Page, RunRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import decision
from retrograph.storage.task_records import DecisionKind, DecisionRecord
from retrograph.storage.write import Write, take_ids

_NAMES = (
    "id", "task_id", "node_id", "run_id", "at", "kind", "unchanged", "confidence", "evidence",
    "note", "decided_by", "worker", "attempt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided; the fields are those of `DecisionRecord`."""

    kind: DecisionKind
    node_id: int
    task_id: int | None = None
    run_id: int | None = None
    unchanged: bool = False
    confidence: float | None = None
    evidence: tuple[str, ...] = ()
    note: str | None = None
    decided_by: str | None = None
    worker: str | None = None
    attempt: int = 0


def record_decisions(write: Write, decisions: Sequence[Decision]) -> None:
    """Writes decisions at the instant of the write."""
    s = write.snapshot
    ids = take_ids(write, "decision", len(decisions))
    rows = (
        (
            s.tenant_id, s.fleet_id, number, each.task_id, each.node_id, each.run_id,
            write.instant, int(each.kind), int(each.unchanged), each.confidence,
            orjson.dumps(each.evidence).decode() if each.evidence else None,
            each.note, each.decided_by, each.worker, each.attempt,
        )
        for number, each in zip(ids, decisions, strict=True)
    )  # fmt: skip
    insert_rows(s.connection, s.profile, decision.name, ("tenant_id", "fleet_id", *_NAMES), rows)


def page_decisions(
    s: Snapshot, node_id: int | None, first: int, after: int | None
) -> Page[DecisionRecord]:
    """The decisions up to the instant, newest first, below the id `after`; of one node, or all."""
    rows = fetch(
        s,
        _page,
        node_id is not None,
        node_id=node_id,
        before=MAX_ID if after is None else after,
        rows=first + 1,
    )
    return page_of(s, [_record(s, row) for row in rows], first)


def decisions_of_runs(s: Snapshot, runs: Collection[RunRecord]) -> dict[int, DecisionRecord]:
    """The decision that started each run that one has started, by run id; one statement."""
    if not runs:
        return {}
    rows = fetch(s, _with_runs, ids={each.root_id for each in runs})
    found = (_record(s, row) for row in rows)
    return {each.run_id: each for each in found if each.run_id is not None}


def _record(s: Snapshot, row: Sequence[Any]) -> DecisionRecord:
    values = dict(zip(_NAMES, row, strict=True))
    evidence = values.pop("evidence")
    return DecisionRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        kind=DecisionKind(values.pop("kind")),
        unchanged=bool(values.pop("unchanged")),
        evidence=() if evidence is None else tuple(orjson.loads(evidence)),
        as_of=s.instant,
        **values,
    )


@prepared
def _page(frame: Frame, by_node: bool) -> Executable:  # noqa: ARG001 (the same in every frame)
    columns = (decision.c[name] for name in _NAMES)
    chosen = select(*columns).where(
        *scoped(decision), decision.c.at <= INSTANT, decision.c.id < bindparam("before")
    )
    if by_node:
        chosen = chosen.where(decision.c.node_id == bindparam("node_id"))
    return chosen.order_by(decision.c.id.desc()).limit(bindparam("rows"))


@prepared
def _with_runs(frame: Frame) -> Executable:  # noqa: ARG001
    ids = id_rows()
    tenant, fleet = scoped(decision)
    found = (decision.c.node_id == ids.c.value) & tenant & fleet
    return (
        select(*(decision.c[name] for name in _NAMES))
        .select_from(drive(ids, (decision, found)))
        .where(decision.c.run_id.is_not(None), decision.c.at <= INSTANT)
    )

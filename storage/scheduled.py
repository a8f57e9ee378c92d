"""Invalidations that wait for their hour: entered, listed as of an instant, and settled once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import Executable, bindparam, case, insert, or_, select, update

from retrograph.rules.limits import MIN_ID
from retrograph.rules.validity import Validity
from retrograph.storage.driven import drive
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import id_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.records import Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import scheduled_invalidation as table
from retrograph.storage.write import Write, take_ids


class ScheduleStatus(IntEnum):
    """What has become of a scheduled invalidation."""

    EXECUTED = 1
    FAILED = 2
    CANCELLED = 3
    PENDING = 4


@dataclass(frozen=True, slots=True)
class Order:
    """An invalidation of a node that is to be run at `effective_at`, and the checks it asks for.

    `request_hash` tells, for its idempotency key, whether another request is the same.
    """

    node_id: int
    effect: Validity
    reason: str
    effective_at: int
    key: str | None
    request_hash: str
    expected_plan: str | None
    expected_version: str | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of an order: the run that executed it, or the code and message of its failure."""

    status: ScheduleStatus
    run_id: int | None = None
    failure_code: str | None = None
    failure: str | None = None


PENDING = Settlement(ScheduleStatus.PENDING)


@dataclass(frozen=True, slots=True)
class ScheduledRecord:
    """A scheduled invalidation as of an instant."""

    tenant_id: int
    fleet_id: int
    id: int
    order: Order
    requested_at: int
    settlement: Settlement
    settled_at: int | None
    as_of: int


_ORDER = tuple(Order.__dataclass_fields__)
_COLUMNS = tuple(
    table.c[name]
    for name in (
        *("id", "requested_at", "settled_at", "outcome", "run_id", "failure_code", "failure"),
        *_ORDER,
    )
)


def schedule(write: Write, order: Order) -> ScheduledRecord:
    """Enters an order, to be run at its hour."""
    s, scheduled_id = write.snapshot, take_ids(write, "scheduled", 1)[0]
    values = {name: getattr(order, name) for name in _ORDER}
    s.connection.execute(
        insert(table).values(
            id=scheduled_id,
            tenant_id=s.tenant_id,
            fleet_id=s.fleet_id,
            requested_at=write.instant,
            **values | {"effect": int(order.effect)},
        )
    )
    return ScheduledRecord(
        s.tenant_id, s.fleet_id, scheduled_id, order, write.instant, PENDING, None, write.instant
    )


def settle_scheduled(write: Write, scheduled_id: int, settlement: Settlement) -> None:
    """Tells what became of a pending order."""
    s = write.snapshot
    s.connection.execute(
        update(table)
        .where(
            table.c.id == scheduled_id,
            table.c.tenant_id == s.tenant_id,
            table.c.fleet_id == s.fleet_id,
            table.c.outcome.is_(None),
        )
        .values(
            outcome=int(settlement.status),
            settled_at=write.instant,
            run_id=settlement.run_id,
            failure_code=settlement.failure_code,
            failure=settlement.failure,
        )
    )


def scheduled_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, ScheduledRecord]:
    """Those of `ids` that were entered by the instant."""
    return {row[0]: _record(s, row) for row in fetch(s, _by_id, ids=ids)} if ids else {}


def scheduled_by_key(s: Snapshot, key: str) -> ScheduledRecord | None:
    """The order that was entered under an idempotency key."""
    rows = s.connection.execute(
        select(*_COLUMNS).where(
            table.c.tenant_id == s.tenant_id,
            table.c.fleet_id == s.fleet_id,
            has_key(table.c.key, key),
        )
    ).all()
    return _record(s, rows[0]) if rows else None


def page_scheduled(
    s: Snapshot, statuses: frozenset[ScheduleStatus] | None, first: int, after: int | None
) -> Page[ScheduledRecord]:
    """The orders of some statuses (None: of any), by ascending id, after the id `after`."""
    rows = fetch(
        s,
        _page,
        statuses is not None,
        statuses=sorted(map(int, statuses or ())),
        after=MIN_ID if after is None else after,
        rows=first + 1,
    )
    return page_of(s, [_record(s, row) for row in rows], first)


def due_orders(s: Snapshot, now: int, most: int) -> list[int]:
    """The ids of pending orders whose hour has come by `now`, in the order of their hours."""
    return [id for (id,) in fetch(s, _due, now=now, rows=most)]


def _record(s: Snapshot, row: Sequence[Any]) -> ScheduledRecord:
    id, requested_at, settled_at, outcome, run_id, code, failure, *rest = row
    values = dict(zip(_ORDER, rest, strict=True))
    order = Order(**values | {"effect": Validity(values["effect"])})
    settled = settled_at is not None and settled_at <= s.instant
    return ScheduledRecord(
        s.tenant_id,
        s.fleet_id,
        id,
        order,
        requested_at,
        Settlement(ScheduleStatus(outcome), run_id, code, failure) if settled else PENDING,
        settled_at if settled else None,
        s.instant,
    )


@prepared
def _by_id(frame: Frame) -> Executable:  # noqa: ARG001 (they look the same in every frame)
    ids = id_rows()
    return (
        select(*_COLUMNS)
        .select_from(drive(ids, (table, table.c.id == ids.c.value)))
        .where(*within_scope(table), table.c.requested_at <= INSTANT)
    )


@prepared
def _page(frame: Frame, chosen: bool) -> Executable:  # noqa: ARG001
    pending = or_(table.c.settled_at.is_(None), table.c.settled_at > INSTANT)
    status = case((pending, int(ScheduleStatus.PENDING)), else_=table.c.outcome)
    listed = select(*_COLUMNS).where(
        *scoped(table), table.c.requested_at <= INSTANT, table.c.id > bindparam("after")
    )
    if chosen:
        listed = listed.where(status.in_(bindparam("statuses", expanding=True)))
    return listed.order_by(table.c.id).limit(bindparam("rows"))


@prepared
def _due(frame: Frame) -> Executable:  # noqa: ARG001 (the present)
    return (
        select(table.c.id)
        .where(*scoped(table), table.c.outcome.is_(None), table.c.effective_at <= bindparam("now"))
        .order_by(table.c.effective_at, table.c.id)
        .limit(bindparam("rows"))
    )

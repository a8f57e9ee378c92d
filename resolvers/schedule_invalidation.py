"""Invalidations with an hour in the future: requested, listed, cancelled, and executed then."""

from __future__ import annotations

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import check_invalidation, invalidate_once, request_as_json
from retrograph.resolvers.requests import check_plan, hash_of
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_version, require_node
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import NotFound, ScheduleSettled
from retrograph.rules.limits import check_first
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.idempotency import record_request, recorded_run
from retrograph.storage.records import NodeRef, Page, RunRecord
from retrograph.storage.runs import runs_by_id
from retrograph.storage.scheduled import (
    Order,
    ScheduledRecord,
    ScheduleStatus,
    Settlement,
    page_scheduled,
    schedule,
    scheduled_by_id,
    scheduled_by_key,
    settle_scheduled,
)
from retrograph.storage.write import Write


def request_invalidation(
    scope: Scope, fleet_id: int, request: Invalidation
) -> RunRecord | ScheduledRecord:
    """Invalidates at once, or at `effective_at` where that lies in the future.

    The same request with the same idempotency key gets what it got before.  A root must exist when
    its request is made; version and plan are checked at the hour.  Raises what `invalidate` does.
    """
    check_invalidation(request)

    def job(write: Write) -> RunRecord | ScheduledRecord:
        known = _requested_before(write, request)
        if known is not None:
            return known
        at = request.effective_at
        if at is None or at <= max(scope.store.now(), write.instant):
            return invalidate_once(write, request)
        return _schedule(write, request, at)

    return scope.write(fleet_id, job)


def list_scheduled(
    scope: Scope,
    fleet_id: int,
    statuses: frozenset[ScheduleStatus] | None,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[ScheduledRecord]:
    """A page of the scheduled invalidations of some statuses, by id, after the id `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return page_scheduled(snapshot, statuses, first, after)


def cancel_scheduled(scope: Scope, fleet_id: int, scheduled_id: int) -> ScheduledRecord:
    """Cancels a pending one; raises `NotFound`, `ScheduleSettled`."""

    def job(write: Write) -> ScheduledRecord:
        _pending(write, scheduled_id)
        settle_scheduled(write, scheduled_id, Settlement(ScheduleStatus.CANCELLED))
        return scheduled_by_id(write.snapshot, [scheduled_id])[scheduled_id]

    return scope.write(fleet_id, job)


def execute_scheduled(write: Write, scheduled_id: int) -> RunRecord:
    """Runs a pending one as a request of now that takes effect at its hour.

    Raises `NotFound`, `ScheduleSettled`, `VersionConflict`, `PlanChanged`, `RunTooLarge`.
    """
    order = _pending(write, scheduled_id).order
    root = require_node(write.snapshot, NodeRef(id=order.node_id), ("input", "root"))
    check_version(root, order.expected_version, ("input", "expectedVersion"))
    fallen = write.cascade(Seeds(roots={root.id: order.effect}))
    check_plan(fallen, order.expected_plan)
    ordered = RunOrder(root.id, order.effect, order.reason, order.effective_at)
    run = record_run(write, ordered, fallen)
    if order.key is not None:
        record_request(write, order.key, order.request_hash, run.id)
    settle_scheduled(write, scheduled_id, Settlement(ScheduleStatus.EXECUTED, run.id))
    return run


def _requested_before(write: Write, request: Invalidation) -> RunRecord | ScheduledRecord | None:
    """What the same request under the same key got: its run, or what is known of its schedule."""
    if request.idempotency_key is None:
        return None
    key, asked = request.idempotency_key, hash_of(request_as_json(request))
    run_id = recorded_run(write, key, asked)
    if run_id is not None:
        return runs_by_id(write.snapshot, [run_id])[run_id]
    return scheduled_by_key(write.snapshot, key)


def _schedule(write: Write, request: Invalidation, at: int) -> ScheduledRecord:
    root = require_node(write.snapshot, request.root, ("input", "root"))
    order = Order(
        root.id,
        request.effect,
        request.reason,
        at,
        request.idempotency_key,
        hash_of(request_as_json(request)),
        request.expected_plan,
        request.expected_version,
    )
    return schedule(write, order)


def _pending(write: Write, scheduled_id: int) -> ScheduledRecord:
    record = scheduled_by_id(write.snapshot, [scheduled_id]).get(scheduled_id)
    if record is None:
        raise NotFound(
            f"There is no scheduled invalidation {scheduled_id} in this fleet.",
            path=("input", "id"),
        )
    if record.settlement.status is not ScheduleStatus.PENDING:
        raise ScheduleSettled(
            f"Scheduled invalidation {scheduled_id} was settled already, as "
            f"{record.settlement.status.name}.",
            path=("input", "id"),
        )
    return record

"""`claimRevalidations`, `extendLease`, `requeueRevalidation`: who works on which task."""

from __future__ import annotations

import secrets

from retrograph.resolvers.leases import TASK, find_task, held_task
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import InvalidInput, NotDeadLettered
from retrograph.rules.instant import SECOND
from retrograph.rules.judgement import MAX_CLAIMS, MAX_LEASE_SECONDS
from retrograph.rules.limits import check_text
from retrograph.storage.claims import claimable, extend, lease, put_back
from retrograph.storage.task_records import TaskRecord, TaskStatus
from retrograph.storage.task_writes import look_again
from retrograph.storage.tasks import tasks_by_id
from retrograph.storage.write import Write

MAX_WORKER_LENGTH = 200


def claim_revalidations(
    scope: Scope, fleet_id: int, worker: str, limit: int = 10, lease_seconds: int = 60
) -> list[TaskRecord]:
    """Leases up to `limit` ready tasks to a worker, those first on which most others wait.

    Raises `InvalidInput`.
    """
    check_text(worker, ("input", "worker"), MAX_WORKER_LENGTH)
    _check_between(limit, MAX_CLAIMS, "limit")
    _check_between(lease_seconds, MAX_LEASE_SECONDS, "leaseSeconds")

    def job(write: Write) -> list[TaskRecord]:
        ids = claimable(write, limit)
        tokens = {task_id: secrets.token_urlsafe(24) for task_id in ids}
        lease(write, tokens, worker, lease_seconds * SECOND)
        found = tasks_by_id(write.snapshot, ids)
        return [found[task_id] for task_id in ids]

    return scope.write(fleet_id, job)


def extend_lease(
    scope: Scope, fleet_id: int, task_id: int, lease_token: str, lease_seconds: int = 60
) -> TaskRecord:
    """Lets a lease last `lease_seconds` from now.

    Raises `InvalidInput`, `NotFound`, `TaskCancelled`, `TaskClosed`, `LeaseLost`.
    """
    _check_between(lease_seconds, MAX_LEASE_SECONDS, "leaseSeconds")

    def job(write: Write) -> TaskRecord:
        held_task(write, task_id, lease_token)
        extend(write, task_id, lease_seconds * SECOND)
        return tasks_by_id(write.snapshot, [task_id])[task_id]

    return scope.write(fleet_id, job)


def requeue_revalidation(scope: Scope, fleet_id: int, task_id: int) -> TaskRecord:
    """Puts a dead letter back into the queue, with all its attempts before it.

    Raises `NotFound`, `NotDeadLettered`.
    """

    def job(write: Write) -> TaskRecord:
        task = find_task(write, task_id)
        if task.status is not TaskStatus.DEAD_LETTER:
            raise NotDeadLettered(
                f"Task {task_id} is {task.status.name}; only dead letters are put back.", path=TASK
            )
        put_back(write, task_id, TaskStatus.WAITING, attempt=0)
        look_again(write, task.node_id)
        return tasks_by_id(write.snapshot, [task_id])[task_id]

    return scope.write(fleet_id, job)


def _check_between(value: int, most: int, name: str) -> None:
    if not 1 <= value <= most:
        raise InvalidInput(f"Give a number from 1 to {most:,}.", path=("input", name))

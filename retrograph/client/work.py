"""Judging again as operations: `client.run(claim(1, "judge"))`, and then `complete` for each task.

Each raises what `retrograph.client.errors` names. None but `extend` is tried again where nobody
knows whether it was done: a claim that was lost ends with its lease, and what was told of a task
already is `TaskClosed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from retrograph.client import documents
from retrograph.client.errors import done
from retrograph.client.operation import Operation
from retrograph.client.values import (
    Completed,
    Node,
    NodeName,
    Outcome,
    Repaired,
    Task,
    to_datetime,
    to_ref,
)

T = TypeVar("T")


def claim(
    fleet: int, worker: str, *, limit: int = 10, lease_seconds: int = 60
) -> Operation[tuple[Task, ...]]:
    """Leases up to 100 ready tasks, those first on which most others wait; none if none is ready.

    Each is the worker's for `lease_seconds`, unless its lease is extended.
    """

    def read(data: dict[str, Any]) -> tuple[Task, ...]:
        return tuple(map(Task.of, done(data)["tasks"]))

    given = {"worker": worker, "limit": limit, "leaseSeconds": lease_seconds}
    return _operation(documents.CLAIM, fleet, given, read)


def extend(fleet: int, task: Task, *, lease_seconds: int = 60) -> Operation[Task]:
    """Holds a claimed task for so many seconds from now; gives it with its new lease."""

    def read(data: dict[str, Any]) -> Task:
        return Task.of(done(data)["task"])

    given = _held(task) | {"leaseSeconds": lease_seconds}
    return _operation(documents.EXTEND, fleet, given, read, repeatable=True)


def complete(
    fleet: int,
    task: Task,
    outcome: Outcome,
    *,
    unchanged: bool | None = None,
    confidence: float | None = None,
    evidence: Iterable[str] | None = None,
    note: str | None = None,
    by: str | None = None,
) -> Operation[Completed]:
    """Tells what was judged of a claimed task's node, on which evidence and by whom.

    `VERIFIED` and `unchanged` heals what fell only because of it. Raises `LeaseLost`, `Overtaken`,
    `TaskCancelled`, `TaskClosed` or `RequirementDead` where the judgement comes too late or can't
    be; then nothing was changed.
    """
    given = _held(task) | {
        "outcome": outcome,
        "unchanged": unchanged,
        "confidence": confidence,
        "evidence": None if evidence is None else list(evidence),
        "note": note,
        "by": by,
    }
    return _operation(documents.COMPLETE, fleet, given, lambda data: Completed.of(done(data)))


def requeue(fleet: int, task_id: int) -> Operation[Task]:
    """Puts a dead letter back into the queue; raises `NotDeadLettered` for any other task."""

    def read(data: dict[str, Any]) -> Task:
        return Task.of(done(data)["task"])

    return _operation(documents.REQUEUE, fleet, {"taskId": str(task_id)}, read)


def repair(
    fleet: int,
    node: NodeName,
    reason: str,
    *,
    unchanged: bool | None = None,
    expected_version: str | None = None,
) -> Operation[Repaired]:
    """Says that a node, a corrected one say, may be relied on; what rests on it is judged anew.

    `unchanged` says that it still says what it said, and heals what fell only because of it.
    """
    given = {
        "node": to_ref(node),
        "reason": reason,
        "unchanged": unchanged,
        "expectedVersion": expected_version,
    }

    def read(data: dict[str, Any]) -> Repaired:
        told = done(data)
        counts = told["taskCount"], told["restoredCount"]
        return Repaired(Node.of(told["node"]), *counts, to_datetime(told["instant"]))

    return _operation(documents.REPAIR, fleet, given, read)


def _held(task: Task) -> dict[str, Any]:
    """A task as its holder names it. `ValueError` for one that nobody has claimed here."""
    if task.lease_token is None:
        raise ValueError(f"Task {task.id} has no lease; claim it first.")
    return {"taskId": str(task.id), "leaseToken": task.lease_token}


def _operation(
    document: str,
    fleet: int,
    given: Mapping[str, Any],
    read: Callable[[dict[str, Any]], T],
    *,
    repeatable: bool = False,
) -> Operation[T]:
    """A mutation whose one argument is `input`; what is None is left out."""
    inputs = {name: value for name, value in given.items() if value is not None}
    return Operation(document, {"input": {"fleetId": str(fleet)} | inputs}, read, repeatable)

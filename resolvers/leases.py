"""Who holds a task: what a completion or an extension must show before it counts."""

from __future__ import annotations

import hmac

from retrograph.rules.errors import LeaseLost, NotFound, TaskCancelled, TaskClosed
from retrograph.storage.task_records import OPEN, TaskRecord, TaskStatus
from retrograph.storage.tasks import tasks_by_id
from retrograph.storage.write import Write

TASK = ("input", "taskId")
TOKEN = ("input", "leaseToken")


def find_task(write: Write, task_id: int) -> TaskRecord:
    """The task; raises `NotFound`."""
    task = tasks_by_id(write.snapshot, [task_id]).get(task_id)
    if task is None:
        raise NotFound(f"There is no task {task_id} in this fleet.", path=TASK)
    return task


def held_task(write: Write, task_id: int, token: str) -> TaskRecord:
    """The task, if `token` holds it now.

    Raises `NotFound`, `TaskCancelled`, `TaskClosed`, `LeaseLost`.
    """
    task = find_task(write, task_id)
    if task.status is TaskStatus.CANCELLED_SUPERSEDED:
        raise TaskCancelled(
            f"Task {task_id} was cancelled: its node was swept by a newer run, or pinned. Claim "
            "anew; if it must be judged, another task is open.",
            path=TASK,
        )
    if task.status not in OPEN:
        raise TaskClosed(f"Task {task_id} has ended already, as {task.status.name}.", path=TASK)
    held = task.status is TaskStatus.LEASED and task.lease_token is not None
    if not held or not hmac.compare_digest(str(task.lease_token).encode(), token.encode()):
        raise LeaseLost(
            f"The lease of task {task_id} is over, or was another's. Claim it again.", path=TOKEN
        )
    return task

"""Revalidation as tests talk of it: tasks by the keys of their nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.complete_revalidation import (
    Completed,
    Completion,
    Outcome,
    complete_revalidation,
)
from retrograph.resolvers.repair_node import NodeRepaired, repair_node
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.claims import lease
from retrograph.storage.decisions import page_decisions
from retrograph.storage.filters import TaskFilter
from retrograph.storage.task_records import OPEN, DecisionRecord, TaskRecord, TaskStatus
from retrograph.storage.tasks import blocking, page_tasks
from tests.memory import Memory, ref

TOKEN = "mine"
MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """The revalidation of a memory's fleet."""

    memory: Memory

    def claim(
        self, limit: int = 100, seconds: int = 60, worker: str = "w"
    ) -> dict[str, TaskRecord]:
        """What a worker is given, in the order given."""
        memory = self.memory
        found = claim_revalidations(memory.scope, memory.fleet, worker, limit, seconds)
        return {self._key(each.node_id): each for each in found}

    def hold(self, key: str) -> TaskRecord:
        """Leases one ready task and leaves the others alone."""
        task = self.open()[key]
        assert task.status is TaskStatus.READY
        scope, fleet = self.memory.scope, self.memory.fleet
        scope.write(fleet, lambda write: lease(write, {task.id: TOKEN}, "w", MINUTE))
        return self.open()[key]

    def complete(self, task: TaskRecord, outcome: Outcome, **more: Any) -> Completed:
        completion = Completion(task.id, more.pop("token", task.lease_token), outcome, **more)
        return complete_revalidation(self.memory.scope, self.memory.fleet, completion)

    def judge(self, key: str, outcome: Outcome = Outcome.VERIFIED, **more: Any) -> Completed:
        """Leases one ready task and completes it."""
        return self.complete(self.hold(key), outcome, **more)

    def repair(self, key: str, **more: Any) -> NodeRepaired:
        return repair_node(self.memory.scope, self.memory.fleet, ref(key), "corrected", **more)

    def tasks(self, *status: TaskStatus, at: int | None = None) -> list[TaskRecord]:
        """By ascending id; of any status where none is given."""
        with self.memory.scope.snapshot(self.memory.fleet, at) as snapshot:
            wanted = TaskFilter(frozenset(status) if status else None)
            return page_tasks(snapshot, wanted, MAX_FIRST, None).rows

    def open(self, at: int | None = None) -> dict[str, TaskRecord]:
        return {self._key(each.node_id): each for each in self.tasks(*OPEN, at=at)}

    def stand(self, at: int | None = None) -> dict[str, str]:
        """The status of each open task."""
        return {key: task.status.name for key, task in self.open(at).items()}

    def blocked_by(self, key: str) -> list[str]:
        task = self.open()[key]
        with self.memory.scope.snapshot(self.memory.fleet) as snapshot:
            return [self._key(each.node_id) for each in blocking(snapshot, [task])[task.id]]

    def decisions(self, key: str, at: int | None = None) -> list[DecisionRecord]:
        """Newest first."""
        node = self.memory.node(key).id
        with self.memory.scope.snapshot(self.memory.fleet, at) as snapshot:
            return page_decisions(snapshot, node, MAX_FIRST, None).rows

    def _key(self, node_id: int) -> str:
        nodes = self.memory.nodes()
        return next(key for key, node in nodes.items() if node.id == node_id)

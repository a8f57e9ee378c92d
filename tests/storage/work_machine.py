"""The time machine with revalidation in it: claims, judgements of every outcome, repairs."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from retrograph.resolvers.claim_revalidations import claim_revalidations, requeue_revalidation
from retrograph.resolvers.complete_revalidation import (
    Completed,
    Completion,
    Outcome,
    complete_revalidation,
)
from retrograph.resolvers.repair_node import repair_node
from retrograph.rules.cascade import Seeds
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import Overtaken
from retrograph.rules.validity import Validity, is_healthy, severity
from retrograph.storage.claims import lease
from retrograph.storage.filters import TaskFilter
from retrograph.storage.task_records import TaskRecord, TaskStatus
from retrograph.storage.tasks import page_tasks
from tests.open_work import check_tasks
from tests.storage.time_machine import KEYS, TimeMachine, pick, ref

AGAIN = "again"
MINUTE = 60_000_000
REQUIRED = (EdgeType.REQUIRES, EdgeType.VALID_ONLY_WHEN)


class WorkMachine(TimeMachine):
    """What was claimed is kept, so that late and double answers come too."""

    def __init__(self) -> None:
        super().__init__()
        self.claimed: list[TaskRecord] = []

    @rule(limit=st.integers(1, 3), seconds=st.sampled_from((1, 2, 600)))
    def claim(self, limit: int, seconds: int) -> None:
        held = {each.id for each in self.tasks() if self.is_held(each)}
        tasks = claim_revalidations(self.scope, self.fleet, "w", limit, seconds)
        assert held.isdisjoint(each.id for each in tasks)
        self.claimed += tasks

    @rule(
        choice=st.integers(0, 30),
        outcome=st.sampled_from((Outcome.VERIFIED, *Outcome)),
        unchanged=st.booleans(),
    )
    def complete(self, choice: int, outcome: Outcome, unchanged: bool) -> None:
        for place in pick([*range(len(self.claimed))], -1 - choice):
            task = self.claimed[place]
            now = {each.id: each for each in self.tasks()}[task.id]
            held = self.is_held(now) and now.lease_token == task.lease_token
            asked = Completion(task.id, task.lease_token or "", outcome, unchanged)
            done = self.attempt(lambda: self.judge(asked))  # noqa: B023
            assert done is None or held
            if done is None and held:
                assert outcome is Outcome.VERIFIED
                assert self.requires_the_dead(task.node_id)
            if isinstance(done, Completed):
                self.follow(done, outcome)

    @rule()
    def give_up(self) -> None:
        """A ready task fails until it is a dead letter."""
        for task in claim_revalidations(self.scope, self.fleet, "w", 1):
            status = TaskStatus.BACKING_OFF
            while status is TaskStatus.BACKING_OFF:
                self.scope.write(self.fleet, lambda w: lease(w, {task.id: AGAIN}, "w", MINUTE))  # noqa: B023
                done = self.judge(Completion(task.id, AGAIN, Outcome.ERROR))
                status = done.task.status if isinstance(done, Completed) else TaskStatus.READY

    @rule(choice=st.integers(0, 10))
    def requeue(self, choice: int) -> None:
        tasks = self.tasks()
        for place in pick([*range(len(tasks))], choice):
            dead = tasks[place].status is TaskStatus.DEAD_LETTER
            done = self.attempt(
                lambda: requeue_revalidation(self.scope, self.fleet, tasks[place].id)  # noqa: B023
            )
            assert (done is not None) is dead

    @rule(key=KEYS, unchanged=st.booleans())
    def repair(self, key: str, unchanged: bool) -> None:
        done = self.attempt(
            lambda: repair_node(self.scope, self.fleet, ref(key), "mended", unchanged=unchanged)
        )
        if done is not None:
            self.present.judge(Validity.REVALIDATED, [done.node.id])
            self.restore(done.restored)

    @invariant()
    def just_what_must_be_judged_is_open(self) -> None:
        with self.scope.snapshot(self.fleet) as snapshot:
            check_tasks(snapshot)

    def judge(self, asked: Completion) -> Completed | Overtaken:
        """An overtaken judgement gives the lease back, so it isn't without trace."""
        try:
            return complete_revalidation(self.scope, self.fleet, asked)
        except Overtaken as error:
            return error

    def follow(self, done: Completed, outcome: Outcome) -> None:
        if outcome is Outcome.VERIFIED:
            self.present.judge(Validity.REVALIDATED, [done.node.id])
            self.restore(done.restored)
        if done.run is not None:
            seeds = Seeds(roots={done.node.id: Validity.INVALID})
            self.check_run(done.run, self.present.fell(done.run.id, seeds))

    def restore(self, nodes: Collection[int]) -> None:
        assert not any(is_healthy(self.present.states[node].projected) for node in nodes)
        self.present.judge(Validity.CURRENTLY_VALID, nodes)
        assert all(self.present.rests_on_health(node) for node in nodes)

    def requires_the_dead(self, node: int) -> bool:
        return any(
            severity(self.present.states[source].projected) == severity(Validity.INVALID)
            for source, target, kind in self.present.edges.values()
            if target == node and kind in REQUIRED
        )

    def is_held(self, task: TaskRecord) -> bool:
        """Whether the next write will find the task leased."""
        next_instant = max(self.scope.clock(self.fleet) + 1, self.clock.now)
        return task.status is TaskStatus.LEASED and (task.due_at or 0) > next_instant

    def tasks(self) -> list[TaskRecord]:
        with self.scope.snapshot(self.fleet) as snapshot:
            return page_tasks(snapshot, TaskFilter(), 1000, None).rows

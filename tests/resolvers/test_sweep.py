"""What time brings: beliefs that expire, invalidations at their hour, one sweeper among many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from retrograph.resolvers import sweep
from retrograph.resolvers.inputs import Invalidation, NodeInput, Supersession
from retrograph.resolvers.lead import LEASE_SECONDS
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.schedule_invalidation import (
    cancel_scheduled,
    list_scheduled,
    request_invalidation,
)
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.supersede import supersede
from retrograph.resolvers.sweep import Sweeper, Swept
from retrograph.rules.errors import (
    IdempotencyKeyReused,
    NotFound,
    RunTooLarge,
    ScheduleSettled,
    StorageError,
)
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.records import RunRecord, RunStatus
from retrograph.storage.scheduled import ScheduledRecord, ScheduleStatus
from retrograph.storage.store import Store, open_store
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.memory import NEW, Memory, ref

HOUR = 3_600_000_000
IDLE = Swept()


def expiring(key: str, at: int | None) -> NodeInput:
    return NodeInput(key, kind=NEW, expires_at=at)


@pytest.fixture
def sweeper(memory: Memory) -> Sweeper:
    return Sweeper(memory.store)


def ordered(memory: Memory, at: int, key: str = "a", **more: Any) -> ScheduledRecord:
    request = replace(Invalidation(ref(key), "later", effective_at=at), **more)
    answer = request_invalidation(memory.scope, 1, request)
    assert isinstance(answer, ScheduledRecord)
    return answer


def scheduled(memory: Memory, at: int | None = None) -> list[str]:
    rows = list_scheduled(memory.scope, 1, None, 100, None, at).rows
    return [each.settlement.status.name for each in rows]


class TestExpiry:
    def test_fells_a_node_and_what_rests_on_it_at_its_hour(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        at = clock.now + HOUR
        memory.put(expiring("a", at), expiring("b", None))
        memory.link("a REQUIRES b")
        clock.now = at - 1
        before = memory.scope.clock(1)
        assert sweeper.step() == IDLE
        assert memory.scope.clock(1) == before
        clock.now = at
        assert sweeper.step() == Swept(expired=1)
        assert memory.sick() == {"a": "INVALID", "b": "INVALID"}
        (run,) = memory.runs()
        assert (run.reason, run.effective_at) == ("EXPIRED", at)

    def test_happens_once_for_each_expires_at(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        at = clock.now + HOUR
        memory.put(expiring("a", at))
        clock.now = at + 5
        assert sweeper.step() == Swept(expired=1)
        revert_run(memory.scope, 1, memory.runs()[0].id)
        assert sweeper.step() == IDLE
        assert memory.sick() == {}
        memory.put(expiring("a", at + 1))
        assert sweeper.step() == Swept(expired=1)
        assert memory.sick() == {"a": "INVALID"}

    def test_of_one_that_is_dead_already_is_no_change(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.put(expiring("a", clock.now + 1))
        memory.fell("a")
        clock.advance()
        assert sweeper.step() == Swept(expired=1)
        assert memory.runs()[0].status is RunStatus.NO_CHANGE
        assert sweeper.step() == IDLE

    def test_of_a_pinned_node_asks_for_a_review(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.put(expiring("a", clock.now + 1), expiring("b", None))
        memory.link("a REQUIRES b")
        pin_node(memory.scope, 1, ref("a"), pinned=True)
        clock.advance()
        assert sweeper.step() == Swept(expired=1)
        assert memory.sick() == {"b": "INVALID"}
        assert ("PINNED_NODE_REVIEW", "a") in memory.told(memory.scope.clock(1))

    def test_of_many_is_done_in_batches(
        self,
        memory: Memory,
        clock: ManualClock,
        sweeper: Sweeper,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(sweep, "BATCH", 3)
        memory.put(*(expiring(f"n{i}", clock.now + 1 + i // 5) for i in range(10)))
        clock.advance()
        assert sweeper.step() == Swept(expired=10)
        assert len({run.executed_at for run in memory.runs()}) == 4
        assert sweeper.step() == IDLE

    def test_of_one_whose_run_is_too_large_stops_no_other(
        self,
        memory: Memory,
        clock: ManualClock,
        sweeper: Sweeper,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        memory.put(expiring("a", clock.now + 1), expiring("b", clock.now + 1))
        record, first = record_run, memory.node("a").id

        def refuse(write: Write, order: RunOrder, *more: Any) -> RunRecord:
            if order.root_id == first:
                raise RunTooLarge(1)
            return record(write, order, *more)

        monkeypatch.setattr(sweep, "record_run", refuse)
        clock.advance()
        assert sweeper.step() == Swept(expired=1)
        assert memory.sick() == {"b": "INVALID"}


class TestSchedule:
    def test_waits_for_its_hour(self, memory: Memory, clock: ManualClock, sweeper: Sweeper) -> None:
        memory.plant("a", "b")
        memory.link("a REQUIRES b")
        asked = ordered(memory, clock.now + HOUR, effect=Validity.DEFINITELY_STALE)
        assert sweeper.step() == IDLE
        assert memory.sick() == {}
        clock.advance(HOUR + 7)
        assert sweeper.step() == Swept(executed=1)
        (run,) = memory.runs()
        assert (run.reason, run.effective_at) == ("later", asked.order.effective_at)
        assert memory.sick() == {"a": "DEFINITELY_STALE", "b": "DEFINITELY_STALE"}
        assert sweeper.step() == IDLE

    def test_is_read_as_of_an_instant(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.plant("a")
        before = memory.scope.clock(1)
        asked = ordered(memory, clock.now + HOUR)
        clock.advance(2 * HOUR)
        sweeper.step()
        assert scheduled(memory, before) == []
        assert scheduled(memory, asked.requested_at) == ["PENDING"]
        assert scheduled(memory) == ["EXECUTED"]
        (row,) = list_scheduled(memory.scope, 1, None, 10).rows
        assert row.settlement.run_id == memory.runs()[0].id
        pending = frozenset({ScheduleStatus.PENDING})
        assert list_scheduled(memory.scope, 1, pending, 10).rows == []
        assert len(list_scheduled(memory.scope, 1, pending, 10, None, row.requested_at).rows) == 1

    def test_can_be_cancelled_until_then(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.plant("a")
        asked = ordered(memory, clock.now + HOUR)
        done = cancel_scheduled(memory.scope, 1, asked.id)
        assert done.settlement.status is ScheduleStatus.CANCELLED
        clock.advance(2 * HOUR)
        assert sweeper.step() == IDLE
        with pytest.raises(ScheduleSettled, match="CANCELLED"):
            cancel_scheduled(memory.scope, 1, asked.id)
        with pytest.raises(NotFound):
            cancel_scheduled(memory.scope, 1, asked.id + 1)
        assert memory.sick() == {}

    def test_is_refused_at_its_hour_by_the_checks_of_its_request(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.plant("a", "b")
        version = memory.node("a").version_id
        ordered(memory, clock.now + HOUR, expected_version=version)
        ordered(memory, clock.now + HOUR, "b", expected_plan="another")
        ordered(memory, clock.now + HOUR, "b")
        memory.put(NodeInput("a", payload=1))
        clock.advance(2 * HOUR)
        assert sweeper.step() == Swept(executed=1, failed=2)
        rows = list_scheduled(memory.scope, 1, None, 10).rows
        assert [each.settlement.failure_code for each in rows] == [
            "VERSION_CONFLICT",
            "PLAN_CHANGED",
            None,
        ]
        assert memory.sick() == {"b": "INVALID"}

    def test_needs_its_root_when_it_is_asked_for(self, memory: Memory, clock: ManualClock) -> None:
        with pytest.raises(NotFound):
            ordered(memory, clock.now + HOUR)
        assert scheduled(memory) == []

    def test_is_one_request_by_its_idempotency_key(
        self, memory: Memory, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        memory.plant("a", "b")
        at = clock.now + HOUR
        asked = ordered(memory, at, idempotency_key="k")
        assert ordered(memory, at, idempotency_key="k").id == asked.id
        for other in (at + 1, None):
            with pytest.raises(IdempotencyKeyReused):
                ordered(memory, at, effective_at=other, idempotency_key="k")
        with pytest.raises(IdempotencyKeyReused):
            memory.fell("b", idempotency_key="k")
        new = Supersession(ref("b"), NodeInput("c", kind=NEW), "newer", idempotency_key="k")
        with pytest.raises(IdempotencyKeyReused):
            supersede(memory.scope, 1, new)
        clock.advance(2 * HOUR)
        assert ordered(memory, at, idempotency_key="k").id == asked.id  # nobody has swept yet
        sweeper.step()
        again = Invalidation(ref("a"), "later", effective_at=at, idempotency_key="k")
        answer = request_invalidation(memory.scope, 1, again)
        assert isinstance(answer, RunRecord)
        assert [answer] == memory.runs()

    def test_of_now_or_the_past_runs_at_once(self, memory: Memory, clock: ManualClock) -> None:
        memory.plant("a", "b")
        for key, at in (("a", clock.now), ("b", None)):
            request = Invalidation(ref(key), "now", effective_at=at)
            assert isinstance(request_invalidation(memory.scope, 1, request), RunRecord)
        assert scheduled(memory) == []


class TestLeader:
    def test_sweeps_alone_until_its_lease_ends(
        self, memory: Memory, database: str, clock: ManualClock
    ) -> None:
        other_store = open_store(database, clock=clock)
        first, second = Sweeper(memory.store), Sweeper(other_store)
        assert (first.step(), second.step()) == (IDLE, None)
        clock.advance(LEASE_SECONDS * 1_000_000 - 1)
        assert second.step() is None
        assert first.step() == IDLE
        clock.advance(LEASE_SECONDS * 1_000_000)
        assert (second.step(), first.step()) == (IDLE, None)
        other_store.close()

    def test_sweeps_every_fleet_of_every_tenant(
        self, memory: Memory, store: Store, clock: ManualClock, sweeper: Sweeper
    ) -> None:
        places = [(1, 1), (1, 2), (7, 3)]
        for tenant, fleet in places:
            store.write_all(tenant, [fleet], lambda _: None)
            scope = replace(memory.scope, tenant_id=tenant)
            Memory(scope, fleet).put(expiring("a", clock.now + 1))
        clock.advance()
        assert sweeper.step() == Swept(expired=3)
        for tenant, fleet in places:
            scope = replace(memory.scope, tenant_id=tenant)
            assert Memory(scope, fleet).sick() == {"a": "INVALID"}

    def test_goes_on_after_a_fleet_that_fails(
        self,
        memory: Memory,
        clock: ManualClock,
        sweeper: Sweeper,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        memory.store.write_all(1, [2], lambda _: None)
        other = Memory(memory.scope, 2)
        other.put(expiring("a", clock.now + 1))
        whole = sweep.sweep_fleet

        def fail(scope: Scope, fleet_id: int) -> Swept:
            if fleet_id == 1:
                raise StorageError("gone")
            return whole(scope, fleet_id)

        monkeypatch.setattr(sweep, "sweep_fleet", fail)
        clock.advance()
        assert sweeper.step() == Swept(expired=1)

    def test_leaves_the_lead_when_it_resigns(self, memory: Memory) -> None:
        first, second = Sweeper(memory.store), Sweeper(memory.store)
        assert (first.step(), second.step()) == (IDLE, None)
        second.resign()
        assert second.step() is None
        first.resign()
        assert (second.step(), first.step()) == (IDLE, None)

"""Claims, leases and completions: who may judge, and what a judgement makes of its node."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from retrograph.resolvers.claim_revalidations import (
    claim_revalidations,
    extend_lease,
    requeue_revalidation,
)
from retrograph.resolvers.complete_revalidation import Completion, Outcome, complete_revalidation
from retrograph.resolvers.inputs import NodeInput, OnChange
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.tasks import load_tasks, load_tasks_then
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.errors import (
    InvalidInput,
    LeaseLost,
    NotDeadLettered,
    NotFound,
    Overtaken,
    RequirementDead,
    RetrographError,
    TaskCancelled,
    TaskClosed,
)
from retrograph.rules.validity import Validity
from retrograph.storage.records import EventType
from retrograph.storage.task_records import DecisionKind, TaskStatus
from tests.clock import ManualClock
from tests.dump import dump
from tests.memory import NEW, Memory, ref
from tests.work import MINUTE, Work

DS, PS = Validity.DEFINITELY_STALE, Validity.POTENTIALLY_STALE
SECOND = 1_000_000


@pytest.fixture
def work(memory: Memory) -> Work:
    return Work(memory)


@pytest.fixture
def line(memory: Memory, work: Work) -> Work:
    """Node c rests on b, b on a; all are definitely stale since a fell."""
    memory.plant("a", "b", "c")
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM c")
    memory.fell("a", DS)
    return work


def refused(work: Work, error: type[RetrographError], act: Callable[[], object]) -> RetrographError:
    """Acts, is refused, and has changed nothing at all."""
    before = dump(work.memory.store)
    with pytest.raises(error) as caught:
        act()
    assert dump(work.memory.store) == before
    return caught.value


def test_what_waits_is_claimed_when_what_it_rests_on_is_verified(line: Work) -> None:
    assert line.stand() == {"a": "READY", "b": "WAITING", "c": "WAITING"}
    assert line.blocked_by("c") == ["b"]
    found = []
    while claimed := line.claim():
        found += list(claimed)
        for task in claimed.values():
            line.complete(task, Outcome.VERIFIED)
    assert found == ["a", "b", "c"]
    assert line.memory.states() == dict.fromkeys("abc", "REVALIDATED")


def test_those_come_first_on_which_most_wait(memory: Memory, work: Work) -> None:
    memory.plant("root", *"abcd")
    memory.link(
        "root DERIVED_FROM a", "root DERIVED_FROM b", "b DERIVED_FROM c", "c DERIVED_FROM d"
    )
    memory.fell("root")
    assert {key: task.priority for key, task in work.open().items()} == {
        "a": 0, "b": 2, "c": 1, "d": 0
    }  # fmt: skip
    assert list(work.claim(limit=1)) == ["b"]
    assert list(work.claim()) == ["a"]
    assert work.claim() == {}


def test_a_lease_ends_by_the_clock_and_then_another_may_claim(
    line: Work, clock: ManualClock
) -> None:
    mine = line.claim(seconds=60, worker="one")["a"]
    assert (mine.status, mine.leased_by, mine.due_at) == (
        TaskStatus.LEASED, "one", (mine.claimed_at or 0) + MINUTE
    )  # fmt: skip
    assert line.claim(worker="two") == {}
    clock.now = mine.due_at or 0
    theirs = line.claim(worker="two")["a"]
    assert theirs.lease_token != mine.lease_token
    refused(line, LeaseLost, lambda: line.complete(mine, Outcome.VERIFIED))
    line.complete(theirs, Outcome.VERIFIED)
    again = refused(line, TaskClosed, lambda: line.complete(theirs, Outcome.VERIFIED))
    assert "VERIFIED" in again.message


def test_a_late_answer_counts_for_nothing_though_nobody_else_has_the_task(
    line: Work, clock: ManualClock
) -> None:
    mine = line.claim()["a"]
    clock.advance(61 * SECOND)
    for outcome in Outcome:
        refused(line, LeaseLost, lambda: line.complete(mine, outcome))  # noqa: B023


def test_an_extended_lease_lasts_from_then_on(line: Work, clock: ManualClock) -> None:
    mine = line.claim(seconds=60)["a"]
    token = mine.lease_token or ""
    clock.advance(50 * SECOND)
    extended = extend_lease(line.memory.scope, 1, mine.id, token, 60)
    assert extended.due_at == line.memory.scope.clock(1) + MINUTE
    assert (extended.lease_token, extended.claimed_at) == (token, mine.claimed_at)
    clock.advance(59 * SECOND)
    assert line.claim() == {}
    clock.advance(2 * SECOND)
    refused(line, LeaseLost, lambda: extend_lease(line.memory.scope, 1, mine.id, token, 60))


def test_only_the_holder_completes_or_extends(line: Work) -> None:
    mine, scope = line.claim()["a"], line.memory.scope
    waiting = line.open()["b"]
    refused(line, LeaseLost, lambda: line.complete(mine, Outcome.VERIFIED, token="guessed"))
    refused(line, LeaseLost, lambda: line.complete(waiting, Outcome.VERIFIED, token=""))
    refused(line, LeaseLost, lambda: extend_lease(scope, 1, mine.id, "é", 60))
    refused(line, NotFound, lambda: extend_lease(scope, 1, 10**9, "", 60))
    unknown = Completion(10**9, "", Outcome.VERIFIED)
    refused(line, NotFound, lambda: complete_revalidation(scope, 1, unknown))


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_claim_is_of_1_to_100_tasks(line: Work, limit: int) -> None:
    refused(line, InvalidInput, lambda: line.claim(limit=limit))


@pytest.mark.parametrize("seconds", [0, -1, 3_601])
def test_a_lease_is_of_1_to_3600_seconds(line: Work, seconds: int) -> None:
    refused(line, InvalidInput, lambda: line.claim(seconds=seconds))
    mine, scope = line.hold("a"), line.memory.scope
    token = mine.lease_token or ""
    refused(line, InvalidInput, lambda: extend_lease(scope, 1, mine.id, token, seconds))


def test_what_a_judgement_says_is_checked(line: Work) -> None:
    mine = line.hold("a")
    for wrong in (
        {"confidence": 1.5},
        {"confidence": float("nan")},
        {"evidence": ["x"] * 1_001},
        {"evidence": ["\ud800"]},
        {"note": "\x00\ud800"},
        {"by": "\ud800"},
    ):
        refused(line, InvalidInput, lambda: line.complete(mine, Outcome.VERIFIED, **wrong))  # noqa: B023
    scope = line.memory.scope
    refused(line, InvalidInput, lambda: claim_revalidations(scope, 1, "\ud800"))


def test_a_decision_tells_who_when_what_and_on_which_evidence(line: Work) -> None:
    at = line.memory.scope.clock(1)
    done = line.judge("a", unchanged=True, evidence=["urn:x"], note="looked", by="ann")
    [told] = line.decisions("a")
    assert (told.kind, told.unchanged, told.evidence, told.note) == (
        DecisionKind.VERIFIED, True, ("urn:x",), "looked"
    )  # fmt: skip
    assert (told.decided_by, told.worker, told.at) == ("ann", "w", done.instant)
    assert (told.task_id, told.confidence) == (done.task.id, 1.0)
    assert line.decisions("a", at=at) == []


def test_a_verified_node_names_no_run(line: Work) -> None:
    done = line.judge("a")
    assert (done.node.validity, done.node.run_id) == (Validity.REVALIDATED, None)
    assert ("NODE_REVALIDATED", "a") in line.memory.told(done.instant)
    assert line.memory.work_told(done.instant) == [("REVALIDATION_READY", "b")]


def test_confidence_is_the_share_of_standing_supporters(memory: Memory, work: Work) -> None:
    memory.put(*(NodeInput(key, kind=NEW, confidence=0.8) for key in "abcdx"))
    memory.link(*(f"{key} SUPPORTED_BY x" for key in "abcd"))
    memory.fell("a")
    assert work.judge("x").node.confidence == pytest.approx(0.6)
    memory.fell("b")
    assert work.judge("x", confidence=0.5).node.confidence == pytest.approx(0.25)
    memory.put(NodeInput("alone", kind=NEW, confidence=0.7))
    memory.fell("alone", PS)
    assert work.judge("alone").node.confidence == 0.7


@pytest.mark.parametrize("kind", ["REQUIRES", "VALID_ONLY_WHEN"])
def test_a_node_is_not_verified_while_what_it_requires_is_dead(
    memory: Memory, work: Work, kind: str
) -> None:
    memory.plant("root", "a", "b")
    memory.link("root REQUIRES a", f"a {kind} b")
    memory.fell("root")
    work.repair("root")
    work.judge("a", Outcome.REFUTED)
    mine = work.hold("b")
    refused(work, RequirementDead, lambda: work.complete(mine, Outcome.VERIFIED))
    work.complete(mine, Outcome.REFUTED)
    assert work.stand() == {}


def test_a_refutation_fells_what_rests_on_the_node_in_the_same_instant(line: Work) -> None:
    done = line.judge("a", Outcome.REFUTED, note="it was wrong")
    assert line.memory.sick() == {
        "a": "INVALID", "b": "DEFINITELY_STALE", "c": "DEFINITELY_STALE"
    }  # fmt: skip
    assert done.run is not None
    assert (done.run.executed_at, done.run.reason) == (done.instant, "it was wrong")
    assert done.task.status is TaskStatus.REFUTED
    assert ("NODE_REFUTED", "a") in line.memory.told(done.instant)
    [told] = line.decisions("a")
    assert (told.kind, told.run_id) == (DecisionKind.REFUTED, done.run.id)
    assert line.stand() == {"b": "READY", "c": "WAITING"}


def test_an_error_is_tried_again_later_and_later_and_then_given_up(
    line: Work, clock: ManualClock
) -> None:
    waits = []
    for attempt in range(5):
        mine = line.claim()["a"]
        assert mine.attempt == attempt
        done = line.complete(mine, Outcome.ERROR, note="no answer")
        assert (done.task.attempt, done.task.lease_token) == (attempt + 1, None)
        assert line.claim() == {}
        if done.task.due_at is not None:
            waits.append(done.task.due_at - done.instant)
            clock.now = done.task.due_at - 2
            assert line.claim() == {}
            clock.now = done.task.due_at
    assert all(SECOND << n <= wait <= (2 * SECOND) << n for n, wait in enumerate(waits))
    assert all(short < long for short, long in pairwise(waits))
    assert (
        [event.type for event in line.memory.events()].count(EventType.REVALIDATION_RETRY_SCHEDULED)
        == len(waits)
        == 4
    )
    assert line.stand() == {"a": "DEAD_LETTER", "b": "WAITING", "c": "WAITING"}
    assert line.blocked_by("b") == ["a"]
    assert [each.kind for each in line.decisions("a")] == [DecisionKind.ERROR] * 5


def dead_letter(work: Work, clock: ManualClock, key: str) -> int:
    """Lets the judgement of a node fail until it is given up; returns its task."""
    for _ in range(4):
        done = work.complete(work.claim()[key], Outcome.ERROR)
        clock.now = max(clock.now, done.task.due_at or 0)
    return work.complete(work.claim()[key], Outcome.ERROR).task.id


def test_a_dead_letter_is_requeued_with_all_its_attempts(line: Work, clock: ManualClock) -> None:
    task_id, scope = dead_letter(line, clock, "a"), line.memory.scope
    other = line.open()["b"].id
    refused(line, NotDeadLettered, lambda: requeue_revalidation(scope, 1, other))
    refused(line, NotFound, lambda: requeue_revalidation(scope, 1, 10**9))
    again = requeue_revalidation(scope, 1, task_id)
    assert (again.status, again.attempt) == (TaskStatus.READY, 0)
    assert line.memory.work_told(scope.clock(1)) == [("REVALIDATION_READY", "a")]
    line.judge("a")
    assert line.stand() == {"b": "READY", "c": "WAITING"}


def test_a_dead_letter_is_freed_by_a_repair(line: Work, clock: ManualClock) -> None:
    dead_letter(line, clock, "a")
    line.repair("a")
    assert line.stand() == {"b": "READY", "c": "WAITING"}


def test_a_judgement_is_overtaken_by_a_change_of_what_the_node_rests_on(
    line: Work, clock: ManualClock
) -> None:
    memory = line.memory
    memory.plant("s")
    memory.link("s OBSERVED_FROM b")
    line.judge("a")

    def other_content() -> None:
        memory.put(NodeInput("s", payload=clock.now), on_change=OnChange.KEEP)

    def new_edge() -> None:
        memory.plant("t")
        memory.link("t OBSERVED_FROM b")

    def pinned_source() -> None:
        pin_node(memory.scope, 1, ref("s"), pinned=True)

    def removed_edge() -> None:
        edges = memory.link("s OBSERVED_FROM b").edges
        unlink_nodes(memory.scope, 1, [edges[0].id])

    for change in (other_content, new_edge, pinned_source, removed_edge):
        mine = line.hold("b")
        change()
        with pytest.raises(Overtaken):
            line.complete(mine, Outcome.VERIFIED)
        with pytest.raises(LeaseLost):
            line.complete(mine, Outcome.VERIFIED)
        assert line.stand() == {"b": "READY", "c": "WAITING"}
        assert line.open()["b"].id == mine.id
    line.judge("b")


def test_a_pin_ends_the_task_and_letting_go_opens_another(line: Work) -> None:
    mine = line.hold("a")
    pin_node(line.memory.scope, 1, ref("a"), pinned=True)
    refused(line, TaskCancelled, lambda: line.complete(mine, Outcome.VERIFIED))
    assert line.stand() == {"b": "READY", "c": "WAITING"}
    pin_node(line.memory.scope, 1, ref("a"), pinned=False)
    assert line.stand() == {"a": "READY", "b": "WAITING", "c": "WAITING"}
    assert line.open()["a"].id != mine.id


def test_what_closes_a_circle_with_open_tasks_is_ready_together_with_them(
    memory: Memory, work: Work
) -> None:
    memory.plant("root", "x", "y")
    memory.plant("late", pinned=True)
    memory.link("root DERIVED_FROM x", "x DERIVED_FROM y", "y DERIVED_FROM x")
    memory.link("x DERIVED_FROM late", "y DERIVED_FROM late", "late DERIVED_FROM x")
    memory.fell("root")
    assert work.stand() == {"x": "READY", "y": "READY"}
    pin_node(memory.scope, 1, ref("late"), pinned=False)
    assert work.stand() == {"x": "READY", "y": "READY", "late": "READY"}


def test_a_repair_opens_tasks_of_all_that_is_unhealthy_and_rests_on_the_node(
    memory: Memory, work: Work
) -> None:
    memory.plant("root", *"abcd", "old", "well")
    memory.plant("pinned", pinned=True)
    memory.link(
        "root REQUIRES a", "a REQUIRES b", "root REQUIRES pinned", "pinned REQUIRES c",
        "root REQUIRES old", "old REQUIRES d",
    )  # fmt: skip
    memory.fell("root")
    memory.fell("old", Validity.SUPERSEDED)
    assert work.stand() == {}
    done = work.repair("root")
    assert done.node.validity is Validity.REVALIDATED
    assert work.stand() == {
        "a": "READY", "b": "WAITING", "pinned": "READY", "c": "WAITING"
    }  # fmt: skip
    assert [each.node_id for each in done.tasks] == sorted(
        memory.node(key).id for key in ("a", "b", "pinned", "c")
    )
    assert [each.kind for each in work.decisions("root")] == [DecisionKind.REPAIRED]
    work.judge("pinned")
    pinned = memory.node("pinned")
    assert (pinned.validity, pinned.projected) == (
        Validity.CURRENTLY_VALID, Validity.REVALIDATED
    )  # fmt: skip
    work.judge("c")
    assert memory.states()["c"] == "REVALIDATED"


def test_a_repair_ends_the_task_of_its_node(line: Work) -> None:
    mine = line.hold("a")
    line.repair("a")
    refused(line, TaskClosed, lambda: line.complete(mine, Outcome.VERIFIED))


def test_the_past_of_a_task_stays_as_it_was(line: Work, clock: ManualClock) -> None:
    began = line.memory.scope.clock(1)
    clock.advance()
    mine = line.hold("a")
    held = line.memory.scope.clock(1)
    clock.advance()
    line.complete(mine, Outcome.VERIFIED)
    clock.advance(2 * MINUTE)
    line.judge("b")
    assert line.stand(began) == {"a": "READY", "b": "WAITING", "c": "WAITING"}
    assert line.stand(held) == {"a": "LEASED", "b": "WAITING", "c": "WAITING"}
    assert line.stand() == {"c": "READY"}
    scope = line.memory.scope
    instants = (began - 1, began, held, held + MINUTE, scope.clock(1))
    then = {(mine.id, at): load_tasks(scope, 1, at, [mine.id]).get(mine.id) for at in instants}
    assert load_tasks_then(scope, 1, then) == {at: each for at, each in then.items() if each}
    assert len({each.status for each in then.values() if each}) == 3

"""The scenarios that the design reports name, each as a whole story."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from retrograph.resolvers.complete_revalidation import Outcome
from retrograph.resolvers.inputs import NodeInput, Supersession
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.supersede import supersede
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import TaskCancelled
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeKind, RunStatus
from retrograph.storage.task_records import TaskStatus
from tests.clock import ManualClock
from tests.memory import NEW, Memory, ref
from tests.planting import plant_edges
from tests.work import Work

DS, PS = Validity.DEFINITELY_STALE, Validity.POTENTIALLY_STALE


@pytest.fixture
def work(memory: Memory) -> Work:
    return Work(memory)


def test_cycles_halt(memory: Memory, work: Work) -> None:
    memory.plant(*"abcd")
    memory.link("a REQUIRES b", "b REQUIRES c", "c REQUIRES a", "c DERIVED_FROM d")
    assert memory.fell("a", DS).impact_count == 4
    assert work.stand() == {"a": "READY", "b": "READY", "c": "READY", "d": "WAITING"}
    for key in "cab":
        work.judge(key)
    assert work.stand() == {"d": "READY"}
    work.judge("d")
    assert work.stand() == {}
    assert set(memory.states().values()) == {"REVALIDATED"}


def test_fleet_boundary(memory: Memory, work: Work) -> None:
    memory.store.write_all(1, [2], lambda _: None)
    other = Memory(memory.scope, 2)
    [inner, bridge] = memory.plant("a", "b")
    [outer] = other.plant("a")
    memory.link("a DERIVED_FROM b")
    plant_edges(
        memory.store, [(bridge, outer, EdgeType.REQUIRES), (outer, inner, EdgeType.REQUIRES)]
    )
    memory.fell("a", DS)
    other.fell("a", DS)
    assert list(Work(other).claim()) == ["a"]
    assert list(work.claim()) == ["a"]
    assert {each.fleet_id for each in Work(other).tasks()} == {2}
    assert {each.fleet_id for each in work.tasks()} == {1}


def test_alternative_evidence_lessens(memory: Memory, work: Work) -> None:
    memory.plant("a", "b", "belief")
    memory.link("a SUPPORTED_BY belief", "b SUPPORTED_BY belief")
    memory.fell("a")
    assert memory.states()["belief"] == "POTENTIALLY_STALE"
    done = work.judge("belief")
    assert (done.node.validity, done.node.confidence) == (Validity.REVALIDATED, 0.5)
    memory.fell("b")
    assert memory.states()["belief"] == "DEFINITELY_STALE"
    assert work.judge("belief").node.confidence == 0.0


def test_concurrent_superseding_runs(memory: Memory, work: Work) -> None:
    roots = [f"r{n}" for n in range(4)]
    memory.plant(*roots, "x", "y")
    memory.link(*(f"{root} OBSERVED_FROM x" for root in roots[:2]))
    memory.link(*(f"{root} DERIVED_FROM x" for root in roots[2:]), "x DERIVED_FROM y")
    start = Barrier(len(roots))

    def fell(root: str) -> None:
        start.wait()
        memory.fell(root)

    threads = [Thread(target=fell, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = [run for run in memory.runs() if run.status is RunStatus.APPLIED]
    sweeps = sum(any(i["node"] == "x" for i in memory.impacts(run)) for run in runs)
    assert work.stand() == {"x": "READY", "y": "WAITING"}
    node = memory.node("x").id
    tasks = [each for each in work.tasks() if each.node_id == node]
    assert [each.status for each in tasks[:-1]] == [TaskStatus.CANCELLED_SUPERSEDED] * (sweeps - 1)
    assert memory.node("x").run_id == tasks[-1].run_id


def test_single_level(memory: Memory, work: Work) -> None:
    memory.plant("root", "a", "b", "far", "aside")
    memory.link("root DERIVED_FROM a", "root OBSERVED_FROM b", "aside DERIVED_FROM far")
    memory.fell("root")
    assert work.stand() == {"a": "READY", "b": "READY"}
    assert memory.sick() == {
        "root": "INVALID", "a": "DEFINITELY_STALE", "b": "POTENTIALLY_STALE"
    }  # fmt: skip


def test_multiple_parents(memory: Memory, work: Work) -> None:
    memory.plant("root", "a", "b", "child")
    memory.link("root DERIVED_FROM a", "root DERIVED_FROM b")
    memory.link("a DERIVED_FROM child", "b DERIVED_FROM child", "b REQUIRES child")
    memory.fell("root")
    assert work.blocked_by("child") == ["a", "b"]
    work.judge("b")
    assert work.stand() == {"a": "READY", "child": "WAITING"}
    work.judge("a")
    assert work.stand() == {"child": "READY"}


def test_duplicate_requests(memory: Memory, work: Work) -> None:
    memory.plant("root", "a")
    memory.link("root DERIVED_FROM a")
    run = memory.fell("root", idempotency_key="once")
    before, told = work.tasks(), len(memory.events())
    assert memory.fell("root", idempotency_key="once").id == run.id
    assert memory.fell("root").status is RunStatus.NO_CHANGE
    assert [(each.id, each.status) for each in work.tasks()] == [
        (each.id, each.status) for each in before
    ]
    assert len(memory.events()) == told


def test_pins(memory: Memory, work: Work) -> None:
    memory.plant("root", "child")
    memory.plant("held", pinned=True)
    memory.link("root DERIVED_FROM held", "held DERIVED_FROM child")
    run = memory.fell("root")
    assert ("PINNED_NODE_REVIEW", "held") in memory.told(run.executed_at)
    assert work.stand() == {"child": "READY"}
    pin_node(memory.scope, 1, ref("held"), pinned=False)
    assert work.stand() == {"held": "READY", "child": "WAITING"}
    work.judge("held")
    work.judge("child")
    assert memory.sick() == {
        "root": "INVALID", "held": "REVALIDATED", "child": "REVALIDATED"
    }  # fmt: skip


def test_history_after_a_rules_replacement(memory: Memory, work: Work) -> None:
    memory.put(NodeInput("rule", kind=NodeKind.RULE, contract_hash="1"), NodeInput("a", kind=NEW))
    memory.put(NodeInput("b", kind=NEW))
    memory.link("rule DERIVED_FROM a", "a DERIVED_FROM b")
    before = memory.scope.clock(1)
    new = NodeInput("rule2", kind=NodeKind.RULE, contract_hash="2")
    supersede(memory.scope, 1, Supersession(ref("rule"), new, "stricter"))
    fallen = memory.scope.clock(1)
    work.judge("a", note="holds under the new rule")
    work.judge("b", Outcome.REFUTED)
    assert memory.sick(before) == {}
    assert work.tasks(at=before) == []
    assert memory.sick(fallen) == {
        "rule": "SUPERSEDED", "a": "DEFINITELY_STALE", "b": "DEFINITELY_STALE"
    }  # fmt: skip
    assert work.stand(fallen) == {"a": "READY", "b": "WAITING"}
    assert work.decisions("a", at=fallen) == []
    assert work.decisions("a")[0].note == "holds under the new rule"
    assert memory.sick()["b"] == "INVALID"


def test_retry_with_backoff(memory: Memory, work: Work, clock: ManualClock) -> None:
    memory.plant("root", "a")
    memory.link("root DERIVED_FROM a")
    memory.fell("root")
    done = work.complete(work.claim()["a"], Outcome.ERROR)
    assert done.task.status is TaskStatus.BACKING_OFF
    assert work.claim() == {}
    assert done.task.due_at is not None
    clock.now = done.task.due_at
    again = work.claim()["a"]
    assert (again.id, again.attempt) == (done.task.id, 1)
    work.complete(again, Outcome.VERIFIED)
    assert work.stand() == {}


def test_supersession_cancels_a_running_revalidation(memory: Memory, work: Work) -> None:
    memory.plant("a", "b", "x")
    memory.link("a OBSERVED_FROM x", "b DERIVED_FROM x")
    memory.fell("a")
    running = work.claim()["x"]
    run = memory.fell("b", Validity.SUPERSEDED)
    with pytest.raises(TaskCancelled):
        work.complete(running, Outcome.VERIFIED)
    assert memory.work_told(run.executed_at) == [
        ("REVALIDATION_CANCELLED", "x"), ("REVALIDATION_READY", "x")
    ]  # fmt: skip
    assert memory.states()["x"] == "DEFINITELY_STALE"
    fresh = work.claim()["x"]
    assert (fresh.run_id, fresh.id == running.id) == (run.id, False)


def test_disaster_rewind(memory: Memory, work: Work) -> None:
    memory.plant("root", "a", "b")
    memory.link("root DERIVED_FROM a", "a DERIVED_FROM b")
    before = memory.scope.clock(1)
    memory.fell("root")
    running = work.claim()["a"]
    fallen = memory.scope.clock(1)
    confirm = confirmation(1, before)
    rewind_fleet(memory.scope, 1, Rewind(before, dry_run=False, confirm=confirm))
    assert memory.sick() == {}
    assert work.stand() == {}
    with pytest.raises(TaskCancelled):
        work.complete(running, Outcome.VERIFIED)
    assert memory.sick(fallen)["root"] == "INVALID"
    assert work.stand(fallen) == {"a": "LEASED", "b": "WAITING"}

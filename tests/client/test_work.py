"""Judging again, from end to end, by both clients; each test in a fleet of its own."""

from __future__ import annotations

import pytest

from retrograph.client import (
    InvalidInput,
    LeaseLost,
    NotDeadLettered,
    NotFound,
    Task,
    TaskCancelled,
    TaskClosed,
    VersionConflict,
    jobs,
    work,
)
from retrograph.client.values import EdgeType, NodeInput
from tests.client.speaking import Speaker
from tests.clock import ManualClock
from tests.memory import Memory

HOUR = 3_600_000_000
EVIDENCE = """mutation ($fleet: ID!) {
  addEvidence(input: {fleetId: $fleet, node: {key: "near"}, uri: "urn:log", note: "seen"}) {
    __typename
  }
}"""
DECISION = """query ($fleet: ID!) {
  decisions(fleetId: $fleet, node: {key: "near"}, first: 1) {
    nodes { by note evidence confidence }
  }
}"""


@pytest.fixture
def fleet(speaker: Speaker, memory: Memory) -> int:
    """Its `root` fell, on which `near` rests, on which `far` rests; `near` has a supporter."""
    number = 1 + max(memory.store.fleet_ids(1))
    memory.store.write_all(1, [number], lambda _: None)
    keys = ("root", "near", "far", "support")
    inputs: list[NodeInput] = [{"key": each, "kind": "ASSERTION"} for each in keys]
    speaker.run(jobs.put_nodes(number, inputs))
    edges: list[tuple[str, EdgeType, str]] = [
        ("root", "DERIVED_FROM", "near"),
        ("near", "DERIVED_FROM", "far"),
        ("support", "SUPPORTED_BY", "near"),
    ]
    speaker.run(jobs.link_nodes(number, edges))
    speaker.execute(EVIDENCE, fleet=number)
    speaker.run(jobs.invalidate(number, "root", "Wrong"))
    return number


@pytest.fixture
def task(speaker: Speaker, fleet: int) -> Task:
    """The only task that is ready, claimed."""
    (found,) = speaker.run(work.claim(fleet, "judge", lease_seconds=30))
    return found


def test_a_claim_tells_what_a_judge_needs(speaker: Speaker, fleet: int, task: Task) -> None:
    assert (task.node.key, task.node.validity) == ("near", "DEFINITELY_STALE")
    assert (task.status, task.attempt) == ("LEASED", 0)
    assert task.priority == 1
    assert task.run is not None
    assert task.run.reason == "Wrong"
    assert [each.key for each in task.standing_supporters] == ["support"]
    assert [(each.uri, each.note) for each in task.evidence] == [("urn:log", "seen")]
    assert speaker.run(work.claim(fleet, "other")) == ()
    longer = speaker.run(work.extend(fleet, task, lease_seconds=90))
    assert task.lease_expires_at is not None
    assert longer.lease_expires_at is not None
    assert (longer.lease_expires_at - task.lease_expires_at).seconds == 60
    assert (longer.id, longer.lease_token) == (task.id, task.lease_token)


def test_a_judgement_is_recorded_and_heals_what_waited_for_it(
    speaker: Speaker, fleet: int, task: Task
) -> None:
    judged = speaker.run(
        work.complete(
            *(fleet, task, "VERIFIED"),
            unchanged=True,
            confidence=0.5,
            evidence=["urn:seen"],
            note="Looked.",
            by="me",
        )
    )
    assert (judged.node.validity, judged.status, judged.run) == ("REVALIDATED", "VERIFIED", None)
    assert judged.restored_count == 1
    far = speaker.run(jobs.node(fleet, "far"))
    assert far is not None
    assert far.validity == "CURRENTLY_VALID"
    told = speaker.execute(DECISION, fleet=fleet)
    (decision,) = told["decisions"]["nodes"]
    assert decision["confidence"] == judged.node.confidence
    assert (decision["by"], decision["note"], decision["evidence"]) == (
        "me", "Looked.", ["urn:seen"]
    )  # fmt: skip
    with pytest.raises(TaskClosed):
        speaker.run(work.complete(fleet, task, "VERIFIED"))


def test_a_refutation_runs_on(speaker: Speaker, fleet: int, task: Task) -> None:
    judged = speaker.run(work.complete(fleet, task, "REFUTED", note="Gone."))
    assert (judged.node.validity, judged.status) == ("INVALID", "REFUTED")
    assert judged.run is not None
    assert judged.run.reason == "Gone."
    (after,) = speaker.run(work.claim(fleet, "judge"))
    assert after.node.key == "far"
    speaker.run(work.complete(fleet, after, "VERIFIED"))


def test_what_can_not_be_is_typed(speaker: Speaker, fleet: int, task: Task) -> None:
    failed = speaker.run(work.complete(fleet, task, "ERROR"))
    assert (failed.status, failed.attempt) == ("BACKING_OFF", 1)
    with pytest.raises(LeaseLost):
        speaker.run(work.extend(fleet, task))
    with pytest.raises(NotDeadLettered):
        speaker.run(work.requeue(fleet, task.id))
    with pytest.raises(InvalidInput) as wrong:
        speaker.run(work.claim(fleet, "judge", limit=101))
    assert wrong.value.path == ("input", "limit")
    with pytest.raises(NotFound):
        speaker.run(work.claim(77, "judge"))
    with pytest.raises(VersionConflict):
        speaker.run(work.repair(fleet, "root", "Mended", expected_version="1:1"))
    repaired = speaker.run(work.repair(fleet, "near", "Mended", unchanged=True))
    assert (repaired.node.validity, repaired.restored_count) == ("REVALIDATED", 1)
    with pytest.raises(TaskClosed):
        speaker.run(work.complete(fleet, task, "VERIFIED"))


def test_a_repaired_root_has_what_rests_on_it_judged(
    speaker: Speaker, fleet: int, task: Task
) -> None:
    repaired = speaker.run(work.repair(fleet, "root", "Mended"))
    assert (repaired.node.validity, repaired.task_count) == ("REVALIDATED", 2)
    speaker.run(jobs.invalidate(fleet, "near", "Gone"))
    with pytest.raises(TaskCancelled):
        speaker.run(work.complete(fleet, task, "VERIFIED"))
    (far,) = speaker.run(work.claim(fleet, "judge"))
    speaker.run(work.complete(fleet, far, "VERIFIED"))


def test_a_dead_letter_is_put_back(
    speaker: Speaker, fleet: int, task: Task, memory: Memory
) -> None:
    clock = memory.store._clock
    assert isinstance(clock, ManualClock)
    while speaker.run(work.complete(fleet, task, "ERROR")).status == "BACKING_OFF":
        clock.advance(HOUR)
        (task,) = speaker.run(work.claim(fleet, "judge"))
    back = speaker.run(work.requeue(fleet, task.id))
    assert (back.status, back.lease_token) == ("READY", None)
    with pytest.raises(ValueError, match="no lease"):
        work.complete(fleet, back, "VERIFIED")

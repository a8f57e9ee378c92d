"""The main jobs, from end to end, by both clients."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from retrograph.client import (
    Client,
    IdempotencyKeyReused,
    InvalidInput,
    NotFound,
    PlanChanged,
    RunNotRevertible,
    TooComplex,
    VersionConflict,
    jobs,
)
from retrograph.client.values import NodeInput, to_instant
from tests.client.speaking import Speaker
from tests.memory import Memory


@pytest.fixture
def pair(speaker: Speaker, kind: str) -> tuple[str, str]:
    """The keys of a node and of one that requires it."""
    source, target = f"source:{kind}", f"target:{kind}"
    inputs: list[NodeInput] = [
        {"key": source, "kind": "ASSERTION", "payload": {"is": kind}, "confidence": 0.5},
        {"key": target, "kind": "ASSERTION"},
    ]
    speaker.run(jobs.put_nodes(1, inputs))
    speaker.run(jobs.link_nodes(1, [(source, "REQUIRES", target)]))
    return source, target


def test_a_belief_is_made_felled_and_given_back(speaker: Speaker, pair: tuple[str, str]) -> None:
    source, target = pair
    before = speaker.run(jobs.node(1, source))
    assert before is not None
    assert (before.payload, before.confidence, before.kind) == (
        {"is": source.partition(":")[2]}, 0.5, "ASSERTION"
    )  # fmt: skip
    plan = speaker.run(jobs.preview(1, source))
    assert [(each.node.key, each.before, each.after, each.depth) for each in plan.impacts] == [
        (source, "CURRENTLY_VALID", "INVALID", 0),
        (target, "CURRENTLY_VALID", "INVALID", 1),
    ]
    felling = jobs.invalidate(1, source, "Wrong", expected_plan=plan.plan_hash)
    run = speaker.run(felling)
    assert (run.status, run.reason, run.impact_count, run.effect) == (
        "APPLIED", "Wrong", plan.impact_count, "INVALID"
    )  # fmt: skip
    assert speaker.run(felling) == run, "the same operation is run once"
    fallen = speaker.run(jobs.nodes(1, validity=["INVALID"], key_prefix="target:"))
    assert target in [each.key for each in fallen.rows]
    then = speaker.run(jobs.node(1, before.id, as_of=before.as_of))
    assert then == before
    undone = speaker.run(jobs.revert_run(1, run.id))
    assert set(undone.restored_ids) == {before.id, plan.impacts[1].node.id}
    with pytest.raises(RunNotRevertible):
        speaker.run(jobs.revert_run(1, run.id))


def test_pages_fit_together(speaker: Speaker, pair: tuple[str, str]) -> None:
    whole = speaker.run(jobs.nodes(1, kind="ASSERTION", pinned=False))
    first = speaker.run(jobs.nodes(1, kind="ASSERTION", pinned=False, first=1))
    rest = speaker.run(jobs.nodes(1, kind="ASSERTION", pinned=False, after=first.end_cursor))
    assert first.has_next
    assert not rest.has_next
    assert [each.id for each in first.rows + rest.rows] == [each.id for each in whole.rows]


def test_none_is_there_before_all_history(speaker: Speaker, pair: tuple[str, str]) -> None:
    assert speaker.run(jobs.node(1, pair[0], as_of=datetime(1990, 1, 1, tzinfo=UTC))) is None


def test_failures_are_typed(speaker: Speaker, pair: tuple[str, str]) -> None:
    source, _ = pair
    with pytest.raises(NotFound) as missing:
        speaker.run(jobs.node(77, source))
    assert (missing.value.code, missing.value.path) == ("NOT_FOUND", ("fleetId",))
    with pytest.raises(InvalidInput) as wrong:
        speaker.run(jobs.put_nodes(1, [{"key": source, "confidence": 7}]))
    assert wrong.value.path == ("input", "nodes", "0", "confidence")
    with pytest.raises(VersionConflict) as stale:
        speaker.run(jobs.invalidate(1, source, "No", expected_version="1:1"))
    assert stale.value.details["current"]["key"] == source
    with pytest.raises(PlanChanged) as changed:
        speaker.run(jobs.invalidate(1, source, "No", expected_plan="x"))
    plan = speaker.run(jobs.preview(1, source))
    assert changed.value.details["planHash"] == plan.plan_hash
    speaker.run(jobs.invalidate(1, source, "Once", idempotency_key=source))
    with pytest.raises(IdempotencyKeyReused):
        speaker.run(jobs.invalidate(1, source, "Twice", idempotency_key=source))
    with pytest.raises(TooComplex):
        speaker.execute("{" + "viewer{tenantId}" * 400 + "}")


def test_any_document_can_be_executed(speaker: Speaker, memory: Memory) -> None:
    memory.plant(key := f"any:{id(speaker)}")
    query = "query ($by: NodeRef!) { node(fleetId: 1, by: $by) { key } }"
    assert speaker.execute(query, by={"key": key}) == {"node": {"key": key}}
    with pytest.raises(NotFound) as partial:
        speaker.execute("{ a: __typename b: node(fleetId: 77, by: {id: 1}) { id } }")
    assert partial.value.data == {"a": "Query", "b": None}


def test_an_instant_is_written_in_utc_to_the_microsecond() -> None:
    moment = datetime(2026, 5, 1, 11, 30, 0, 123456, timezone(timedelta(hours=2)))
    assert to_instant(moment) == "2026-05-01T09:30:00.123456Z"
    assert to_instant("2026-05-01T09:30:00Z") == "2026-05-01T09:30:00Z"
    with pytest.raises(ValueError, match="no time zone"):
        to_instant(datetime(2026, 5, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "url",
    [
        *("", "memory.example", "ws://memory.example", "https://", "http://["),
        *("http://h:99999/", "http://h:abc/", "http://h/é", "http://h/a b"),
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="give one like https://memory"):
        Client(url)

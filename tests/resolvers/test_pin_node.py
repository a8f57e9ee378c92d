"""`pinNode`: a pin keeps the stored state, a cascade goes on through it, unpinning pays up."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.resolvers.outcomes import NodePinned
from retrograph.resolvers.pin_node import pin_node
from retrograph.rules.errors import InvalidInput, NotFound, RetrographError, VersionConflict
from retrograph.rules.validity import Validity
from retrograph.storage.records import RunStatus
from tests.dump import dump
from tests.memory import Memory, ref


def pin(memory: Memory, key: str, pinned: bool = True, **more: Any) -> NodePinned:
    return pin_node(memory.scope, 1, ref(key), pinned=pinned, **more)


def test_a_pin_changes_nothing_but_the_pin(memory: Memory) -> None:
    memory.plant("a", validity=Validity.POTENTIALLY_STALE)
    done = pin(memory, "a", reason="we know better")
    assert (done.node.pinned, done.node.pin_reason) == (True, "we know better")
    assert done.node.validity is done.node.projected is Validity.POTENTIALLY_STALE
    assert done.node.valid_from == done.instant == done.node.as_of
    assert (done.run, memory.runs(), memory.told(done.instant)) == (None, [], [])
    assert memory.work_told(done.instant) == [("REVALIDATION_CANCELLED", "a")]


@pytest.mark.parametrize("pinned", [True, False])
def test_what_is_so_already_stays_as_it_is(memory: Memory, pinned: bool) -> None:
    memory.plant("a", pinned=pinned)
    before = memory.node("a")
    done = pin(memory, "a", pinned)
    assert done.node.version_id == before.version_id
    assert done.run is None


def test_a_pin_that_is_there_keeps_its_reason_unless_another_is_given(memory: Memory) -> None:
    memory.plant("a")
    first = pin(memory, "a", reason="we know better")
    again = pin(memory, "a")
    assert again.node.version_id == first.node.version_id
    assert again.node.pin_reason == "we know better"
    other = pin(memory, "a", reason="the auditor said so")
    assert other.node.valid_from == other.instant
    assert other.node.pin_reason == "the auditor said so"
    assert pin(memory, "a", False, reason="done").node.pin_reason is None


def test_a_cascade_goes_on_through_a_pin_with_the_projected_severity(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c")
    pin(memory, "b")
    run = memory.fell("a")
    assert memory.sick() == {"a": "INVALID", "c": "INVALID"}
    assert memory.node("b").projected is Validity.INVALID
    assert [(i["node"], i["kind"], i["to"]) for i in memory.impacts(run)] == [
        ("a", "CHANGED", "INVALID"),
        ("b", "PINNED", "INVALID"),
        ("c", "CHANGED", "INVALID"),
    ]
    assert ("PINNED_NODE_REVIEW", "b") in memory.told(run.executed_at)


def test_a_pinned_root_keeps_its_state_and_a_second_request_changes_nothing(
    memory: Memory,
) -> None:
    memory.plant("a", "b")
    memory.link("a REQUIRES b")
    pin(memory, "a")
    assert memory.fell("a").status is RunStatus.APPLIED
    assert memory.sick() == {"b": "INVALID"}
    assert memory.fell("a").status is RunStatus.NO_CHANGE


def test_unpinning_gives_the_node_what_was_left_on_it_as_a_run(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a DERIVED_FROM b", "b REQUIRES c")
    pin(memory, "b")
    memory.fell("a")
    events = len(memory.events())

    done = pin(memory, "b", False)

    run = done.run
    assert run is not None
    assert (run.root_id, run.effect) == (done.node.id, Validity.DEFINITELY_STALE)
    assert (run.reason, run.executed_at, run.impact_count) == ("UNPINNED", done.instant, 1)
    assert memory.impacts(run) == [
        {
            "node": "b",
            "kind": "CHANGED",
            "from": "CURRENTLY_VALID",
            "to": "DEFINITELY_STALE",
            "depth": 0,
            "path": ["b"],
        }
    ]
    assert not done.node.pinned
    assert done.node.validity is done.node.projected is Validity.DEFINITELY_STALE
    assert (done.node.run_id, done.node.run_ordinal) == (run.id, 0)
    assert len(memory.events()) == events + 2
    assert memory.told(done.instant) == [("NODE_STALE", "b")]
    assert memory.work_told(done.instant) == [("REVALIDATION_READY", "b")]


def test_unpinning_a_node_nothing_happened_to_is_no_run(memory: Memory) -> None:
    memory.plant("a")
    pin(memory, "a", reason="for now")
    done = pin(memory, "a", False)
    assert (done.run, done.node.pinned, done.node.pin_reason) == (None, False, None)
    assert memory.runs() == []


def test_a_superseded_pinned_node_becomes_superseded_when_unpinned(memory: Memory) -> None:
    memory.plant("new", "old")
    pin(memory, "old")
    memory.link("new SUPERSEDES old")
    assert memory.sick() == {}
    pin(memory, "old", False)
    assert memory.sick() == {"old": "SUPERSEDED"}


def test_a_pin_is_seen_from_its_instant_on(memory: Memory) -> None:
    memory.plant("a")
    done = pin(memory, "a")
    assert not memory.node("a", done.instant - 1).pinned
    assert memory.node("a", done.instant).pinned


def test_the_expected_version_lets_it_through(memory: Memory) -> None:
    memory.plant("a")
    version = memory.node("a").version_id
    assert pin(memory, "a", expected_version=version).node.pinned


@pytest.mark.parametrize(
    ("key", "more", "kind", "path"),
    [
        ("nobody", {}, NotFound, ("node", "key")),
        ("a", {"expected_version": "1@1"}, VersionConflict, ("expectedVersion",)),
        ("a", {"reason": "\0"}, InvalidInput, ("reason",)),
        ("a", {"reason": ""}, InvalidInput, ("reason",)),
        ("a", {"reason": " "}, InvalidInput, ("reason",)),
    ],
)
def test_bad_input_changes_nothing(
    memory: Memory,
    key: str,
    more: dict[str, Any],
    kind: type[RetrographError],
    path: tuple[str, ...],
) -> None:
    memory.plant("a")
    before = dump(memory.store)
    with pytest.raises(kind) as caught:
        pin(memory, key, **more)
    assert caught.value.path == ("input", *path)
    assert dump(memory.store) == before

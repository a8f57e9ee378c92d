"""Rewinding a fleet: the present becomes that of an instant, and the past stays what it was."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.inputs import UNSET, NodeInput
from retrograph.resolvers.outcomes import FleetRewound, RowsRewound
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.errors import InstantInFuture, InvalidInput, NotFound
from retrograph.rules.validity import Validity
from retrograph.storage.records import EventType, NodeKind
from retrograph.storage.task_records import OPEN, TaskStatus
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.dump import Rows, present_of
from tests.memory import NEW, Memory, ref
from tests.observing import observe

UNCHANGED = RowsRewound(0, 0, 0)


def rewind(memory: Memory, to: int, **more: Any) -> FleetRewound:
    fields: dict[str, Any] = {"dry_run": False, "confirm": confirmation(memory.fleet, to)}
    request = Rewind(to, **fields | more)
    return rewind_fleet(memory.scope, memory.fleet, request)


def present(memory: Memory) -> dict[str, Rows]:
    return present_of(memory.store, 1, memory.fleet)


def work(memory: Memory) -> dict[str, str]:
    """The status of each open task by the key of its node."""
    names = {node.id: key for key, node in memory.nodes().items()}
    return {names[each.node_id]: each.status.name for each in memory.tasks() if each.status in OPEN}


@pytest.fixture
def troubled(memory: Memory) -> tuple[Memory, int]:
    """A fleet with some unrest, and an instant after which a disaster of all kinds followed."""
    memory.put(*(NodeInput(key, kind=NEW, payload={"was": key}) for key in "abcdef"))
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM c", "d REQUIRES e", "a REQUIRES f")
    add_evidence(memory.scope, 1, ref("a"), "https://example.com/a", "first")
    pin_node(memory.scope, 1, ref("f"), pinned=True, reason="kept")
    memory.fell("b", Validity.POTENTIALLY_STALE)
    to = memory.scope.clock(1)
    memory.fell("a")
    memory.fell("e")
    memory.put(NodeInput("c", payload={"now": "other"}, confidence=0.5))
    memory.put(NodeInput("g", kind=NodeKind.RULE, contract_hash="x"))
    edges = memory.link("c SUPPORTED_BY g", "g REQUIRES d").edges
    old = memory.link("d REQUIRES e").edges
    unlink_nodes(memory.scope, 1, [edges[1].id, old[0].id])
    add_evidence(memory.scope, 1, ref("a"), "https://example.com/a", "second")
    add_evidence(memory.scope, 1, ref("c"), "https://example.com/c", None)
    pin_node(memory.scope, 1, ref("f"), pinned=False)
    return memory, to


def rows_at(memory: Memory, at: int) -> Any:
    return observe(memory.scope, memory.fleet, at)


def test_the_present_becomes_that_of_the_instant(memory: Memory) -> None:
    memory.put(*(NodeInput(key, kind=NEW, payload=key) for key in "ab"))
    memory.link("a REQUIRES b")
    before, to = present(memory), memory.scope.clock(1)
    memory.fell("a")
    memory.put(NodeInput("c", kind=NEW), NodeInput("b", payload="else"))
    done = rewind(memory, to)
    assert present(memory) == before
    assert done.rows["nodes"] == RowsRewound(removed=1, restored=2, returned=0)
    assert done.rows["contents"] == RowsRewound(removed=1, restored=1, returned=0)
    assert done.rows["edges"] == done.rows["evidence"] == UNCHANGED
    assert memory.states() == {"a": "CURRENTLY_VALID", "b": "CURRENTLY_VALID"}


def test_states_contents_edges_evidence_and_pins_come_back(troubled: tuple[Memory, int]) -> None:
    memory, to = troubled
    then = rows_at(memory, to)
    observed = {at: rows_at(memory, at) for at in (to, to + 1, memory.scope.clock(1))}
    done = rewind(memory, to, reason="a bad deployment")
    assert memory.sick() == {"b": "POTENTIALLY_STALE", "c": "POTENTIALLY_STALE"}
    assert memory.node("f").pinned
    assert memory.node("c").payload == '{"was":"c"}'
    assert "g" not in memory.nodes()
    assert done.rows["edges"].removed == 1
    assert done.rows["edges"].returned == 1
    assert done.rows["evidence"] == RowsRewound(removed=1, restored=1, returned=0)
    # The disaster stays in history, and the instant itself answers what it did.
    assert {at: rows_at(memory, at) for at in observed} == observed
    assert rows_at(memory, to) == then


def test_open_tasks_are_rebuilt(troubled: tuple[Memory, int]) -> None:
    memory, to = troubled
    open_before = work(memory)
    done = rewind(memory, to)
    assert work(memory) == {"b": "READY", "c": "WAITING"}
    assert (done.tasks_cancelled, done.tasks_opened) == (len(open_before), 2)
    last = [each for each in memory.tasks() if each.opened_at == done.instant]
    assert {each.run_id for each in last} == {memory.node("b").run_id}
    assert all(
        each.status is TaskStatus.CANCELLED_SUPERSEDED
        for each in memory.tasks()
        if each.opened_at < done.instant
    )


def test_an_event_tells_of_it_and_the_disaster_stays_told(troubled: tuple[Memory, int]) -> None:
    memory, to = troubled
    events, runs = memory.events(), memory.runs()
    done = rewind(memory, to, reason="a bad deployment")
    after = memory.events()
    assert after[: len(events)] == events
    assert memory.runs() == [memory.run(each) for each in runs]
    told = after[len(events)]
    assert (told.type, told.at, told.node_id) == (EventType.FLEET_REWOUND, done.instant, None)
    detail = orjson.loads(told.detail or "")
    assert detail["reason"] == "a bad deployment"
    assert detail["nodes"] == {"removed": 1, "restored": 6, "returned": 0}


def test_a_dry_run_tells_the_same_and_writes_nothing(troubled: tuple[Memory, int]) -> None:
    memory, to = troubled
    clock, before = memory.scope.clock(1), present(memory)
    told = rewind_fleet(memory.scope, 1, Rewind(to))
    assert (memory.scope.clock(1), present(memory)) == (clock, before)
    done = rewind(memory, to, confirm=told.confirmation)
    assert told.dry_run
    assert (told.rows, told.tasks_cancelled, told.tasks_opened) == (
        done.rows,
        done.tasks_cancelled,
        done.tasks_opened,
    )


def test_it_wants_the_words_of_its_fleet_and_instant(memory: Memory) -> None:
    to = memory.scope.clock(1)
    for words in (None, "", "yes", confirmation(1, to + 1), confirmation(2, to)):
        with pytest.raises(InvalidInput, match="rewind fleet 1 to") as caught:
            rewind(memory, to, confirm=words)
        assert (caught.value.code, caught.value.path) == ("NOT_CONFIRMED", ("input", "confirm"))
    assert memory.scope.clock(1) == to


@pytest.mark.parametrize("dry_run", [True, False])
def test_instants_outside_of_history_are_refused(
    memory: Memory, clock: ManualClock, dry_run: bool
) -> None:
    began = memory.scope.clock(1)
    clock.advance()
    memory.plant("a")
    with pytest.raises(InvalidInput) as caught:
        rewind(memory, began - 1, dry_run=dry_run)
    assert caught.value.code == "INSTANT_BEFORE_HISTORY"
    with pytest.raises(InstantInFuture):
        rewind(memory, clock.now + 1, dry_run=dry_run)
    assert memory.events() == []
    assert list(memory.nodes()) == ["a"]


def test_to_the_present_changes_no_row(troubled: tuple[Memory, int]) -> None:
    memory, _ = troubled
    before = present(memory)
    done = rewind(memory, memory.scope.clock(1))
    assert set(done.rows.values()) == {UNCHANGED}
    assert present(memory) == before


def test_a_rewind_can_be_rewound(troubled: tuple[Memory, int]) -> None:
    memory, to = troubled
    disaster, late = present(memory), memory.scope.clock(1)
    rewind(memory, to)
    rewind(memory, late)
    assert present(memory) == disaster
    assert "g" in memory.nodes()


def test_a_key_that_left_the_present_brings_its_node_back(memory: Memory) -> None:
    to = memory.scope.clock(1)
    first = memory.put(NodeInput("a", kind=NEW, payload=1)).nodes[0]
    rewind(memory, to)
    assert memory.nodes() == {}
    with pytest.raises(InvalidInput, match="ASSERTION for ever"):
        memory.put(NodeInput("a", kind=NodeKind.RULE))
    again = memory.put(NodeInput("a", kind=NEW)).nodes[0]
    assert (again.id, again.payload, again.created_at) == (first.id, None, first.created_at)


def test_runs_of_before_can_be_reverted_and_those_undone_find_nothing(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "c REQUIRES b")
    early = memory.fell("a")
    to = memory.scope.clock(1)
    late = memory.fell("c")
    rewind(memory, to)
    undone = revert_run(memory.scope, 1, late.id)
    assert (undone.restored, len(undone.left_alone)) == ([], late.impact_count)
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}
    revert_run(memory.scope, 1, early.id)
    assert memory.sick() == {}


def test_cascades_after_it_run_on_the_edges_of_then(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b")
    to = memory.scope.clock(1)
    linked = memory.link("b REQUIRES c").edges
    assert memory.fell("a").impact_count == 3
    rewind(memory, to)
    assert memory.fell("a").impact_count == 2
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}
    with pytest.raises(NotFound):
        unlink_nodes(memory.scope, 1, [linked[0].id])


def test_other_fleets_stay_as_they_are(memory: Memory) -> None:
    other = Memory(memory.scope, 2)
    memory.plant("a")
    other.plant("a", "b")
    to = memory.scope.clock(1)
    other.fell("a")
    memory.fell("a")
    rewind(memory, to)
    assert memory.sick() == {}
    assert other.sick() == {"a": "INVALID"}
    assert_consistent(memory.store, 1, 2)


def test_awaited_judgements_are_awaited_again(memory: Memory) -> None:
    memory.plant("a", "b", "d")
    memory.link("a CONTRADICTS b", "d DERIVED_FROM b")
    memory.fell("d", Validity.DEFINITELY_STALE)
    memory.put(NodeInput("x", kind=NEW, payload=UNSET))
    memory.fell("a")
    to, before = memory.scope.clock(1), work(memory)
    pin_node(memory.scope, 1, ref("b"), pinned=True)
    memory.fell("d")
    rewind(memory, to)
    assert work(memory).keys() == before.keys()

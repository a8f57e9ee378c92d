"""`unlinkNodes`: edges leave the present, states stay as they are."""

from __future__ import annotations

import pytest

from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.storage.edges import page_edges
from retrograph.storage.filters import EdgeFilter
from tests.dump import dump
from tests.memory import Memory


def edges(memory: Memory, at: int | None = None) -> list[int]:
    with memory.scope.snapshot(1, at) as snapshot:
        return [edge.id for edge in page_edges(snapshot, EdgeFilter(), 100, None).rows]


def test_edges_leave_the_present_and_stay_in_the_past(memory: Memory) -> None:
    memory.plant("a", "b")
    linked = memory.link("a REQUIRES b", "b REQUIRES a")
    one, other = (edge.id for edge in linked.edges)
    done = unlink_nodes(memory.scope, 1, [one])
    assert done.edge_ids == [one]
    assert edges(memory) == [other]
    assert edges(memory, done.instant) == [other]
    assert edges(memory, done.instant - 1) == edges(memory, linked.instant) == [one, other]


def test_no_state_changes_and_nothing_is_told(memory: Memory) -> None:
    memory.plant("a", "b")
    (edge,) = memory.link("a REQUIRES b").edges
    memory.fell("a")
    events, runs = memory.events(), memory.runs()
    unlink_nodes(memory.scope, 1, [edge.id])
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}
    assert (memory.events(), len(memory.runs())) == (events, len(runs))


def test_a_cascade_no_longer_takes_the_way(memory: Memory) -> None:
    memory.plant("a", "b")
    (edge,) = memory.link("a REQUIRES b").edges
    unlink_nodes(memory.scope, 1, [edge.id])
    memory.fell("a")
    assert memory.sick() == {"a": "INVALID"}


def test_an_edge_linked_again_is_another_edge_and_passes_on_again(memory: Memory) -> None:
    memory.plant("a", "b")
    (edge,) = memory.link("a REQUIRES b").edges
    unlink_nodes(memory.scope, 1, [edge.id])
    memory.fell("a")
    done = memory.link("a REQUIRES b")
    assert done.edges[0].id > edge.id
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}


@pytest.mark.parametrize("bad", ["unknown", "ended", "elsewhere"])
def test_one_bad_edge_refuses_the_whole_call(memory: Memory, bad: str) -> None:
    memory.plant("a", "b")
    fine, ended = (edge.id for edge in memory.link("a REQUIRES b", "b REQUIRES a").edges)
    unlink_nodes(memory.scope, 1, [ended])
    other = Memory(memory.scope, 2)
    other.plant("a", "b")
    (elsewhere,) = other.link("a REQUIRES b").edges
    before = dump(memory.store)
    ids = {"unknown": 999, "ended": ended, "elsewhere": elsewhere.id}
    with pytest.raises(NotFound) as caught:
        unlink_nodes(memory.scope, 1, [fine, ids[bad]])
    assert caught.value.path == ("input", "edges", "1")
    assert dump(memory.store) == before


@pytest.mark.parametrize("size", [0, 1001])
def test_a_batch_out_of_bounds_is_refused(memory: Memory, size: int) -> None:
    with pytest.raises(InvalidInput):
        unlink_nodes(memory.scope, 1, range(size))

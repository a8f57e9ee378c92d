"""What every read refuses: unknown fleets and nodes, instants to come, sizes out of range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

import pytest

from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.edges import edges_around, list_edges, load_edges
from retrograph.resolvers.events import list_events
from retrograph.resolvers.nodes import (
    evidence_of,
    get_node,
    history_of,
    list_nodes,
    load_known,
    staleness_of,
)
from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.runs import get_run, impact_paths, list_impacts, list_runs, load_runs
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.walks import find_paths, neighbourhood, reached
from retrograph.rules.errors import InstantInFuture, InvalidCursor, InvalidInput, NotFound
from retrograph.rules.limits import MAX_ID
from retrograph.rules.validity import Validity
from retrograph.storage.filters import NodeFilter, RunFilter
from retrograph.storage.records import Direction, Neighbourhood, NodeRef, Page
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.memory import Memory, ref

BOTH = Direction.BOTH
A, B = ref("a"), ref("b")
Read = Callable[[Scope, int, int | None], object]

READS: dict[str, Read] = {
    "get_node": lambda s, f, at: get_node(s, f, A, at),
    "list_nodes": lambda s, f, at: list_nodes(s, f, NodeFilter(), 10, None, at),
    "load_known": lambda s, f, at: load_known(s, f, at, [1]),
    "history_of": lambda s, f, at: history_of(s, f, at, [1], 10),
    "evidence_of": lambda s, f, at: evidence_of(s, f, at, [1]),
    "staleness_of": lambda s, f, at: staleness_of(s, f, at, []),
    "list_edges": lambda s, f, at: list_edges(s, f, None, None, None, 10, None, at),
    "load_edges": lambda s, f, at: load_edges(s, f, at, [1]),
    "edges_around": lambda s, f, at: edges_around(s, f, at, [1], True, None, 10),
    "reached": lambda s, f, at: reached(s, f, at, [1], BOTH, 3, 10),
    "neighbourhood": lambda s, f, at: neighbourhood(s, f, [A], BOTH, 2, 10, at),
    "find_paths": lambda s, f, at: find_paths(s, f, A, B, None, 6, 10, None, at),
    "list_changes": lambda s, f, at: list_changes(s, f, 0, at, 10),
    "get_run": lambda s, f, at: get_run(s, f, 1, at),
    "list_runs": lambda s, f, at: list_runs(s, f, RunFilter(), 10, None, at),
    "load_runs": lambda s, f, at: load_runs(s, f, at, [1]),
    "list_impacts": lambda s, f, at: list_impacts(s, f, at, 1, None, 10),
    "impact_paths": lambda s, f, at: impact_paths(s, f, at, [], 10),
    "list_events": lambda s, f, at: list_events(s, f, None, None, 10, at),
}


@pytest.fixture(scope="module")
def planted(shared_store: Store) -> Iterator[Memory]:
    """`a`, on which `b` depends, and run 1, which felled both; they are only read."""
    memory = Memory(Scope(shared_store, 1, None, frozenset(Role)))
    memory.plant("a", "b")
    memory.link("a REQUIRES b")
    memory.fell("a")
    yield memory
    assert_consistent(shared_store)


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_now_and_at_a_past_instant(planted: Memory, name: str) -> None:
    READS[name](planted.scope, 1, None)
    READS[name](planted.scope, 1, planted.store.clock(1, 1))


@pytest.mark.parametrize("name", READS)
def test_a_fleet_that_is_not_held_does_not_exist(planted: Memory, name: str) -> None:
    planted.store.write_all(1, [2], lambda _: None)
    told = []
    held = Scope(planted.store, 1, frozenset({1}), frozenset({Role.AUDITOR}))
    for fleet in (2, 3):
        with pytest.raises(NotFound) as caught:
            READS[name](held, fleet, None)
        told.append((caught.value.path, caught.value.message.replace(str(fleet), "?")))
    assert told[0] == told[1]


@pytest.mark.parametrize("name", READS)
def test_an_instant_to_come_is_refused(
    planted: Memory, shared_clock: ManualClock, name: str
) -> None:
    shared_clock.advance()
    READS[name](planted.scope, 1, shared_clock.now)
    with pytest.raises(InstantInFuture):
        READS[name](planted.scope, 1, shared_clock.now + 1)


PAGES: dict[str, Callable[[Scope, int], object]] = {
    "list_nodes": lambda s, first: list_nodes(s, 1, NodeFilter(), first),
    "history_of": lambda s, first: history_of(s, 1, None, [1], first),
    "list_edges": lambda s, first: list_edges(s, 1, None, None, None, first),
    "edges_around": lambda s, first: edges_around(s, 1, None, [1], True, None, first),
    "reached": lambda s, first: reached(s, 1, None, [1], BOTH, 3, first),
    "neighbourhood": lambda s, first: neighbourhood(s, 1, [A], BOTH, 2, first),
    "find_paths": lambda s, first: find_paths(s, 1, A, B, None, 6, first),
    "list_changes": lambda s, first: list_changes(s, 1, 0, None, first),
    "list_runs": lambda s, first: list_runs(s, 1, RunFilter(), first),
    "list_impacts": lambda s, first: list_impacts(s, 1, None, 1, None, first),
    "impact_paths": lambda s, first: impact_paths(s, 1, None, [], first),
    "list_events": lambda s, first: list_events(s, 1, None, None, first),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_1_to_1000_rows(planted: Memory, name: str) -> None:
    for first in (1, 1_000):
        PAGES[name](planted.scope, first)
    for first in (-1, 0, 1_001):
        with pytest.raises(InvalidInput):
            PAGES[name](planted.scope, first)


@pytest.mark.parametrize(
    ("walk", "most"),
    [
        (lambda s, depth: reached(s, 1, None, [1], BOTH, depth, 10), 64),
        (lambda s, depth: neighbourhood(s, 1, [A], BOTH, depth, 10), 64),
        (lambda s, depth: find_paths(s, 1, A, B, None, depth, 10), 20),
    ],
)
def test_a_walk_is_at_most_so_deep(
    planted: Memory, walk: Callable[[Scope, int], object], most: int
) -> None:
    for depth in (1, most):
        walk(planted.scope, depth)
    for depth in (-1, 0, most + 1):
        with pytest.raises(InvalidInput) as caught:
            walk(planted.scope, depth)
        assert caught.value.path == ("maxDepth",)


NAMING: list[tuple[Callable[[Scope, NodeRef], object], tuple[str, ...]]] = [
    (lambda s, r: list_edges(s, 1, None, r, None, 10), ("filter", "source")),
    (lambda s, r: list_edges(s, 1, None, None, r, 10), ("filter", "target")),
    (lambda s, r: neighbourhood(s, 1, [A, r], BOTH, 2, 10), ("roots", "1")),
    (lambda s, r: find_paths(s, 1, r, B, None, 6, 10), ("from",)),
    (lambda s, r: find_paths(s, 1, A, r, None, 6, 10), ("to",)),
]


@pytest.mark.parametrize(("read", "path"), NAMING)
def test_an_unknown_node_is_named_by_its_field(
    planted: Memory, read: Callable[[Scope, NodeRef], object], path: tuple[str, ...]
) -> None:
    for unknown, field in ((ref("z"), "key"), (NodeRef(id=99), "id")):
        with pytest.raises(NotFound) as caught:
            read(planted.scope, unknown)
        assert caught.value.path == (*path, field)


@pytest.mark.parametrize(("read", "path"), [*NAMING, (lambda s, r: get_node(s, 1, r), ("by",))])
def test_a_node_is_named_by_exactly_one_of_id_and_key(
    planted: Memory, read: Callable[[Scope, NodeRef], object], path: tuple[str, ...]
) -> None:
    for both_or_neither in (NodeRef(), NodeRef(id=1, key="a")):
        with pytest.raises(InvalidInput) as caught:
            read(planted.scope, both_or_neither)
        assert caught.value.path == path


def test_a_node_that_does_not_exist_is_none(planted: Memory) -> None:
    assert get_node(planted.scope, 1, ref("z")) is None
    assert get_node(planted.scope, 1, NodeRef(id=99)) is None
    found = get_node(planted.scope, 1, ref("b"))
    assert found is not None
    assert get_node(planted.scope, 1, NodeRef(id=found.id)) == found
    assert get_node(planted.scope, 1, ref("b"), at=0) is None


def test_before_all_history_everything_is_empty(planted: Memory) -> None:
    scope = planted.scope
    assert list_nodes(scope, 1, NodeFilter(), 10, None, 0).rows == []
    assert list_edges(scope, 1, None, None, None, 10, None, 0).rows == []
    assert list_edges(scope, 1, None, A, B, 10, None, 0).rows == []
    assert list_changes(scope, 1, -5, 0, 10).rows == []
    assert list_runs(scope, 1, RunFilter(), 10, None, 0).rows == []
    assert list_events(scope, 1, None, None, 10, 0).rows == []
    assert find_paths(scope, 1, A, B, None, 6, 10, None, 0) == Page([], False, 0)
    assert neighbourhood(scope, 1, [A, B], BOTH, 2, 10, 0) == Neighbourhood([], [], False, 0)
    preview = preview_invalidation(scope, 1, A, Validity.INVALID, 0)
    assert (preview.as_of, len(preview.cascade)) == (0, 0)
    assert preview.plan_hash == sha256(b"").hexdigest()


NAMED_AT: list[Callable[[Scope, int], object]] = [
    lambda s, at: list_edges(s, 1, None, A, None, 10, None, at),
    lambda s, at: list_edges(s, 1, None, None, A, 10, None, at),
    lambda s, at: neighbourhood(s, 1, [A], BOTH, 2, 10, at),
    lambda s, at: find_paths(s, 1, A, B, None, 6, 10, None, at),
    lambda s, at: preview_invalidation(s, 1, A, Validity.INVALID, at),
]


@pytest.mark.parametrize("read", NAMED_AT)
def test_history_begins_with_the_first_write_of_the_fleet(
    memory: Memory, clock: ManualClock, read: Callable[[Scope, int], object]
) -> None:
    """Before it nothing is missing; from then on a node that is not there yet is unknown."""
    began = memory.store.clock(1, 1)
    clock.advance()
    memory.plant("a", "b")
    born = memory.store.clock(1, 1)
    read(memory.scope, began - 1)
    for at in (began, born - 1):
        with pytest.raises(NotFound):
            read(memory.scope, at)
    read(memory.scope, born)


@pytest.mark.parametrize("at", [None, 0])
def test_an_event_cursor_of_the_future_is_refused(
    planted: Memory, shared_clock: ManualClock, at: int | None
) -> None:
    """It would keep from a subscriber whatever happens until then."""
    scope, last = planted.scope, planted.store.clock(1, 1)
    shared_clock.advance()
    assert list_events(scope, 1, None, (last, MAX_ID), 10, at).rows == []
    with pytest.raises(InvalidCursor) as caught:
        list_events(scope, 1, None, (last + 1, 0), 10, at)
    assert caught.value.path == ("after",)


def test_a_window_that_ends_before_it_begins_is_refused(
    planted: Memory, shared_clock: ManualClock
) -> None:
    with pytest.raises(InvalidInput) as caught:
        list_changes(planted.scope, 1, 2, 1, 10)
    assert caught.value.path == ("from",)
    assert list_changes(planted.scope, 1, 2, 2, 10).rows == []
    with pytest.raises(InstantInFuture) as future:
        list_changes(planted.scope, 1, shared_clock.advance() + 1, None, 10)
    assert future.value.path == ("from",)
    with pytest.raises(InstantInFuture) as future:
        list_changes(planted.scope, 1, 0, shared_clock.now + 1, 10)
    assert future.value.path == ("to",)
    assert list_changes(planted.scope, 1, shared_clock.now, None, 10).rows == []


def test_impacts_of_an_unknown_run_are_refused(planted: Memory) -> None:
    assert len(list_impacts(planted.scope, 1, None, 1, None, 10).rows) == 2
    with pytest.raises(NotFound):
        list_impacts(planted.scope, 1, None, 9, None, 10)
    assert get_run(planted.scope, 1, 9) is None


def test_paths_and_walks_follow_propagating_edges_unless_types_are_given(memory: Memory) -> None:
    a, b = memory.plant("a", "b")
    memory.link("a CONTRADICTS b")
    edge = list_edges(memory.scope, 1, None, A, B, 10).rows[0]
    assert find_paths(memory.scope, 1, A, B, None, 6, 10).rows == []
    (path,) = find_paths(memory.scope, 1, A, B, [edge.type], 6, 10).rows
    assert (path.nodes, path.edges) == ((a, b), (edge.id,))
    assert reached(memory.scope, 1, None, [a], BOTH, 3, 10)[a].rows == []

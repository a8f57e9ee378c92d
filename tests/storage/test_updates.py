"""Updates tell each step of the past once, in order, as a naive reader sees it through a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.rules.validity import Validity
from retrograph.storage import subtrees
from retrograph.storage.audience import Audience
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import EdgeRecord, EventType, NodeKind, NodeRecord
from retrograph.storage.store import Store
from retrograph.storage.subtrees import Subtree
from retrograph.storage.update_events import matching_events
from retrograph.storage.update_records import EDGE, NODE, Place, UpdateKind, UpdateRecord
from retrograph.storage.update_snapshot import page_present
from retrograph.storage.updates import page_updates
from retrograph.storage.write import Write
from tests.storage.counting import count
from tests.storage.world import FLEET, TENANT, World

Hears = Callable[[World, int, int], bool]
"""Whether a node is told of that there is at an instant."""

START = Place(0, NODE, 0)
FILTERS: dict[str, NodeFilter] = {
    "everything": NodeFilter(),
    "a kind": NodeFilter(kind=NodeKind.RULE),
    "a validity": NodeFilter(validity=frozenset({Validity.CURRENTLY_VALID, Validity.INVALID})),
    "pinned": NodeFilter(pinned=True),
    "keys": NodeFilter(keys=frozenset({"a", "ab", "none"})),
    "a prefix": NodeFilter(key_prefix="a"),
}


@cache
def reached(world: World, root: int, at: int) -> frozenset[int]:
    """What depends on a root, edge by edge."""
    edges, found, size = world.edges_at(at), {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {e.target_id for e in edges if e.source_id in found and e.type in PROPAGATING}
    return frozenset(found)


def fits(filter: NodeFilter, node: NodeRecord) -> bool:
    return (
        (filter.kind is None or node.kind == filter.kind)
        and (filter.validity is None or node.validity in filter.validity)
        and (filter.pinned is None or node.pinned == filter.pinned)
        and (filter.ids is None or node.id in filter.ids)
        and (filter.keys is None or node.key in filter.keys)
        and (filter.key_prefix is None or (node.key or "").startswith(filter.key_prefix))
    )


def hears(world: World, filter: NodeFilter, root: int | None, id: int, at: int) -> bool:
    node = world.node(id, at)
    if node is None or not fits(filter, node):
        return False
    return root is None or id in reached(world, root, at)


def kind_of(now: bool, before: bool) -> UpdateKind | None:
    if now:
        return UpdateKind.CHANGED if before else UpdateKind.ENTERED
    return UpdateKind.LEFT if before else None


def moments(world: World, *lines: Any) -> list[int]:
    """The instants at which something of these timelines changed."""
    found = {at for line in lines for v in line for at in (v.begin, v.end) if at is not None}
    return sorted(found & set(world.instants))


def expected(world: World, filter: NodeFilter, root: int | None) -> list[UpdateRecord]:
    found = [*_nodes(world, filter, root), *_edges(world, filter, root)]
    return sorted(found, key=lambda each: each.place)


def _nodes(world: World, filter: NodeFilter, root: int | None) -> Iterator[UpdateRecord]:
    for id in world.identities:
        changed = moments(world, world.states.lines[id], world.contents.lines[id])
        for at in changed if root is None else world.instants:
            kind = kind_of(*(hears(world, filter, root, id, then) for then in (at, at - 1)))
            if kind is not None and (at in changed or kind is not UpdateKind.CHANGED):
                shown = world.node(id, at) or world.node(id, at - 1)
                yield UpdateRecord(Place(at, NODE, id), kind, node=shown)


def _edges(world: World, filter: NodeFilter, root: int | None) -> Iterator[UpdateRecord]:
    """An edge that changes with its ends alone stands behind the last of them that did."""

    def view(id: int, at: int) -> tuple[bool, bool]:
        return world.node(id, at) is not None, hears(world, filter, root, id, at)

    for id, line in world.edges.lines.items():
        changed = moments(world, line)
        for at in world.instants:
            now, before = (heard_edge(world, filter, root, id, then) for then in (at, at - 1))
            kind = kind_of(now is not None, before is not None)
            own = at in changed
            if kind is None or (kind is UpdateKind.CHANGED and not own):
                continue
            shown = world.edge(id, at) or world.edge(id, at - 1)
            assert shown is not None
            ends = (shown.source_id, shown.target_id)
            turned = [end for end in ends if view(end, at) != view(end, at - 1)]
            place = Place(at, EDGE, id) if own else Place(at, NODE, max(turned), id)
            yield UpdateRecord(place, kind, edge=shown)


def heard_edge(
    world: World, filter: NodeFilter, root: int | None, id: int, at: int
) -> EdgeRecord | None:
    edge = world.edge(id, at)
    ends = () if edge is None else (edge.source_id, edge.target_id)
    return edge if any(hears(world, filter, root, end, at) for end in ends) else None


def told(world: World, audience: Audience, after: Place, first: int) -> list[UpdateRecord]:
    """All updates behind a place, page by page."""
    rows: list[UpdateRecord] = []
    with world.store.read(TENANT, FLEET) as s:
        while True:
            part = page_updates(s, audience, after, first)
            rows += part.rows
            assert part.last >= after
            if not part.has_next:
                return rows
            after = part.last


def roots(world: World) -> list[int]:
    """Those that most depends on in the end, and one that has gone."""
    last = world.instants[-1]
    most = sorted(world.identities, key=lambda id: -len(reached(world, id, last)))
    return [*most[:2], *[id for id in world.states.gone() if id in world.identities][:1]]


@pytest.mark.parametrize("name", FILTERS)
def test_each_step_is_told_once(world: World, name: str) -> None:
    filter = FILTERS[name]
    wanted = expected(world, filter, None)
    assert {each.kind for each in wanted} >= {UpdateKind.ENTERED, UpdateKind.LEFT}
    assert told(world, Audience(filter, None), START, 1_000) == wanted


def test_a_set_of_ids_is_told_of(world: World) -> None:
    filter = NodeFilter(ids=frozenset(list(world.identities)[:4]))
    assert told(world, Audience(filter, None), START, 1_000) == expected(world, filter, None)


def a_subtree_is_followed(world: World, root: int) -> None:
    for filter in (NodeFilter(), FILTERS["a validity"]):
        wanted = expected(world, filter, root)
        assert told(world, Audience(filter, Subtree(root)), START, 7) == wanted


@pytest.mark.long
def test_a_subtree_is_followed_as_it_grows_and_shrinks(world: World) -> None:
    for root in roots(world):
        a_subtree_is_followed(world, root)


def test_a_subtree_of_a_small_world_is_followed(store: Store) -> None:
    world = World(store, 5, writes=10)
    a_subtree_is_followed(world, roots(world)[0])


@pytest.mark.parametrize("first", [pytest.param(1, marks=pytest.mark.long), 3])
def test_pages_join_and_any_place_is_one_to_go_on_behind(world: World, first: int) -> None:
    wanted = expected(world, NodeFilter(), None)
    everybody = Audience(NodeFilter(), None)
    assert told(world, everybody, START, first) == wanted
    for number in range(0, len(wanted), max(1, len(wanted) // 4)):
        rest = told(world, everybody, wanted[number].place, 1_000)
        assert rest == wanted[number + 1 :]


@pytest.mark.long
def test_the_nodes_of_an_instant_and_what_changed_since_make_those_of_a_later_one(
    world: World,
) -> None:
    """No gap and no overlap, wherever one begins, whatever one watches."""
    for filter in FILTERS.values():
        nothing_is_missing(world, filter, None)
    for root in roots(world):
        nothing_is_missing(world, NodeFilter(), root)


def test_nothing_is_missing_of_a_small_world(store: Store) -> None:
    world = World(store, 6, writes=8)
    nothing_is_missing(world, FILTERS["a validity"], None)
    nothing_is_missing(world, NodeFilter(), roots(world)[0])


def nothing_is_missing(
    world: World, filter: NodeFilter, root: int | None, instants: slice = slice(None, None, 4)
) -> None:
    """What is replayed of an instant on is, at the last, what a new snapshot tells."""
    last = world.instants[-1]
    at_last = picture(world, filter, root, last)
    for at in world.instants[instants]:
        audience = audience_of(filter, root)
        mine = picture(world, filter, root, at)
        for each in told(world, audience, Place(at, EDGE, MAX_ID), 3):
            thing = thing_of(each)
            assert (each.kind is UpdateKind.ENTERED) == (thing not in mine)
            if each.kind is UpdateKind.LEFT:
                del mine[thing]
            else:
                mine[thing] = record_of(each)
        assert {k: as_of(v, last) for k, v in mine.items()} == at_last


Thing = tuple[int, int]
"""0 for a node or 1 for an edge, and its id."""


def thing_of(told: UpdateRecord) -> Thing:
    return (NODE, told.node.id) if told.node is not None else (EDGE, told.place.edge_id)


def record_of(told: UpdateRecord) -> Any:
    return told.edge if told.node is None else told.node


def as_of(it: Any, at: int) -> Any:
    return it._replace(as_of=at) if isinstance(it, NodeRecord) else replace(it, as_of=at)


def audience_of(filter: NodeFilter, root: int | None) -> Audience:
    return Audience(filter, None if root is None else Subtree(root))


def picture(world: World, filter: NodeFilter, root: int | None, at: int) -> dict[Thing, Any]:
    """What a snapshot tells, which is what there is, each once and in order."""
    rows = present_at(world, audience_of(filter, root), at)
    assert [each.place for each in rows] == sorted({each.place for each in rows})
    found = {thing_of(each): record_of(each) for each in rows}
    nodes = {(NODE, i): world.node(i, at) for i in world.identities}
    edges = {(EDGE, i): heard_edge(world, filter, root, i, at) for i in world.edges.lines}
    heard = {k: v for k, v in nodes.items() if hears(world, filter, root, k[1], at)}
    assert found == heard | {k: v for k, v in edges.items() if v is not None}
    assert len(found) == len(rows)
    return found


def present_at(world: World, audience: Audience, at: int) -> list[UpdateRecord]:
    found: list[UpdateRecord] = []
    after = Place(at, NODE, MIN_ID)
    with world.store.read(TENANT, FLEET, at) as s:
        while True:
            part = page_present(s, audience, after, 3)
            found += part.rows
            if not part.has_next:
                return found
            assert part.last > after
            after = part.last


def test_a_page_of_any_size_takes_as_many_statements(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s:
        for first in (1, 1_000):
            everybody = Audience(NodeFilter(), None)
            assert count(s, lambda: page_updates(s, everybody, START, first)) <= 9  # noqa: B023


def test_a_subtree_that_is_too_large_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtrees, "MAX_SUBTREE", 0)
    at = world.instants[5]
    audience = Audience(NodeFilter(), Subtree(next(iter(world.nodes(at)))))
    with world.store.read(TENANT, FLEET, at) as s, pytest.raises(InvalidInput) as refused:
        page_present(s, audience, Place(at, NODE, MIN_ID), 10)
    assert refused.value.path == ("filter", "subtreeOf")


def test_events_are_those_about_nodes_that_match_at_their_instant(store: Store) -> None:
    """Whatever was about no node is for those alone who watch everything."""
    world = World(store, 5, writes=12)

    def tell(write: Write) -> None:
        for id in world.identities:
            write.emit(EventType.NODE_STALE, node_id=id)
        write.emit(EventType.FLEET_REWOUND)

    store.write(TENANT, FLEET, tell)
    at = store.clock(TENANT, FLEET)
    for filter in FILTERS.values():
        for root in (None, *roots(world)):
            audience = Audience(filter, None if root is None else Subtree(root))
            with store.read(TENANT, FLEET) as s:
                part = matching_events(s, audience, None, (at, -1), 1_000)
            wanted = [id for id in world.identities if hears(world, filter, root, id, at)]
            more = [None] if audience.open else []
            if audience.open:
                wanted = list(world.identities)
            assert [each.node_id for each in part.rows] == [*wanted, *more]


def test_pages_of_events_go_on_though_none_matches(store: Store) -> None:
    none = Audience(NodeFilter(keys=frozenset({"none"})), None)
    store.write(TENANT, FLEET, lambda write: write.emit(EventType.FLEET_REWOUND))
    store.write(TENANT, FLEET, lambda write: write.emit(EventType.FLEET_REWOUND))
    at = store.clock(TENANT, FLEET)
    with store.read(TENANT, FLEET) as s:
        part = matching_events(s, none, None, (0, 0), 1)
        assert (part.rows, part.has_next) == ([], True)
        part = matching_events(s, none, None, part.last, 1)
    assert (part.rows, part.has_next, part.last) == ([], False, (at, 0))

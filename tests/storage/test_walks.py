"""Walks and neighbourhoods tell at every instant what a naive walk tells."""

from __future__ import annotations

from functools import partial

import pytest

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.storage.records import Direction, ReachedRecord
from retrograph.storage.store import Store
from retrograph.storage.walks import neighbourhood, reached
from tests.planting import new_node, plant_edges, plant_nodes
from tests.storage.counting import count
from tests.storage.world import FLEET, TENANT, World

Around = dict[int, set[int]]


def _around(world: World, at: int, direction: Direction, types: tuple[EdgeType, ...]) -> Around:
    around: Around = {}
    for edge in world.edges_at(at):
        if edge.type in types:
            if direction is not Direction.DEPENDENCIES:
                around.setdefault(edge.source_id, set()).add(edge.target_id)
            if direction is not Direction.DEPENDENTS:
                around.setdefault(edge.target_id, set()).add(edge.source_id)
    return around


def _walk(around: Around, start: int, max_depth: int) -> list[ReachedRecord]:
    """Every node once, by its least shortest path."""
    paths: dict[int, tuple[int, ...]] = {start: (start,)}
    seen, found = {start}, list[ReachedRecord]()
    for depth in range(1, max_depth + 1):
        longer: dict[int, tuple[int, ...]] = {}
        for end, path in paths.items():
            for node in around.get(end, set()) - seen:
                longer[node] = min(longer.get(node, (*path, node)), (*path, node))
        seen |= longer.keys()
        found += [ReachedRecord(node, depth, longer[node]) for node in sorted(longer)]
        paths = longer
    return found


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("types", [PROPAGATING, (EdgeType.CONTRADICTS, EdgeType.REQUIRES)])
def test_a_walk_reaches_each_node_by_its_least_shortest_path(
    world: World, direction: Direction, types: tuple[EdgeType, ...]
) -> None:
    starts = [*world.identities, 7]
    for at in world.instants:
        around = _around(world, at, direction, types)
        with world.store.read(TENANT, FLEET, at) as s:
            for depth in (1, 3, 64):
                pages = reached(s, starts, direction, types, max_depth=depth, first=1_000)
                for start in starts:
                    assert pages[start].rows == _walk(around, start, depth)
                    assert not pages[start].has_next


@pytest.mark.parametrize("first", [1, 2, 3])
def test_pages_follow_each_other_without_gap_or_overlap(world: World, first: int) -> None:
    at = world.instants[-1]
    around = _around(world, at, Direction.BOTH, PROPAGATING)
    with world.store.read(TENANT, FLEET) as s:
        for start in world.identities:
            expected, found = _walk(around, start, 4), list[ReachedRecord]()
            after = None
            while True:
                page = reached(s, [start], Direction.BOTH, max_depth=4, first=first, after=after)[
                    start
                ]
                found += page.rows
                assert page.has_next == (len(found) < len(expected))
                if not page.has_next:
                    break
                after = (found[-1].depth, found[-1].node_id)
            assert found == expected


def test_a_walk_takes_a_statement_a_level_and_one_for_all_its_starts(store: Store) -> None:
    ids = plant_nodes(store, [new_node() for _ in range(9)])
    plant_edges(store, [(id, id + 1, EdgeType.REQUIRES) for id in ids[:-1]])
    with store.read(1, 1) as s:
        for starts in (ids[:1], ids[:5]):
            read = partial(reached, s, starts, Direction.DEPENDENTS, max_depth=3, first=1_000)
            assert count(s, read) == 4


def test_a_broken_edge_makes_a_walk_look_twice(world: World) -> None:
    starts = list(world.identities)
    with world.store.read(TENANT, FLEET) as s:
        read = partial(reached, s, starts, Direction.BOTH, max_depth=3, first=1_000)
        assert count(s, read) <= 7


@pytest.mark.parametrize("direction", Direction)
def test_a_neighbourhood_is_flat_nearest_first_and_never_cut_silently(
    world: World, direction: Direction
) -> None:
    for at in world.instants[::2]:
        nodes = sorted(world.nodes(at))
        roots = [*nodes[1:3], *nodes[:1], *nodes[1:2]]
        around = _around(world, at, direction, PROPAGATING)
        for depth in (1, 2, 64):
            expected = list(dict.fromkeys(roots))
            level = set(expected)
            for _ in range(depth):
                level = {node for each in level for node in around.get(each, ())} - {*expected}
                expected += sorted(level)
            with world.store.read(TENANT, FLEET, at) as s:
                for first in (1, 2, 5, 1_000):
                    found = neighbourhood(s, roots, direction, max_depth=depth, first=first)
                    assert found.node_ids == expected[:first]
                    assert found.truncated == (len(expected) > first)
                    assert found.as_of == at
                    assert found.edges == [
                        edge
                        for edge in world.edges_at(at)
                        if {edge.source_id, edge.target_id} <= {*expected[:first]}
                    ]

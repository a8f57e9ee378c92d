"""Paths tell at every instant what a naive search tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.errors import InvalidCursor
from retrograph.storage.paths import page_paths
from retrograph.storage.records import EdgeRecord, PathRecord
from tests.storage.world import FLEET, TENANT, World

ALL = tuple(EdgeType)


def _extended(
    path: PathRecord, target: int, left: int, edges: list[EdgeRecord]
) -> Iterator[PathRecord]:
    for edge in edges:
        if left and edge.source_id == path.nodes[-1] and edge.target_id not in path.nodes:
            longer = PathRecord((*path.nodes, edge.target_id), (*path.edges, edge.id))
            if edge.target_id == target:
                yield longer
            else:
                yield from _extended(longer, target, left - 1, edges)


def _paths(
    world: World, at: int, ends: tuple[int, int], types: tuple[EdgeType, ...], most: int
) -> list[PathRecord]:
    edges = [edge for edge in world.edges_at(at) if edge.type in types]
    found = _extended(PathRecord((ends[0],), ()), ends[1], most, edges)
    return sorted(found, key=lambda path: (len(path.edges), path.nodes, path.edges))


@pytest.mark.parametrize("types", [PROPAGATING, ALL])
def test_paths_are_simple_and_in_order(world: World, types: tuple[EdgeType, ...]) -> None:
    for at in world.instants[::3]:
        nodes = list(world.identities)[:8]
        with world.store.read(TENANT, FLEET, at) as s:
            for source in nodes:
                for target in nodes:
                    expected = _paths(world, at, (source, target), types, 5)
                    page = page_paths(s, source, target, types, max_depth=5, first=1_000)
                    assert page.rows == expected[:1_000]
                    assert page.has_next == (len(expected) > 1_000)
                    assert not page.truncated


@pytest.mark.parametrize("first", [1, 2])
def test_pages_follow_each_other_without_gap_or_overlap(world: World, first: int) -> None:
    at = world.instants[-1]
    nodes = list(world.nodes(at))
    with world.store.read(TENANT, FLEET) as s:
        for source in nodes:
            for target in nodes:
                expected = _paths(world, at, (source, target), ALL, 4)
                found: list[PathRecord] = []
                after = None
                while True:
                    page = page_paths(s, source, target, ALL, max_depth=4, first=first, after=after)
                    found += page.rows
                    assert page.has_next == (len(found) < len(expected))
                    if not page.has_next:
                        break
                    after = found[-1]
                assert found == expected


def test_a_position_between_other_nodes_is_refused(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s, pytest.raises(InvalidCursor):
        page_paths(s, 1, 2, max_depth=3, first=1, after=PathRecord((1, 3), (9,)))


def test_the_worlds_have_long_paths(world: World) -> None:
    nodes = list(world.identities)[:6]
    found = [
        path
        for at in world.instants[::4]
        for source in nodes
        for target in nodes
        for path in _paths(world, at, (source, target), ALL, 3)
    ]
    assert max(len(path.edges) for path in found) == 3

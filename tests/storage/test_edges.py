"""Edges tell at every instant what a naive reader tells; broken ones are never told."""

from __future__ import annotations

import pytest

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.storage.edges import (
    edges_around,
    edges_between,
    edges_by_id,
    neighbours,
    page_edges,
)
from retrograph.storage.filters import EdgeFilter
from retrograph.storage.records import Direction, EdgeRecord
from tests.storage.counting import count
from tests.storage.world import FLEET, TENANT, World

SOME = frozenset({EdgeType.REQUIRES, EdgeType.CONTRADICTS, EdgeType.OBSERVED_FROM})


def test_edges_are_as_they_were_at_every_instant(world: World) -> None:
    for at in world.moments():
        with world.store.read(TENANT, FLEET, at) as s:
            found = edges_by_id(s, world.edges.lines)
        assert found == {edge.id: edge for edge in world.edges_at(at)}


def test_the_worlds_have_broken_edges(world: World) -> None:
    planted = sum(len(world.edges.at(at)) for at in world.instants)
    assert planted > sum(len(world.edges_at(at)) for at in world.instants)


def test_a_list_is_what_passes_the_filter(world: World) -> None:
    for at in world.instants:
        expected = world.edges_at(at)
        with world.store.read(TENANT, FLEET, at) as s:
            assert page_edges(s, EdgeFilter(), 1_000, None).rows == expected
            typed = page_edges(s, EdgeFilter(types=SOME), 1_000, None).rows
            assert typed == [edge for edge in expected if edge.type in SOME]
            for node in world.identities:
                outgoing = page_edges(s, EdgeFilter(source_id=node), 1_000, None).rows
                assert outgoing == [edge for edge in expected if edge.source_id == node]
                incoming = page_edges(s, EdgeFilter(SOME, target_id=node), 1_000, None).rows
                assert incoming == [edge for edge in typed if edge.target_id == node]


def test_both_ends_may_be_given(world: World) -> None:
    at = world.instants[-1]
    with world.store.read(TENANT, FLEET) as s:
        for edge in world.edges_at(at):
            both = EdgeFilter(source_id=edge.source_id, target_id=edge.target_id)
            assert edge in page_edges(s, both, 1_000, None).rows


@pytest.mark.parametrize("first", [1, 2, 3])
def test_pages_follow_each_other_without_gap_or_overlap(world: World, first: int) -> None:
    for at in world.instants[-3:]:
        expected = [edge.id for edge in world.edges_at(at)]
        found: list[int] = []
        with world.store.read(TENANT, FLEET, at) as s:
            while (page := page_edges(s, EdgeFilter(), first, found[-1] if found else None)).rows:
                found += [edge.id for edge in page.rows]
                assert page.has_next == (found != expected)
        assert found == expected


def _near(edge: EdgeRecord, outgoing: bool) -> int:
    return edge.source_id if outgoing else edge.target_id


@pytest.mark.parametrize("outgoing", [True, False])
@pytest.mark.parametrize("types", [None, SOME])
def test_each_node_has_a_page_of_its_own(
    world: World, outgoing: bool, types: frozenset[EdgeType] | None
) -> None:
    nodes = [*world.identities, 7]
    for at in world.instants:
        every = [edge for edge in world.edges_at(at) if types is None or edge.type in types]
        with world.store.read(TENANT, FLEET, at) as s:
            for after in (None, 200):
                pages = edges_around(s, nodes, outgoing=outgoing, types=types, first=2, after=after)
                assert pages.keys() == set(nodes)
                for node, page in pages.items():
                    expected = [
                        edge
                        for edge in every
                        if _near(edge, outgoing) == node and (after is None or edge.id > after)
                    ]
                    assert page.rows == expected[:2]
                    assert page.has_next == (len(expected) > 2)


@pytest.mark.parametrize("direction", Direction)
def test_neighbours_are_what_edges_lead_to(world: World, direction: Direction) -> None:
    for at in world.moments():
        expected: dict[int, list[tuple[int, int]]] = {}
        for edge in world.edges_at(at):
            if edge.type in PROPAGATING:
                ends = (edge.source_id, edge.target_id)
                if direction is not Direction.DEPENDENCIES:
                    expected.setdefault(ends[0], []).append((edge.id, ends[1]))
                if direction is not Direction.DEPENDENTS:
                    expected.setdefault(ends[1], []).append((edge.id, ends[0]))
        with world.store.read(TENANT, FLEET, at) as s:
            found = neighbours(s, world.identities, direction, PROPAGATING)
        assert {id: sorted(pairs) for id, pairs in found.items()} == {
            id: sorted(pairs) for id, pairs in expected.items()
        }


def test_edges_between_nodes_have_both_ends_among_them(world: World) -> None:
    nodes = set(list(world.identities)[::2])
    for at in world.moments():
        expected = [e for e in world.edges_at(at) if {e.source_id, e.target_id} <= nodes]
        with world.store.read(TENANT, FLEET, at) as s:
            assert edges_between(s, nodes) == expected


def test_any_number_of_nodes_takes_one_statement(world: World) -> None:
    few, many = [100], range(5_000)
    with world.store.read(TENANT, FLEET, world.instants[-2]) as s:
        for ids in (few, many):
            assert count(s, lambda: edges_by_id(s, ids)) == 1  # noqa: B023
            assert count(s, lambda: neighbours(s, ids, Direction.BOTH, None)) == 1  # noqa: B023
            assert count(s, lambda: edges_between(s, ids)) == 1  # noqa: B023
        for first in (1, 1_000):
            assert count(s, lambda: page_edges(s, EdgeFilter(), first, None)) == 1  # noqa: B023

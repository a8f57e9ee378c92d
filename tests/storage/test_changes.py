"""Changes tell of every window of time what a naive reader tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from retrograph.storage.changes import Position, page_changes, position_of
from retrograph.storage.records import ChangeKind, ChangeRecord
from tests.storage.counting import count
from tests.storage.world import FLEET, TENANT, Timeline, World, version_at


def _last_change(lines: Iterable[Timeline], since: int, to: int) -> int | None:
    moments = (at for line in lines for v in line for at in (v.begin, v.end) if at is not None)
    return max((at for at in moments if since < at <= to), default=None)


def _kind(there: bool, was_there: bool) -> ChangeKind:
    if there:
        return ChangeKind.CHANGED if was_there else ChangeKind.CREATED
    return ChangeKind.REMOVED


def _node_changes(world: World, since: int, to: int) -> Iterator[ChangeRecord]:
    for id in world.identities:
        lines = (world.states.lines[id], world.contents.lines[id])
        at = _last_change(lines, since, to)
        if at is not None:
            there, was_there = world.node(id, to) is not None, world.node(id, since) is not None
            told = to if there else at - 1
            yield ChangeRecord(at, _kind(there, was_there), told, node_id=id)


def _edge_changes(world: World, since: int, to: int) -> Iterator[ChangeRecord]:
    for id, line in world.edges.lines.items():
        at = _last_change([line], since, to)
        if at is not None:
            there = version_at(line, to) is not None
            edge = world.edge(id, to if there else at - 1)
            if edge is not None:
                kind = _kind(there, world.edge(id, since) is not None)
                yield ChangeRecord(at, kind, edge.as_of, edge=edge)


def _changes(world: World, since: int, to: int) -> list[ChangeRecord]:
    found = [*_node_changes(world, since, to), *_edge_changes(world, since, to)]
    return sorted(found, key=position_of)


def _windows(world: World) -> Iterator[tuple[int, int]]:
    starts = [world.instants[0] - 5, *world.instants]
    for place, since in enumerate(starts):
        for to in (*world.instants[place::3], world.instants[-1]):
            yield since, to
            yield since - 1, max(since, to - 1)


def test_a_window_tells_each_change_once(world: World) -> None:
    kinds = set()
    for since, to in _windows(world):
        expected = _changes(world, since, to)
        kinds |= {change.kind for change in expected}
        with world.store.read(TENANT, FLEET, to) as s:
            page = page_changes(s, since, 1_000, None)
        assert page.rows == expected
        assert (page.has_next, page.as_of) == (False, to)
    assert kinds == set(ChangeKind)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_pages_follow_each_other_without_gap_or_overlap(world: World, first: int) -> None:
    since, to = world.instants[2], world.instants[-1]
    expected, found = _changes(world, since, to), list[ChangeRecord]()
    after: Position | None = None
    with world.store.read(TENANT, FLEET, to) as s:
        while (page := page_changes(s, since, first, after)).rows:
            found += page.rows
            after = position_of(found[-1])
            assert page.has_next == (len(found) < len(expected))
    assert found == expected


def test_an_empty_window_holds_nothing(world: World) -> None:
    at = world.instants[4]
    with world.store.read(TENANT, FLEET, at) as s:
        assert page_changes(s, at, 10, None).rows == []
        assert page_changes(s, at + 1, 10, None).rows == []


def test_a_page_of_any_size_takes_at_most_five_statements(world: World) -> None:
    with world.store.read(TENANT, FLEET) as s:
        for first in (1, 1_000):
            assert count(s, lambda: page_changes(s, 0, first, None)) <= 5  # noqa: B023

"""Walks along edges as of an instant: what a node leads to, and what lies around some nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.walk import Reached, Walk
from retrograph.storage.edges import edges_between, neighbours
from retrograph.storage.nodes import present
from retrograph.storage.pages import page_of
from retrograph.storage.records import Direction, Neighbourhood, Page, ReachedRecord
from retrograph.storage.snapshot import Snapshot


def reached(
    s: Snapshot,
    starts: Collection[int],
    direction: Direction,
    types: Collection[EdgeType] = PROPAGATING,
    *,
    max_depth: int,
    first: int,
    after: tuple[int, int] | None = None,
) -> dict[int, Page[ReachedRecord]]:
    """A page for each start of what a walk from it reaches, by (depth, id), after `after`.

    One statement a level serves all starts, and one more looks whether all are nodes; a walk
    stops where its page is full.
    """
    position = (0, 0) if after is None else after

    def walked(checked: bool) -> dict[int, list[Reached]]:
        walk = Walk(starts, max_depth, enough=first + 1, after=position)
        while not walk.done:
            walk.advance(_ids_around(s, walk.wanted(), direction, types, checked))
        return {start: _following(walk.reached(start), position, first + 1) for start in starts}

    found = walked(checked=False)
    if not _are_nodes(s, {each.node for rows in found.values() for each in rows}):
        found = walked(checked=True)
    return {
        start: page_of(s, [ReachedRecord(r.node, r.depth, r.path) for r in rows], first)
        for start, rows in found.items()
    }


def neighbourhood(
    s: Snapshot, roots: Sequence[int], direction: Direction, *, max_depth: int, first: int
) -> Neighbourhood:
    """The first `first` nodes around the roots, nearest first, and every edge between them.

    The roots come first, in their order; then, a level at a time, what propagating edges lead to,
    by id.  `truncated` tells that there is more within `max_depth`.
    """

    def walked(checked: bool) -> list[int]:
        found = list(dict.fromkeys(roots))
        level, depth = set(found), 0
        seen = set(level)
        while level and depth < max_depth and len(found) <= first:
            around = _ids_around(s, level, direction, PROPAGATING, checked)
            level = {node_id for ids in around.values() for node_id in ids} - seen
            seen |= level
            found += sorted(level)
            depth += 1
        return found[: first + 1]

    found = walked(checked=False)
    if not _are_nodes(s, found):
        found = walked(checked=True)
    node_ids = found[:first]
    return Neighbourhood(node_ids, edges_between(s, node_ids), len(found) > first, s.instant)


def _ids_around(
    s: Snapshot,
    node_ids: Collection[int],
    direction: Direction,
    types: Collection[EdgeType],
    checked: bool,
) -> dict[int, list[int]]:
    around = neighbours(s, node_ids, direction, types, checked=checked)
    return {near: [far for _, far in pairs] for near, pairs in around.items()}


def _are_nodes(s: Snapshot, ids: Collection[int]) -> bool:
    """Whether no broken edge led astray.

    No walk goes on from what is no node, so that one can only be where a walk ends; edges are
    checked one by one only if there is one.
    """
    return len(present(s, ids)) == len(ids)


def _following(found: Iterable[Reached], after: tuple[int, int], most: int) -> list[Reached]:
    return list(islice((each for each in found if (each.depth, each.node) > after), most))

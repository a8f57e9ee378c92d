"""Walks along edges as of an instant: what a node leads to, and what lies around some nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.walk import Walk
from retrograph.storage.edges import edges_between, neighbours
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

    One statement a level serves all starts; a walk stops where its page is full.
    """
    position = (0, 0) if after is None else after
    walk = Walk(starts, max_depth, enough=first + 1, after=position)
    while not walk.done:
        walk.advance(_ids_around(s, walk.wanted(), direction, types))
    return {start: _page(s, walk, start, position, first) for start in starts}


def neighbourhood(
    s: Snapshot, roots: Sequence[int], direction: Direction, *, max_depth: int, first: int
) -> Neighbourhood:
    """The first `first` nodes around the roots, nearest first, and every edge between them.

    The roots come first, in their order; then, a level at a time, what propagating edges lead to,
    by id.  `truncated` tells that there is more within `max_depth`.
    """
    found = list(dict.fromkeys(roots))
    level, depth = set(found), 0
    seen = set(level)
    while level and depth < max_depth and len(found) <= first:
        around = _ids_around(s, level, direction, PROPAGATING)
        level = {node_id for ids in around.values() for node_id in ids} - seen
        seen |= level
        found += sorted(level)
        depth += 1
    node_ids = found[:first]
    return Neighbourhood(node_ids, edges_between(s, node_ids), len(found) > first, s.instant)


def _ids_around(
    s: Snapshot, node_ids: Collection[int], direction: Direction, types: Collection[EdgeType]
) -> dict[int, list[int]]:
    around = neighbours(s, node_ids, direction, types)
    return {near: [far for _, far in pairs] for near, pairs in around.items()}


def _page(
    s: Snapshot, walk: Walk, start: int, after: tuple[int, int], first: int
) -> Page[ReachedRecord]:
    following = (found for found in walk.reached(start) if (found.depth, found.node) > after)
    rows = [ReachedRecord(f.node, f.depth, f.path) for f in islice(following, first + 1)]
    return page_of(s, rows, first)

"""Dependency paths between two nodes, as of an instant."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.paths import DependencyPath, PathSearch
from retrograph.storage.edges import neighbours
from retrograph.storage.nodes import present
from retrograph.storage.pages import page_of
from retrograph.storage.records import Direction, Page, PathRecord
from retrograph.storage.snapshot import Snapshot


def page_paths(
    s: Snapshot,
    source_id: int,
    target_id: int,
    types: Collection[EdgeType] = PROPAGATING,
    *,
    max_depth: int,
    first: int,
    after: PathRecord | None = None,
) -> Page[PathRecord]:
    """The simple paths from the source to the target: by length, then node ids, then edge ids.

    One statement a length.  The page is `truncated` when the search used up its budget: there may
    be more paths than it tells.  `InvalidCursor` if `after` is no path between the two.
    """
    last = None if after is None else DependencyPath(after.nodes, after.edges)
    search = PathSearch(source_id, target_id, max_depth, after=last)
    found: list[PathRecord] = []
    if not present(s, [source_id]):
        return page_of(s, found, first)
    while not search.done and len(found) <= first:
        # Every other node of a path is asked for what leads to it, and must be a node for that.
        around = neighbours(s, search.wanted(), Direction.DEPENDENCIES, types, checked=False)
        search.feed(around)
        found += [PathRecord(*path) for path in islice(search.paths(), first + 1 - len(found))]
    return page_of(s, found, first, truncated=search.truncated)

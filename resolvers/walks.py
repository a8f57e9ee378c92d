"""Walks along edges as of an instant (None: the last committed one)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_ref, require_nodes
from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.limits import (
    MAX_FIRST,
    MAX_PATH_DEPTH,
    check_batch,
    check_depth,
    check_first,
)
from retrograph.storage import paths, walks
from retrograph.storage.records import (
    Direction,
    Neighbourhood,
    NodeRef,
    Page,
    PathRecord,
    ReachedRecord,
)


def reached(
    scope: Scope,
    fleet_id: int,
    at: int | None,
    starts: Collection[int],
    direction: Direction,
    max_depth: int,
    first: int,
    after: tuple[int, int] | None = None,
) -> dict[int, Page[ReachedRecord]]:
    """A page for each start of what a walk reaches, by (depth, id), after the position `after`."""
    check_depth(max_depth)
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return walks.reached(
            snapshot, starts, direction, max_depth=max_depth, first=first, after=after
        )


def neighbourhood(
    scope: Scope,
    fleet_id: int,
    roots: Sequence[NodeRef],
    direction: Direction,
    max_depth: int,
    first: int,
    at: int | None = None,
) -> Neighbourhood:
    """What lies around the roots, cut off at `first` nodes; before all history, nothing.

    Raises `NotFound` where a root is no node at the instant.
    """
    check_depth(max_depth)
    check_first(first)
    check_batch(len(roots), MAX_FIRST, field=("roots",))
    named = [(ref, ("roots", str(place))) for place, ref in enumerate(roots)]
    for ref, path in named:
        check_ref(ref, path)
    with scope.snapshot(fleet_id, at) as snapshot:
        if snapshot.blank:
            return Neighbourhood([], [], truncated=False, as_of=snapshot.instant)
        ids = require_nodes(snapshot, named)
        return walks.neighbourhood(
            snapshot, [ids[ref] for ref in roots], direction, max_depth=max_depth, first=first
        )


def find_paths(  # noqa: PLR0913, PLR0917 (what a search takes)
    scope: Scope,
    fleet_id: int,
    source: NodeRef,
    target: NodeRef,
    types: Collection[EdgeType] | None,
    max_depth: int,
    first: int,
    after: PathRecord | None = None,
    at: int | None = None,
) -> Page[PathRecord]:
    """A page of simple paths, after the path `after`; by propagating edges unless types are given.

    Before all history there is none. Raises `NotFound` where an end is no node at the instant.
    """
    check_depth(max_depth, MAX_PATH_DEPTH)
    check_first(first)
    named = [(source, ("from",)), (target, ("to",))]
    for ref, path in named:
        check_ref(ref, path)
    kinds = PROPAGATING if types is None else types
    with scope.snapshot(fleet_id, at) as snapshot:
        if snapshot.blank:
            return Page([], has_next=False, as_of=snapshot.instant)
        ids = require_nodes(snapshot, named)
        ends = ids[source], ids[target]
        return paths.page_paths(
            snapshot, *ends, kinds, max_depth=max_depth, first=first, after=after
        )

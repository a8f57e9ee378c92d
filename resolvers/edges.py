"""Reads edges as of an instant (None: the last committed one)."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_ref, require_nodes
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.limits import check_first
from retrograph.storage import edges
from retrograph.storage.filters import EdgeFilter
from retrograph.storage.records import EdgeRecord, NodeRef, Page


def list_edges(
    scope: Scope,
    fleet_id: int,
    types: Collection[EdgeType] | None,
    source: NodeRef | None,
    target: NodeRef | None,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[EdgeRecord]:
    """A page of edges by id, after the id `after`: of these types, out of and into these nodes.

    Before all history there is none. Raises `NotFound` where an end that is given is no node at
    the instant.
    """
    check_first(first)
    ends = {"source": source, "target": target}
    named = [(ref, ("filter", name)) for name, ref in ends.items() if ref is not None]
    for ref, path in named:
        check_ref(ref, path)
    kinds = None if types is None else frozenset(types)
    with scope.snapshot(fleet_id, at) as snapshot:
        if snapshot.blank:
            return Page([], has_next=False, as_of=snapshot.instant)
        ids = require_nodes(snapshot, named)
        wanted = EdgeFilter(kinds, *(None if ref is None else ids[ref] for ref in ends.values()))
        return edges.page_edges(snapshot, wanted, first, after)


def load_edges(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, EdgeRecord]:
    """Those of `ids` that are edges at the instant."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return edges.edges_by_id(snapshot, ids)


def edges_around(
    scope: Scope,
    fleet_id: int,
    at: int | None,
    ids: Collection[int],
    outgoing: bool,
    types: Collection[EdgeType] | None,
    first: int,
    after: int | None = None,
) -> dict[int, Page[EdgeRecord]]:
    """A page for each node of the edges out of it, or into it, by edge id, after `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return edges.edges_around(
            snapshot, ids, outgoing=outgoing, types=types, first=first, after=after
        )

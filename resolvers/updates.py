"""Reads what a stream is told of: the nodes that match, then what changes, and events of them."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.events import check_reached
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_nodes
from retrograph.storage import updates
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import EventType, NodeRef
from retrograph.storage.subtrees import Subtree
from retrograph.storage.update_records import Place
from retrograph.storage.updates import Audience, Part


def find_audience(
    scope: Scope, fleet_id: int, filter: NodeFilter, subtree_of: NodeRef | None
) -> Audience:
    """Whom a filter means; raises `NotFound` where there is no such root at present."""
    if subtree_of is None:
        return Audience(filter, None)
    with scope.snapshot(fleet_id) as snapshot:
        found = require_nodes(snapshot, [(subtree_of, ("filter", "subtreeOf"))])
    return Audience(filter, Subtree(found[subtree_of]))


def list_matching_nodes(
    scope: Scope, fleet_id: int, audience: Audience, at: int, after: int | None, first: int
) -> Part:
    """Nodes that match at an instant, by id, after the id `after`."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return updates.matching_nodes(snapshot, audience, first, after)


def list_updates(scope: Scope, fleet_id: int, audience: Audience, after: Place, first: int) -> Part:
    """What changed behind a place, up to the last commit."""
    with scope.snapshot(fleet_id) as snapshot:
        return updates.page_updates(snapshot, audience, after, first)


def list_matching_events(
    scope: Scope,
    fleet_id: int,
    audience: Audience,
    types: Collection[EventType] | None,
    after: tuple[int, int],
    first: int,
) -> Part:
    """Events behind a place, up to the last commit; raises `InvalidCursor` for one ahead of it."""
    kinds = None if types is None else frozenset(types)
    with scope.snapshot(fleet_id) as snapshot:
        check_reached(after, snapshot.clock)
        return updates.matching_events(snapshot, audience, kinds, after, first)


def check_readable(scope: Scope, fleet_id: int, at: int) -> None:
    """Raises where what changed since an instant can't be told.

    `InvalidCursor` where it lies in the future, `BeyondRetention` where history is gone.
    """
    with scope.snapshot(fleet_id) as snapshot:
        check_reached((at, 0), snapshot.clock)
    with scope.snapshot(fleet_id, at):
        pass

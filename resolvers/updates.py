"""Reads what a stream is told of: what is there, then what changes, and events about nodes."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.events import check_reached
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_nodes
from retrograph.storage.audience import Audience
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import EventType, NodeRef
from retrograph.storage.subtrees import Subtree
from retrograph.storage.update_events import matching_events
from retrograph.storage.update_records import Part, Place
from retrograph.storage.update_snapshot import page_present
from retrograph.storage.updates import page_updates


def find_audience(
    scope: Scope, fleet_id: int, filter: NodeFilter, subtree_of: NodeRef | None
) -> Audience:
    """Whom a filter means; raises `NotFound` where there is no such root at present."""
    if subtree_of is None:
        return Audience(filter, None)
    with scope.snapshot(fleet_id) as snapshot:
        found = require_nodes(snapshot, [(subtree_of, ("filter", "subtreeOf"))])
    return Audience(filter, Subtree(found[subtree_of]))


def list_present(scope: Scope, fleet_id: int, audience: Audience, after: Place, first: int) -> Part:
    """What is there at the instant of a place, behind it: nodes by id, with their edges."""
    with scope.snapshot(fleet_id, after.at) as snapshot:
        return page_present(snapshot, audience, after, first)


def list_updates(scope: Scope, fleet_id: int, audience: Audience, after: Place, first: int) -> Part:
    """What changed behind a place, up to the last commit."""
    with scope.snapshot(fleet_id) as snapshot:
        return page_updates(snapshot, audience, after, first)


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
        return matching_events(snapshot, audience, kinds, after, first)


def check_readable(scope: Scope, fleet_id: int, at: int) -> None:
    """Raises where what changed since an instant can't be told.

    `InvalidCursor` where it lies in the future, `BeyondRetention` where history is gone.
    """
    with scope.snapshot(fleet_id) as snapshot:
        check_reached((at, 0), snapshot.clock)
    with scope.snapshot(fleet_id, at):
        pass

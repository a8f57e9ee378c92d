"""Reads nodes, and what hangs on them, as of an instant (None: the last committed one)."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_ref
from retrograph.rules.limits import check_first
from retrograph.storage import evidence, history, node_lists, nodes, staleness
from retrograph.storage.filters import NodeFilter
from retrograph.storage.id_set import Place
from retrograph.storage.records import (
    EvidenceRecord,
    NodeRecord,
    NodeRef,
    Page,
    StalenessRecord,
)


def get_node(scope: Scope, fleet_id: int, ref: NodeRef, at: int | None = None) -> NodeRecord | None:
    """The node that `ref` names, None where there is none at the instant."""
    check_ref(ref, ("by",))
    with scope.snapshot(fleet_id, at) as snapshot:
        ids = list(nodes.find_nodes(snapshot, [ref]).values()) if ref.id is None else [ref.id]
        return next(iter(nodes.nodes_by_id(snapshot, ids).values()), None)


def list_nodes(
    scope: Scope,
    fleet_id: int,
    filter: NodeFilter,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[NodeRecord]:
    """A page of the nodes that pass the filter, by id, after the id `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return node_lists.page_nodes(snapshot, filter, first, after)


def load_known(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, NodeRecord]:
    """Those of `ids` that are nodes at the instant, and those that were: as they last were."""
    with scope.snapshot(fleet_id, at) as snapshot:
        found = nodes.nodes_by_id(snapshot, ids)
        left = history.last_seen(snapshot, set(ids) - found.keys())
        gone = nodes.nodes_then(snapshot, left.items())
        return found | {node.id: node for node in gone.values()}


def load_nodes_then(
    scope: Scope, fleet_id: int, places: Collection[Place]
) -> dict[Place, NodeRecord]:
    """Those of `places`, none of the future, where there was a node."""
    with scope.snapshot(fleet_id) as snapshot:
        return nodes.nodes_then(snapshot, places)


def history_of(
    scope: Scope,
    fleet_id: int,
    at: int | None,
    ids: Collection[int],
    first: int,
    after: int | None = None,
) -> dict[int, Page[NodeRecord]]:
    """A page of versions for each id, newest first, of those that began before `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return history.histories(snapshot, ids, first, after)


def evidence_of(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, list[EvidenceRecord]]:
    """The evidence that hangs on each id."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return evidence.evidence_of(snapshot, ids)


def staleness_of(
    scope: Scope, fleet_id: int, at: int | None, nodes: Collection[NodeRecord]
) -> dict[str, StalenessRecord | None]:
    """Why each node is not healthy, by version id; None where it is, or where no run says."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return staleness.staleness_of(snapshot, nodes)

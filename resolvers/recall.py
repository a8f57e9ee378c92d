"""`recall`: what a fleet's episodes have to say to a situation, as of an instant."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.episode_inputs import (
    INPUT,
    RecallRequest,
    check_recall,
    read_terms,
    read_urns,
)
from retrograph.resolvers.episodes import fallen_nodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.arrays import Flags
from retrograph.rules.eligible import ids_at, narrowed, without
from retrograph.rules.embedding import check_dimension
from retrograph.rules.entity import expand
from retrograph.rules.fusion import Fused
from retrograph.rules.search import Query, fuse_lists, lists
from retrograph.storage.domain_indexes import DomainView
from retrograph.storage.entity_relations import related
from retrograph.storage.episode_records import EpisodeRecord
from retrograph.storage.episodes import episodes_by_id, find_domain
from retrograph.storage.snapshot import Snapshot

_LOOKS = 3
"""How often only those that were found are asked for what they are based on; then all are."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """An episode that was recalled, and what it was recalled for."""

    episode: EpisodeRecord
    scores: Fused


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled, best first."""

    instant: int
    found: list[Recollection]


def recall(
    scope: Scope,
    fleet_id: int,
    request: RecallRequest,
    at: int | None = None,
    *,
    is_use: bool = False,
) -> Recalled:
    """The best `top_k` active episodes of a domain, none of which rests on a fallen node.

    With `is_use` they count as used, which is written down later (`write_uses`).  A domain in
    which nothing was stored has none.  Raises `InvalidInput`, `DomainTooLarge`.
    """
    vector = check_recall(request)
    urns = read_urns(scope.tenant_id, request.entities, (*INPUT, "entities"))
    terms = [*read_urns(scope.tenant_id, request.about, (*INPUT, "about"))]
    terms += read_terms(request.metadata)
    with scope.snapshot(fleet_id, at) as s:
        domain = find_domain(s, request.domain)
        if domain is None:
            return Recalled(s.instant, [])
        check_dimension(vector, domain.dimension, (*INPUT, "embedding"))
        view = scope.store.indexes.view(s, domain)
        entities = expand(urns, related(s, urns, request.hops), request.hops)
        query = Query(vector, entities, request.threshold, request.top_k)
        fused = _search(s, view, query, narrowed(view.index, view.active, terms))
        records = episodes_by_id(s, [each.id for each in fused])
        if is_use:
            scope.store.uses.note((s.tenant_id, s.fleet_id), records, scope.store.now())
        return Recalled(s.instant, [Recollection(records[each.id], each) for each in fused])


def _search(s: Snapshot, view: DomainView, query: Query, eligible: Flags) -> list[Fused]:
    """Searches until nothing that is found rests on a fallen node."""
    looks = 0
    while True:
        dense, graph = lists(view.index, query, eligible)
        found = {*ids_at(view.index, dense), *ids_at(view.index, graph)}
        looks += 1
        asked = found if looks < _LOOKS else {*view.bases}
        fallen = _fallen(s, view, asked)
        if not fallen & found:
            return fuse_lists(view.index, query, dense, graph)
        eligible = without(view.index, eligible, fallen)


def _fallen(s: Snapshot, view: DomainView, ids: set[int]) -> set[int]:
    """Those episodes that rest on a fallen node."""
    bases = {id: view.bases[id] for id in ids if id in view.bases}
    fallen = fallen_nodes(s, {node for nodes in bases.values() for node in nodes})
    return {id for id, nodes in bases.items() if not fallen.isdisjoint(nodes)}

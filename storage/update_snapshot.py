"""What a stream begins with: what an audience hears of at an instant, nodes by id with their edges.

An edge stands behind the last of its ends that the audience hears of.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from retrograph.rules.limits import MIN_ID
from retrograph.storage.audience import Audience, View
from retrograph.storage.edges import edges_by_id
from retrograph.storage.edges_beside import edges_beside
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import NodeRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.update_records import NODE, Part, Place, UpdateKind, UpdateRecord


def page_present(s: Snapshot, audience: Audience, after: Place, first: int) -> Part:
    """What is there behind a place of the snapshot's instant; `last` is the place it leads to.

    It takes the same number of statements whatever `first` is, a walk of the subtree apart.
    """
    audience.prepare(s, s.instant, s.instant)
    if after.amid:
        rest = _beside(s, [after.id], after.edge, first)
        last = rest[first - 1] if len(rest) > first else after.passed()
        return Part(_edges(s, audience, rest[:first]), last, True, s.instant)
    nodes, reached, has_next = _nodes(s, audience, after.id, first)
    told = {
        place: UpdateRecord(place, UpdateKind.PRESENT, node=each)
        for each in nodes
        for place in [Place(s.instant, NODE, each.id)]
    }
    both = sorted({*told, *_beside(s, [each.id for each in nodes], MIN_ID, first)})
    places = both[:first]
    told |= {each.place: each for each in _edges(s, audience, [p for p in places if not p.is_node])}
    cut = len(both) > first
    last = places[-1] if cut else Place(s.instant, NODE, reached).passed()
    return Part([told[p] for p in places if p in told], last, has_next or cut, s.instant)


def _nodes(
    s: Snapshot, audience: Audience, after: int, first: int
) -> tuple[Sequence[NodeRecord], int, bool]:
    """The next nodes that match, the id that this leads to, and whether there are more."""
    if audience.subtree is None:
        page = page_nodes(s, audience.filter, first, after)
        return page.rows, page.rows[-1].id if page.rows else after, page.has_next
    ids = audience.filter.ids
    members = audience.subtree.at(s.instant)
    rest = sorted(id for id in members if id > after and (ids is None or id in ids))
    some = rest[:first]
    if not some:
        return (), after, False
    page = page_nodes(s, replace(audience.filter, ids=frozenset(some)), first, None)
    return page.rows, some[-1], len(rest) > len(some)


def _beside(s: Snapshot, ids: Collection[int], after: int, first: int) -> list[Place]:
    """Where edges may stand behind some nodes; more than `first` if there are."""
    found = edges_beside(s, [(id, s.instant) for id in ids], after, first + 1)
    return [Place(at, NODE, node, id) for at, node, id in found]


def _edges(s: Snapshot, audience: Audience, places: Collection[Place]) -> list[UpdateRecord]:
    view, at = View(s, audience), s.instant
    found = edges_by_id(s, {each.edge for each in places})
    view.look_at_ends([(each, at) for each in found.values()])
    return [
        UpdateRecord(place, UpdateKind.PRESENT, edge=found[place.edge])
        for place in sorted(places)
        if place.edge in found and _is_last(view, place.id, found[place.edge].far_end(place.id), at)
    ]


def _is_last(view: View, near: int, far: int, at: int) -> bool:
    return far < near or not view.hears(far, at)

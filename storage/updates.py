"""What changed after an instant: every version of a node or an edge, in the order of instants.

Where `changes` tells what became of an object in a window, this tells each step on the way. A
node changes where a state of it ends or a content of it begins, and for a subtree where an edge
brings it there or away; an edge where it comes or goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, FromClause, Select, bindparam, select, union

from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.storage.changes import in_window
from retrograph.storage.edges import edges_then
from retrograph.storage.filters import NodeFilter, passes
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.nodes import SeenNode, nodes_then, seen_then
from retrograph.storage.outbox import page_events
from retrograph.storage.prepared import Frame, fetch, lasted, prepared, scoped
from retrograph.storage.records import EdgeRecord, EventRecord, EventType, NodeRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.subtrees import Subtree
from retrograph.storage.tables import edge, node_content, node_state
from retrograph.storage.update_records import Place, UpdateKind, UpdateRecord

NODE, EDGE = 0, 1

Then = tuple[int, int]
"""The id of something, and an instant."""


@dataclass(frozen=True, slots=True)
class Audience:
    """What a stream is told of: nodes that pass a filter and, where one is given, of a subtree.

    It belongs to one stream.
    """

    filter: NodeFilter
    subtree: Subtree | None

    @property
    def open(self) -> bool:
        """Whether it is told of everything."""
        return self.subtree is None and self.filter == NodeFilter()

    def prepare(self, s: Snapshot, since: int, until: int) -> None:
        """To be called before it is asked about instants from `since` to `until`."""
        if self.subtree is not None:
            self.subtree.prepare(s, since, until)

    def turns(self) -> Iterator[Place]:
        """Where nodes came into the subtree or left it, as far as it was prepared."""
        for at, ids in () if self.subtree is None else self.subtree.turns():
            yield from (Place(at, NODE, id) for id in ids)

    def hears(self, seen: SeenNode | None, at: int) -> bool:
        """Whether it is told of a node that was seen at an instant."""
        if seen is None or not passes(self.filter, seen):
            return False
        return self.subtree is None or seen.id in self.subtree.at(at)


class Part(NamedTuple):
    """A part of a stream: what is told, how far that leads, and whether there is more by now."""

    rows: Sequence[Any]
    last: Any
    has_next: bool
    as_of: int


def matching_nodes(s: Snapshot, audience: Audience, first: int, after: int | None) -> Part:
    """The nodes that match at the instant, by id, after the id `after`; `last` is an id."""
    if audience.subtree is None:
        page = page_nodes(s, audience.filter, first, after)
        return Part(page.rows, page.rows[-1].id if page.rows else after, page.has_next, s.instant)
    audience.prepare(s, s.instant, s.instant)
    start, ids = MIN_ID if after is None else after, audience.filter.ids
    members = audience.subtree.at(s.instant)
    rest = sorted(id for id in members if id > start and (ids is None or id in ids))
    some = rest[:first]
    if not some:
        return Part((), after, False, s.instant)
    page = page_nodes(s, replace(audience.filter, ids=frozenset(some)), first, None)
    return Part(page.rows, some[-1], len(rest) > len(some), s.instant)


def matching_events(
    s: Snapshot,
    audience: Audience,
    types: frozenset[EventType] | None,
    after: tuple[int, int] | None,
    first: int,
) -> Part:
    """Of a page of the outbox what is about nodes that match at its instant; `last` is a place."""
    page = page_events(s, types, after, first)
    last = (page.rows[-1].at, page.rows[-1].ordinal) if page.rows else after
    rows = page.rows if audience.open else _heard(s, audience, page.rows)
    return Part(rows, last, page.has_next, page.as_of)


def _heard(s: Snapshot, audience: Audience, rows: Sequence[EventRecord]) -> list[EventRecord]:
    about = [each for each in rows if each.node_id is not None]
    if not about:
        return []
    audience.prepare(s, about[0].at, about[-1].at)
    seen = seen_then(s, {(each.node_id or 0, each.at) for each in about})
    return [
        each for each in about if audience.hears(seen.get((each.node_id or 0, each.at)), each.at)
    ]


def page_updates(s: Snapshot, audience: Audience, after: Place, first: int) -> Part:
    """What changed behind a place and up to the instant, as an audience is told of it.

    It takes the same number of statements whatever `first` is, a walk of the subtree apart.
    `last` is the place of the last change, whether it was told or not.
    """
    after_node, after_edge = (after.id, MIN_ID) if after.what == NODE else (MAX_ID, after.id)
    changed = {
        *(Place(at, NODE, id) for at, id in _fetch(s, _nodes, after.at, after_node, first)),
        *(Place(at, EDGE, id) for at, id in _fetch(s, _edges, after.at, after_edge, first)),
    }
    known = max(changed) if len(changed) > first else _end(s)
    audience.prepare(s, max(after.at, s.began) - 1, known.at)
    changed |= {each for each in audience.turns() if after < each <= known}
    places = sorted(changed)[:first]
    told = {
        **_of_nodes(s, audience, [each for each in places if each.what == NODE]),
        **_of_edges(s, audience, [each for each in places if each.what == EDGE]),
    }
    rows = [told[each] for each in places if each in told]
    return Part(rows, places[-1] if places else after, len(changed) > first, s.instant)


def _end(s: Snapshot) -> Place:
    return Place(s.instant, EDGE, MAX_ID)


def _of_nodes(
    s: Snapshot, audience: Audience, places: Sequence[Place]
) -> dict[Place, UpdateRecord]:
    seen = seen_then(s, _around(places))
    kinds = {each: _node_kind(audience, seen, each) for each in places}
    heard = {each: kind for each, kind in kinds.items() if kind is not None}
    shown = {each: _shown(each, (each.id, each.at) in seen) for each in heard}
    found: dict[Then, NodeRecord] = nodes_then(s, set(shown.values()))
    return {each: UpdateRecord(each, kind, node=found[shown[each]]) for each, kind in heard.items()}


def _node_kind(audience: Audience, seen: dict[Then, SeenNode], place: Place) -> UpdateKind | None:
    at, _, id = place
    return _kind(*(audience.hears(seen.get((id, then)), then) for then in (at, at - 1)))


def _of_edges(
    s: Snapshot, audience: Audience, places: Sequence[Place]
) -> dict[Place, UpdateRecord]:
    found = edges_then(s, _around(places))
    seen = seen_then(s, {end for then, each in found.items() for end in _ends(each, then[1])})
    there = {then for then, each in found.items() if _is_heard(audience, seen, each, then[1])}
    told = {}
    for each in places:
        at, _, id = each
        kind = _kind((id, at) in there, (id, at - 1) in there)
        if kind is not None:
            record = found[_shown(each, (id, at) in there)]
            told[each] = UpdateRecord(each, kind, edge=record)
    return told


def _is_heard(audience: Audience, seen: dict[Then, SeenNode], found: EdgeRecord, at: int) -> bool:
    """Whether an edge is whole, and touches a node that the audience is told of."""
    ends = [seen.get(end) for end in _ends(found, at)]
    return (
        found.source_id != found.target_id
        and all(ends)
        and any(audience.hears(end, at) for end in ends)
    )


def _ends(found: EdgeRecord, at: int) -> tuple[Then, Then]:
    return (found.source_id, at), (found.target_id, at)


def _around(places: Collection[Place]) -> set[Then]:
    """What changed as it became, and as it was just before."""
    return {(id, then) for at, _, id in places for then in (at, at - 1)}


def _shown(place: Place, there: bool) -> Then:
    return place.id, place.at if there else place.at - 1


def _kind(now: bool, before: bool) -> UpdateKind | None:
    if now:
        return UpdateKind.CHANGED if before else UpdateKind.ENTERED
    return UpdateKind.LEFT if before else None


def _fetch(s: Snapshot, build: Any, at: int, after: int, first: int) -> Iterator[tuple[int, int]]:
    return (row[:2] for row in fetch(s, build, at=at, after=after, rows=first + 1))


@prepared
def _nodes(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    """Ends of states and beginnings of contents: a node that comes begins a content, too."""
    ended, begun, closed = node_state.history, node_content.current, node_content.history
    return _merged(
        _changes(ended, ended.c.valid_to).where(lasted(ended)),
        _changes(begun, begun.c.valid_from),
        _changes(closed, closed.c.valid_from).where(lasted(closed)),
    )


@prepared
def _edges(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    now, closed = edge.current, edge.history
    return _merged(
        _changes(now, now.c.valid_from),
        _changes(closed, closed.c.valid_from).where(lasted(closed)),
        _changes(closed, closed.c.valid_to).where(lasted(closed)),
    )


def _merged(*streams: Select[Any]) -> Executable:
    return union(*streams).order_by("at", "id").limit(bindparam("rows"))


def _changes(table: FromClause, at: ColumnElement[int]) -> Select[Any]:
    changed = select(at.label("at"), table.c.id.label("id"))
    return changed.where(*scoped(table), *in_window(at, table.c.id))

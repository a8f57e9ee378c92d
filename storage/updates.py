"""What changed after an instant: every version of a node or an edge, in the order of instants.

Where `changes` tells what became of an object in a window, this tells each step on the way. A
node changes where a state of it ends or a content of it begins, and for a subtree where an edge
brings it there or away; an edge where it comes or goes, and where the nodes that it touches come
into what is watched, or leave it. The latter stands behind the last of its ends that did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Executable, FromClause, Select, bindparam, select, union

from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.storage.audience import Audience, Then, View
from retrograph.storage.changes import in_window
from retrograph.storage.edges import edges_then
from retrograph.storage.edges_beside import edges_beside
from retrograph.storage.nodes import nodes_then
from retrograph.storage.prepared import Frame, fetch, lasted, prepared, scoped
from retrograph.storage.records import EdgeRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, node_content, node_state
from retrograph.storage.update_records import EDGE, NODE, Part, Place, UpdateKind, UpdateRecord


def page_updates(s: Snapshot, audience: Audience, after: Place, first: int) -> Part:
    """What changed behind a place and up to the instant, as an audience is told of it.

    It takes the same number of statements whatever `first` is, a walk of the subtree apart.
    `last` is the place of the last change, whether it was told or not.
    """
    view = View(s, audience)
    audience.prepare(s, max(after.at, s.began) - 1, after.at)
    if after.amid and _turned(view, [after]):
        places = _brought(s, [after], after.edge, first)
        end = after.passed() if len(places) <= first else places[first - 1]
        return Part(_told(s, view, places[:first]), end, True, s.instant)
    changed = _changed(s, audience, after, first)
    places = sorted(changed)[:first]
    turned = _turned(view, [each for each in places if each.is_node])
    places = sorted({*places, *_brought(s, turned, MIN_ID, first)})
    cut = len(places) > first
    end = places[:first][-1] if places else after
    told = _told(s, view, places[:first])
    return Part(told, end if cut else end.passed(), cut or len(changed) > first, s.instant)


def _changed(s: Snapshot, audience: Audience, after: Place, first: int) -> set[Place]:
    """Where something changed; more than `first` places if there are, all those before them."""
    after_node, after_edge = (after.id, MIN_ID) if after.what == NODE else (MAX_ID, after.id)
    changed = {
        *(Place(at, NODE, id) for at, id in _fetch(s, _nodes, after.at, after_node, first)),
        *(Place(at, EDGE, id) for at, id in _fetch(s, _edges, after.at, after_edge, first)),
    }
    known = max(changed) if len(changed) > first else Place(s.instant, EDGE, MAX_ID)
    audience.prepare(s, max(after.at, s.began) - 1, known.at)
    turns = (each for each in audience.turns(after) if each <= known)
    return changed | set(islice(turns, first + 1))


def _turned(view: View, nodes: Sequence[Place]) -> list[Place]:
    """Where nodes came, went, entered or left."""
    view.look(_around((each.id, each.at) for each in nodes))
    return [each for each in nodes if view.turned(each.id, each.at)]


def _brought(s: Snapshot, turned: Collection[Place], after: int, first: int) -> list[Place]:
    """Where edges may come or go since nodes turned: those that were there before."""
    before = [(each.id, each.at - 1) for each in turned]
    found = edges_beside(s, before, after, first + 1)
    return [Place(at + 1, NODE, node, id) for at, node, id in found]


def _told(s: Snapshot, view: View, places: Sequence[Place]) -> list[UpdateRecord]:
    told = {
        **_of_nodes(s, view, [each for each in places if each.is_node]),
        **_of_edges(s, view, [each for each in places if not each.is_node]),
    }
    return [told[each] for each in places if each in told]


def _of_nodes(s: Snapshot, view: View, places: Sequence[Place]) -> dict[Place, UpdateRecord]:
    kinds = {each: _kind(*(view.hears(each.id, then) for then in _steps(each))) for each in places}
    heard = {each: kind for each, kind in kinds.items() if kind is not None}
    shown = {each: _shown(each.id, each.at, view.is_there(each.id, each.at)) for each in heard}
    found = nodes_then(s, set(shown.values()))
    return {each: UpdateRecord(each, kind, node=found[shown[each]]) for each, kind in heard.items()}


def _of_edges(s: Snapshot, view: View, places: Sequence[Place]) -> dict[Place, UpdateRecord]:
    found = edges_then(s, _around((each.edge_id, each.at) for each in places))
    view.look_at_ends([(each, at) for (_, at), each in found.items()])
    told = {}
    for each in places:
        now, before = (found.get((each.edge_id, then)) for then in _steps(each))
        kind = _edge_kind(view, each, now, before)
        if kind is not None:
            there = now is not None and view.is_whole(now, each.at)
            record = found[_shown(each.edge_id, each.at, there)]
            told[each] = UpdateRecord(each, kind, edge=record)
    return told


def _edge_kind(
    view: View, place: Place, now: EdgeRecord | None, before: EdgeRecord | None
) -> UpdateKind | None:
    at = place.at
    kind = _kind(
        now is not None and view.hears_edge(now, at),
        before is not None and view.hears_edge(before, at - 1),
    )
    if place.what == EDGE:
        return kind
    if now is None or before is None or now.valid_from == at or kind is UpdateKind.CHANGED:
        return None  # it came or went by itself, or nothing became of it
    far = now.far_end(place.id)
    return None if far > place.id and view.turned(far, at) else kind


def _steps(place: Place) -> tuple[int, int]:
    """When it became what it is, and just before."""
    return place.at, place.at - 1


def _around(places: Iterable[Then]) -> set[Then]:
    """What changed as it became, and as it was just before."""
    return {(id, then) for id, at in places for then in (at, at - 1)}


def _shown(id: int, at: int, there: bool) -> Then:
    return id, at if there else at - 1


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

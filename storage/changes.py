"""What changed in a window of time: one row a node or edge, in the order of their last changes.

The rows come from streams, those of nodes in one statement and those of edges in another.  Each
is in the order of the page and driven by an index on when versions began or ended, so that a small
window is cheap however long the history is.  A stream gives an object where it changed last in the
window; what it changed before is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    FromClause,
    Select,
    bindparam,
    exists,
    literal_column,
    or_,
    select,
    union_all,
)

from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.storage.edges import COLUMNS, edge_record, edges_by_id
from retrograph.storage.nodes import present
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import (
    INSTANT,
    Frame,
    fetch,
    lasted,
    prepared,
    scoped,
    within_scope,
)
from retrograph.storage.presence import is_node
from retrograph.storage.records import ChangeKind, ChangeRecord, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, node_content, node_state

_NODE, _EDGE = 0, 1

_ZERO: ColumnElement[int] = literal_column("0", BigInteger)
_ONE: ColumnElement[int] = literal_column("1", BigInteger)
_LATER = node_state.history.alias("later_state")

Rows = Sequence[Sequence[Any]]

Position = tuple[int, int, int]
"""Where a page goes on: the instant of a change, 0 for a node or 1 for an edge, its id."""


def position_of(change: ChangeRecord) -> Position:
    """The place of a row in the order of the page."""
    if change.edge is not None:
        return change.at, _EDGE, change.edge.id
    return change.at, _NODE, change.node_id or 0


def page_changes(s: Snapshot, since: int, first: int, after: Position | None) -> Page[ChangeRecord]:
    """What changed after `since` and up to the snapshot's instant, after the position `after`.

    `REMOVED` is what is gone at the instant (also what came and went within the window), `CREATED`
    what is there and was not at `since`, `CHANGED` the rest, also what is as it was again.
    """
    at, what, id = (since + 1, _NODE, MIN_ID) if after is None else after
    after_node, after_edge = (id, MIN_ID) if what == _NODE else (MAX_ID, id)
    nodes = fetch(s, _changed_nodes, at=at, after=after_node, rows=first + 1)
    edges = fetch(s, _changed_edges, at=at, after=after_edge, rows=first + 1)
    changes = sorted((*_of_nodes(s, since, nodes), *_of_edges(s, since, edges)), key=position_of)
    return page_of(s, changes[: first + 1], first)


def _of_nodes(s: Snapshot, since: int, rows: Rows) -> Iterator[ChangeRecord]:
    ids = [id for _, id in rows]
    there, before = present(s, ids), present(_at(s, since), ids)
    for at, id in rows:
        kind = _kind(id in there, id in before)
        yield ChangeRecord(at, kind, s.instant if id in there else at - 1, node_id=id)


def _of_edges(s: Snapshot, since: int, rows: Rows) -> Iterator[ChangeRecord]:
    before = edges_by_id(_at(s, since), [id for _, _, id, *_ in rows])
    for at, there, *columns in rows:
        record = edge_record(s if there else _at(s, at - 1), columns)
        yield ChangeRecord(at, _kind(there, record.id in before), record.as_of, edge=record)


def _at(s: Snapshot, instant: int) -> Snapshot:
    return replace(s, instant=instant)


def _kind(there: bool, was_there: bool) -> ChangeKind:
    if not there:
        return ChangeKind.REMOVED
    return ChangeKind.CHANGED if was_there else ChangeKind.CREATED


@prepared
def _changed_nodes(frame: Frame) -> Executable:
    return _merged(_node_streams(frame))


@prepared
def _changed_edges(frame: Frame) -> Executable:
    return _merged(_edge_streams(frame))


def _merged(streams: Sequence[Select[Any]]) -> Executable:
    return union_all(*streams).order_by("at", "id").limit(bindparam("rows"))


def _node_streams(frame: Frame) -> list[Select[Any]]:
    """Ends of states, and beginnings of contents: among these is the first one of every node.

    A node that comes back after it was removed begins a content, too.
    """
    ended = node_state.history.alias("changed")
    begun, closed = (
        table.alias("changed") for table in (node_content.current, node_content.history)
    )
    return [
        _nodes(frame, ended, ended.c.valid_to).where(
            lasted(ended), ~_state_ended(ended.c.id, ended.c.valid_to < _LATER.c.valid_to)
        ),
        _begun(frame, begun),
        _begun(frame, closed).where(lasted(closed)),
    ]


def _begun(frame: Frame, content: FromClause) -> Select[Any]:
    """Nodes whose content began and whose state did not change later."""
    state_ended = _state_ended(content.c.id, content.c.valid_from <= _LATER.c.valid_to)
    return _nodes(frame, content, content.c.valid_from).where(~state_ended)


def _nodes(frame: Frame, table: FromClause, at: ColumnElement[int]) -> Select[Any]:
    """Nodes that changed at `at`, and whose content did not change later."""
    newer = (
        select(_ONE)
        .select_from(arm.table)
        .where(*arm.visible, arm.c.valid_from > at, *within_scope(arm))
        .exists()
        for arm in frame.keyed_arms(node_content, table.c.id)
    )
    return (
        select(at.label("at"), table.c.id.label("id"))
        .where(*scoped(table), *in_window(at, table.c.id))
        .where(*(~condition for condition in newer))
    )


def _state_ended(id: ColumnElement[int], when: ColumnElement[bool]) -> ColumnElement[bool]:
    later = _LATER.c
    ended = exists().where(later.id == id, when, later.valid_to <= INSTANT)
    return ended.where(*within_scope(_LATER), lasted(_LATER))


def _edge_streams(frame: Frame) -> list[Select[Any]]:
    """Edges that ended, that began and are open, and that began and ended after the window."""
    now, closed = (table.alias("changed") for table in (edge.current, edge.history))
    return [
        _edges(closed, closed.c.valid_to, _ZERO).where(
            lasted(closed),
            ~_linked_again(closed),
            _was_node(closed.c.source_id, closed.c.valid_to),
            _was_node(closed.c.target_id, closed.c.valid_to),
        ),
        _edges(now, now.c.valid_from, _ONE).where(*_ends_are_nodes(frame, now)),
        _edges(closed, closed.c.valid_from, _ONE).where(
            closed.c.valid_to > INSTANT, *_ends_are_nodes(frame, closed)
        ),
    ]


def _edges(table: FromClause, at: ColumnElement[int], there: ColumnElement[int]) -> Select[Any]:
    """Edges that changed at `at`, loops left out."""
    columns = (table.c[name].label(name) for name in COLUMNS)
    return (
        select(at.label("at"), there.label("there"), *columns)
        .where(*scoped(table), *in_window(at, table.c.id))
        .where(table.c.source_id != table.c.target_id)
    )


def _ends_are_nodes(frame: Frame, table: FromClause) -> tuple[ColumnElement[bool], ...]:
    return is_node(frame, table.c.source_id), is_node(frame, table.c.target_id)


def _was_node(id: ColumnElement[int], until: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether the id was a node just before an instant that the statement itself finds."""
    now, closed = node_state.current, node_state.history
    open_then = exists().where(now.c.id == id, *within_scope(now), now.c.valid_from < until)
    closed_since = exists().where(
        closed.c.id == id, closed.c.valid_to >= until, closed.c.valid_from < until
    )
    return or_(open_then, closed_since.where(*within_scope(closed)))


def _linked_again(ended: FromClause) -> ColumnElement[bool]:
    """Whether the very edge is back, at the same instant or later in the window."""
    versions = (
        select(_ONE)
        .select_from(table)
        .where(table.c.id == ended.c.id, table.c.valid_from <= INSTANT)
        .where(*after, *within_scope(table))
        .exists()
        for table, after in (
            (edge.current, (edge.current.c.valid_from >= ended.c.valid_to,)),
            (edge.history, (edge.history.c.valid_to > ended.c.valid_to, lasted(edge.history))),
        )
    )
    return or_(*versions)


def in_window(at: ColumnElement[int], id: ColumnElement[int]) -> tuple[ColumnElement[bool], ...]:
    """What lies behind the place of the parameters `at` and `after`, up to the instant."""
    start: ColumnElement[int] = bindparam("at")
    after = bindparam("after", type_=BigInteger)
    return at >= start, at <= INSTANT, or_(at > start, id > after)

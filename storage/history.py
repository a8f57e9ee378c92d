"""What nodes were before: their versions, newest first, up to an instant.

A version of a node is a stretch of time in which neither its state nor its content changed.
State and content have histories of their own; a page of each, as long as the page that is asked
for, is enough to make that page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    FromClause,
    Select,
    Table,
    bindparam,
    func,
    literal,
    null,
    select,
    type_coerce,
    union_all,
)

from retrograph.rules.limits import MAX_ID
from retrograph.storage.as_of import Arm
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.nodes import CONTENT, IDENTITY, STATE, node_record
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, lasted, prepared, within_scope
from retrograph.storage.records import NodeRecord, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned, node, node_content, node_state

_STATE_FROM = len(IDENTITY)
_OPEN = MAX_ID

Rows = Sequence[Sequence[Any]]


def last_seen(s: Snapshot, ids: Collection[int]) -> dict[int, int]:
    """Of those of `ids` that are no nodes at the instant but were before: when they last were one.

    That is the instant just before they left the present.
    """
    if not ids:
        return {}
    return {id: left - 1 for id, left in fetch(s, _left, ids=ids) if left is not None}


def histories(
    s: Snapshot, node_ids: Collection[int], first: int, after: int | None
) -> dict[int, Page[NodeRecord]]:
    """A page for each node of its versions that began before `after`, by two statements.

    Versions that began after the instant are not shown, and `valid_to` is None where it lies
    after the instant.  A node that is gone at the instant still has the versions it had.
    """
    latest = s.instant if after is None else min(s.instant, after - 1)
    past = replace(s, instant=latest)
    states = _by_node(past, _states, node_ids, first + 1)
    contents = _by_node(past, _contents, node_ids, first + 1)
    return {
        id: page_of(s, list(islice(_versions(s, states[id], contents[id]), first + 1)), first)
        for id in node_ids
    }


def _by_node(
    s: Snapshot, build: Callable[..., Executable], node_ids: Collection[int], rows: int
) -> defaultdict[int, list[Sequence[Any]]]:
    """Rows by node id, newest first; each ends with its `valid_to`, None for an open version."""
    found: defaultdict[int, list[Sequence[Any]]] = defaultdict(list)
    for row in fetch(s, build, ids=node_ids, more=rows - 1):
        found[row[0]].append(row)
    for versions in found.values():
        versions.sort(key=_end, reverse=True)
    return found


def _versions(s: Snapshot, states: Rows, contents: Rows) -> Iterator[NodeRecord]:
    """The overlaps of a node's states and contents, both newest first."""
    at, to = 0, 0
    while at < len(states) and to < len(contents):
        state, content = states[at], contents[to]
        began = max(state[_STATE_FROM], content[1])
        ended = min(_end(state), _end(content))
        if began < ended:
            yield node_record(s, state[:-1], content[1:-1], ended if ended <= s.instant else None)
        at += state[_STATE_FROM] == began
        to += content[1] == began


def _end(row: Sequence[Any]) -> int:
    return _OPEN if row[-1] is None else int(row[-1])


@prepared
def _states(frame: Frame) -> Executable:
    ids = id_rows()
    source = drive(ids, (node, node.c.id == ids.c.value))
    return _newest(frame, node_state, source, IDENTITY, STATE, within_scope(node))


@prepared
def _contents(frame: Frame) -> Executable:
    ids = id_rows()
    return _newest(frame, node_content, ids, (ids.c.value,), CONTENT)


def _newest(
    frame: Frame,
    versioned: Versioned,
    source: FromClause,
    identity: Sequence[ColumnElement[Any]],
    names: Sequence[str],
    conditions: Sequence[ColumnElement[bool]] = (),
) -> Executable:
    """The version visible at the instant and up to `more + 1` that ended by then, of each id."""

    def build(arm: Arm, valid_to: ColumnElement[Any]) -> Select[Any]:
        joined = drive(source, (arm.table, arm.c.id == identity[0]))
        columns = (*identity, *(arm.c[name] for name in names), valid_to)
        chosen = select(*columns).select_from(joined)
        return chosen.where(*arm.visible, *within_scope(arm), *conditions)

    visible = frame.keyed_arms(versioned, identity[0])
    still_open = type_coerce(null(), versioned.history.c.valid_to.type)
    ended = Arm(versioned.history, _ended(versioned.history, identity[0]))
    return union_all(
        *(build(arm, arm.c.get("valid_to", still_open)) for arm in visible),
        build(ended, ended.c.valid_to),
    )


def _ended(closed: Table, id: ColumnElement[int]) -> tuple[ColumnElement[bool], ...]:
    """The newest versions that ended by the instant, by one seek whatever came before them."""
    former = closed.alias("former")
    oldest = (
        select(former.c.valid_to)
        .where(former.c.id == id, former.c.valid_to <= INSTANT)
        .where(*within_scope(former), lasted(former))
        .order_by(former.c.valid_to.desc())
        .limit(1)
        .offset(bindparam("more"))
        .correlate_except(former)
        .scalar_subquery()
    )
    begun = literal(0, closed.c.valid_to.type)  # no clock stands before 1970
    newest = closed.c.valid_to >= func.coalesce(oldest, begun)
    return closed.c.valid_to <= INSTANT, newest, lasted(closed)


@prepared
def _left(frame: Frame) -> Executable:  # noqa: ARG001 (closed versions alone tell)
    ids, closed = id_rows(), node_state.history
    return (
        select(closed.c.id, func.max(closed.c.valid_to))
        .select_from(drive(ids, (closed, closed.c.id == ids.c.value)))
        .where(*within_scope(closed), closed.c.valid_to <= INSTANT)
        .group_by(closed.c.id)
    )

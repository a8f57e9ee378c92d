"""What depends on a root, directly or not, at instant after instant.

It is walked once, and again only after something that it consists of has come or gone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Executable,
    FromClause,
    Select,
    bindparam,
    exists,
    or_,
    select,
    union_all,
)

from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.errors import InvalidInput
from retrograph.storage.aside import aside
from retrograph.storage.edges import neighbours
from retrograph.storage.id_set import id_rows
from retrograph.storage.nodes import present
from retrograph.storage.prepared import (
    INSTANT,
    Frame,
    fetch,
    lasted,
    prepared,
    scoped,
    within_scope,
)
from retrograph.storage.records import Direction
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, node_content, node_state

MAX_SUBTREE = 100_000
"""Nodes that a subtree may have which a filter names."""

Members = frozenset[int]


class _Walked(NamedTuple):
    """Who belongs to a subtree, and what would if it were a node.

    `turned` are those, by id, who came or went since it was walked before.
    """

    members: Members
    missing: Members
    turned: list[int]


class Subtree:
    """The nodes that propagating edges lead to from a root, and the root, for a stretch of time.

    One stream uses it, which goes on in time.
    """

    def __init__(self, root_id: int) -> None:
        self._root_id = root_id
        self._begins: list[int] = []
        self._walked: list[_Walked] = []
        self._until = 0

    def prepare(self, s: Snapshot, since: int, until: int) -> None:
        """Works out who belongs to it from `since` to `until`, not later than the snapshot."""
        if not self._begins or since < self._begins[0]:
            self._begins, self._walked = [since], [self._walk(s, since)]
            self._until = since
        while self._until < until:
            changed = _next_change(s, self._walked[-1], self._until, until)
            if changed is not None:
                self._begins.append(changed)
                self._walked.append(self._walk(s, changed))
            self._until = until if changed is None else changed
        past = bisect_right(self._begins, since) - 1
        del self._begins[:past], self._walked[:past]

    def at(self, instant: int) -> Members:
        """Who belongs to it at an instant between those that it was prepared for."""
        return self._walked[bisect_right(self._begins, instant) - 1].members

    def turns(self) -> Iterator[tuple[int, list[int]]]:
        """Each instant at which the members changed, and who came or went, by id."""
        for at, now in zip(self._begins[1:], self._walked[1:], strict=True):
            yield at, now.turned

    def _walk(self, s: Snapshot, instant: int) -> _Walked:
        members, missing = _walk(s, self._root_id, instant)
        before = self._walked[-1].members if self._walked else members
        return _Walked(members, missing, sorted(before ^ members))


def _walk(s: Snapshot, root_id: int, instant: int) -> tuple[Members, Members]:
    then = replace(s, instant=instant)
    found, missing, level = set[int](), set[int](), {root_id}
    while level:
        there = present(then, level)
        missing |= level - there
        found |= there
        if len(found) > MAX_SUBTREE:
            raise InvalidInput(
                f"More than {MAX_SUBTREE:,} nodes depend on that root; choose a smaller subtree.",
                path=("filter", "subtreeOf"),
            )
        around = neighbours(then, there, Direction.DEPENDENTS, PROPAGATING, checked=False)
        level = {far for pairs in around.values() for _, far in pairs} - found - missing
    return frozenset(found), frozenset(missing)


def _next_change(s: Snapshot, walked: _Walked, since: int, until: int) -> int | None:
    """The first instant after `since` and up to `until` at which others may belong to it.

    That is when an edge out of a member comes or goes, or, since edges may be broken, when a
    member goes or what was missing comes.
    """
    then = replace(s, instant=until)
    rows = fetch(then, _changed, ids=walked.members, missing=walked.missing, at=since)
    return rows[0][0] if rows else None


@prepared
def _changed(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    now, closed, ended = edge.current, edge.history, node_state.history
    begun, former = node_content.current, node_content.history
    members, missing = id_rows(), id_rows("missing")
    selects = [
        _of(now, now.c.valid_from, now.c.source_id, members),
        _of(closed, closed.c.valid_from, closed.c.source_id, members).where(lasted(closed)),
        _of(closed, closed.c.valid_to, closed.c.source_id, members).where(lasted(closed)),
        _of(ended, ended.c.valid_to, ended.c.id, members).where(lasted(ended), ~_goes_on(ended)),
        _of(begun, begun.c.valid_from, begun.c.id, missing),
        _of(former, former.c.valid_from, former.c.id, missing).where(lasted(former)),
    ]
    return union_all(*selects).order_by("at").limit(1)


def _goes_on(ended: FromClause) -> ColumnElement[bool]:
    """Whether another state followed the one that ended."""
    now, later = node_state.current, node_state.history.alias("later")
    begun = ended.c.valid_to
    open_now = exists().where(now.c.id == ended.c.id, now.c.valid_from == begun)
    closed_since = exists().where(later.c.id == ended.c.id, later.c.valid_from == begun)
    return or_(
        open_now.where(*within_scope(now)),
        closed_since.where(*within_scope(later), lasted(later)),
    )


def _of(
    table: FromClause, at: ColumnElement[int], id: ColumnElement[int], ids: FromClause
) -> Select[Any]:
    since: ColumnElement[int] = bindparam("at")
    return (
        select(at.label("at"))
        .where(*scoped(table), at > since, at <= INSTANT)
        .where(aside(id).in_(select(ids.c.value)))
    )

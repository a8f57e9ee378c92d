"""Edges as of an instant: read by id, listed, around nodes, and as neighbours for walks.

Broken edges (loops, and edges with an end that is no node of the fleet at the instant) may have
been planted by hand; no read gives one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    FromClause,
    Select,
    bindparam,
    func,
    select,
    union_all,
)

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.limits import MIN_ID
from retrograph.storage.as_of import Arm, over_arms, paired_keyed_arms
from retrograph.storage.aside import aside
from retrograph.storage.driven import drive
from retrograph.storage.filters import EdgeFilter
from retrograph.storage.id_set import Place, id_rows, instant_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.presence import is_node
from retrograph.storage.records import Direction, EdgeRecord, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge

COLUMNS = ("id", "type", "source_id", "target_id", "valid_from")
_TYPES = {int(kind): kind for kind in EdgeType}
_DIRECTIONS = {
    True: (Direction.DEPENDENTS, Direction.BOTH),
    False: (Direction.DEPENDENCIES, Direction.BOTH),
}


def edges_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, EdgeRecord]:
    """Those of `ids` that are edges at the instant, by one statement."""
    if not ids:
        return {}
    return {row[0]: edge_record(s, row) for row in fetch(s, _by_id, ids=ids)}


def edges_then(s: Snapshot, places: Collection[Place]) -> dict[Place, EdgeRecord]:
    """Those of `places` where there was an edge, by one statement; broken ones among them.

    No instant may be later than the snapshot's.
    """
    if not places:
        return {}
    rows = fetch(s, _then, since=places)
    return {(row[1], row[0]): edge_record(replace(s, instant=row[0]), row[1:]) for row in rows}


def page_edges(s: Snapshot, filter: EdgeFilter, first: int, after: int | None) -> Page[EdgeRecord]:
    """The edges that pass the filter, by ascending id, after the id `after`."""
    rows = fetch(
        s,
        _page,
        filter.source_id is not None,
        filter.target_id is not None,
        source_id=filter.source_id,
        target_id=filter.target_id,
        types=_given(filter.types),
        after=MIN_ID if after is None else after,
        rows=first + 1,
    )
    return page_of(s, [edge_record(s, row) for row in rows], first)


def edges_around(
    s: Snapshot,
    node_ids: Collection[int],
    *,
    outgoing: bool,
    types: Collection[EdgeType] | None,
    first: int,
    after: int | None,
) -> dict[int, Page[EdgeRecord]]:
    """A page for each node of the edges out of it (or into it), by one statement for all nodes."""
    rows = fetch(
        s,
        _around,
        outgoing,
        ids=node_ids,
        types=_given(types),
        after=MIN_ID if after is None else after,
        rows=first + 1,
    )
    found: dict[int, list[EdgeRecord]] = {node_id: [] for node_id in node_ids}
    for row in rows:
        found[row[0]].append(edge_record(s, row[1:]))
    return {node_id: page_of(s, edges, first) for node_id, edges in found.items()}


def edges_between(s: Snapshot, node_ids: Collection[int]) -> list[EdgeRecord]:
    """Every edge of any type that both comes from and leads to one of the nodes, by id."""
    rows = fetch(s, _between, ids=node_ids, others=node_ids, types=_given(None))
    return [edge_record(s, row) for row in sorted(rows)]


def neighbours(
    s: Snapshot,
    node_ids: Collection[int],
    direction: Direction,
    types: Collection[EdgeType] | None,
    *,
    checked: bool = True,
) -> dict[int, list[tuple[int, int]]]:
    """The (edge id, id at its other end) pairs around each node that has any, in no order.

    Without `checked` nobody looks whether the other end is a node, which is half of the cost.
    """
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    if node_ids:
        rows = fetch(s, _neighbours, direction, checked, ids=node_ids, types=_given(types))
        for near, edge_id, far in rows:
            found[near].append((edge_id, far))
    return found


def edge_record(s: Snapshot, row: Sequence[Any]) -> EdgeRecord:
    """An edge of a row of `COLUMNS`, read at the instant."""
    id, kind, source_id, target_id, valid_from = row
    return EdgeRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        id=id,
        type=_TYPES[kind],
        source_id=source_id,
        target_id=target_id,
        valid_from=valid_from,
        valid_to=None,
        as_of=s.instant,
    )


def whole(
    frame: Frame, source: ColumnElement[int], target: ColumnElement[int]
) -> tuple[ColumnElement[bool], ...]:
    """The edge is no loop, and both its ends are nodes."""
    return source != target, is_node(frame, source), is_node(frame, target)


@prepared
def _by_id(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.id == ids.c.value))
        chosen = select(*_columns(arm)).select_from(joined)
        return chosen.where(*within_scope(arm), *whole(frame, *_ends(arm, True)))

    return over_arms(frame.keyed_arms(edge, ids.c.value), build)


@prepared
def _then(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    since = instant_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(since, (arm.table, arm.c.id == since.c.id))
        chosen = select(since.c.moment, *_columns(arm)).select_from(joined)
        return chosen.where(*within_scope(arm))

    found = paired_keyed_arms(edge, since.c.period, since.c.id, current=False)
    return over_arms(found, build)


@prepared
def _page(frame: Frame, by_source: bool, by_target: bool) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        chosen = select(*_columns(arm)).where(
            arm.c.id > bindparam("after"), _typed(arm), *whole(frame, *_ends(arm, True))
        )
        if by_source:
            chosen = chosen.where(arm.c.source_id == bindparam("source_id"))
        if by_target:
            chosen = chosen.where(arm.c.target_id == bindparam("target_id"))
        return chosen.where(*scoped(arm))

    found = over_arms(frame.arms(edge), build)
    return found.order_by("id").limit(bindparam("rows"))


@prepared
def _around(frame: Frame, outgoing: bool) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        near, far = _ends(arm, outgoing)
        chosen = select(ids.c.value.label("near"), *_columns(arm))
        chosen = chosen.where(aside(arm.c.id) > bindparam("after"))
        return _meeting(frame, ids, arm, chosen, near, far).where(is_node(frame, far))

    found = over_arms(frame.arms(edge), build).subquery("found")
    place = func.row_number().over(partition_by=found.c.near, order_by=found.c.id)
    ranked = select(*found.c, place.label("place")).subquery("ranked")
    columns = (ranked.c[name] for name in ("near", *COLUMNS))
    return (
        select(*columns)
        .where(ranked.c.place <= bindparam("rows"))
        .order_by(ranked.c.near, ranked.c.id)
    )


@prepared
def _neighbours(frame: Frame, direction: Direction, checked: bool) -> Executable:
    ids = id_rows()

    def build(arm: Arm, outgoing: bool) -> Select[Any]:
        near, far = _ends(arm, outgoing)
        found = _meeting(frame, ids, arm, select(ids.c.value, arm.c.id, far), near, far)
        return found.where(is_node(frame, far)) if checked else found

    ways = [way for way in (True, False) if direction in _DIRECTIONS[way]]
    selects = [build(arm, way).where(*arm.visible) for way in ways for arm in frame.arms(edge)]
    return union_all(*selects)


@prepared
def _between(frame: Frame) -> Executable:
    ids, others = id_rows(), id_rows("others")

    def build(arm: Arm) -> Select[Any]:
        near, far = _ends(arm, True)
        chosen = select(*_columns(arm)).where(aside(far).in_(select(others.c.value)))
        return _meeting(frame, ids, arm, chosen, near, far).where(is_node(frame, far))

    return over_arms(frame.arms(edge), build)


def _meeting(
    frame: Frame,
    ids: FromClause,
    arm: Arm,
    chosen: Select[Any],
    near: ColumnElement[int],
    far: ColumnElement[int],
) -> Select[Any]:
    """The edges of an arm whose near end is a node among `ids`, and that are no loops."""
    return chosen.select_from(drive(ids, (arm.table, near == ids.c.value))).where(
        *scoped(arm), _typed(arm), near != far, is_node(frame, ids.c.value)
    )


def _ends(arm: Arm, outgoing: bool) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The near and the far end, seen from the nodes that the edges leave (or enter)."""
    ends = (arm.c.source_id, arm.c.target_id)
    return ends if outgoing else ends[::-1]


def _typed(arm: Arm) -> ColumnElement[bool]:
    return arm.c.type.in_(bindparam("types", expanding=True))  # type: ignore[no-any-return]


def _columns(arm: Arm) -> list[ColumnElement[Any]]:
    return [arm.c[name] for name in COLUMNS]


def _given(types: Collection[EdgeType] | None) -> list[int]:
    return [int(kind) for kind in (EdgeType if types is None else types)]

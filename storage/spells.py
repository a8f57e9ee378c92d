"""Since when nodes are unhealthy, and what has happened to them and their sources since.

What early cut-off asks: whether a node fell only because of what is verified unchanged now.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Executable, Select, and_, func, select

from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.validity import SEVERITY, Validity
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows, instant_rows
from retrograph.storage.open_work import is_open
from retrograph.storage.prepared import Frame, fetch, lasted, prepared, scoped, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import decision, edge, node_content, node_state, run, task
from retrograph.storage.task_records import DecisionKind, TaskStatus

_HEALTHY = [int(each) for each in Validity if not SEVERITY[each]]
_TYPES = [int(kind) for kind in PROPAGATING]


def unclaimed_dependents(s: Snapshot, node_ids: Collection[int]) -> set[int]:
    """The dependents of nodes, over edges that propagate, that have an open task nobody holds."""
    return {row[0] for row in fetch(s, _dependents, ids=node_ids)} if node_ids else set()


def resting_on_health(s: Snapshot, node_ids: Collection[int]) -> set[int]:
    """Those of the nodes all of whose sources are healthy."""
    if not node_ids:
        return set()
    return set(node_ids) - {row[0] for row in fetch(s, _on_sick, ids=node_ids)}


def fallen_since(s: Snapshot, node_ids: Collection[int]) -> dict[int, int]:
    """When the present unhealthy spell of each node began; nodes never healthy are left out."""
    if not node_ids:
        return {}
    return {row[0]: row[1] for row in fetch(s, _last_healthy, ids=node_ids)}


def disturbed(s: Snapshot, since: dict[int, int]) -> set[int]:
    """Those nodes that need a judgement of their own: something but a cascade came since.

    A source of theirs has other content or was judged as changed; they were a run's root
    themselves; or an import gave them their state.
    """
    if not since:
        return set()
    queries = (_changed_sources, _judged_sources, _roots, _given_states)
    return {row[0] for query in queries for row in fetch(s, query, since=since.items())}


@prepared
def _dependents(frame: Frame) -> Executable:  # noqa: ARG001 (the present is read, here and below)
    ids, edges, tasks = id_rows(), edge.current, task.current
    joined = drive(
        ids,
        (edges, _all(edges.c.source_id == ids.c.value, *scoped(edges))),
        (tasks, _all(tasks.c.node_id == edges.c.target_id, *scoped(tasks))),
    )
    return _propagating(select(tasks.c.node_id).distinct().select_from(joined)).where(
        is_open(tasks), tasks.c.status != int(TaskStatus.LEASED)
    )


@prepared
def _on_sick(frame: Frame) -> Executable:  # noqa: ARG001
    ids, edges, states = id_rows(), edge.current, node_state.current
    joined = drive(
        ids,
        (edges, _all(edges.c.target_id == ids.c.value, *scoped(edges))),
        (states, states.c.id == edges.c.source_id),
    )
    return _propagating(select(ids.c.value).distinct().select_from(joined)).where(
        *within_scope(states), states.c.projected.not_in(_HEALTHY)
    )


@prepared
def _last_healthy(frame: Frame) -> Executable:  # noqa: ARG001
    ids, closed = id_rows(), node_state.history
    return (
        select(ids.c.value, func.max(closed.c.valid_to))
        .select_from(drive(ids, (closed, closed.c.id == ids.c.value)))
        .where(*within_scope(closed), lasted(closed), closed.c.projected.in_(_HEALTHY))
        .group_by(ids.c.value)
    )


@prepared
def _changed_sources(frame: Frame) -> Executable:  # noqa: ARG001
    contents = node_content.current
    chosen, edges, since = _sources()
    joined = drive(edges, (contents, contents.c.id == edge.current.c.source_id))
    return chosen.select_from(joined).where(
        *within_scope(contents), contents.c.valid_from >= since.c.period
    )


@prepared
def _judged_sources(frame: Frame) -> Executable:  # noqa: ARG001
    chosen, edges, since = _sources()
    found = _all(decision.c.node_id == edge.current.c.source_id, *scoped(decision))
    judged = [int(DecisionKind.VERIFIED), int(DecisionKind.REPAIRED)]
    return chosen.select_from(drive(edges, (decision, found))).where(
        decision.c.at >= since.c.moment,
        decision.c.kind.in_(judged),
        decision.c.unchanged == 0,
    )


@prepared
def _roots(frame: Frame) -> Executable:  # noqa: ARG001
    since = instant_rows()
    found = _all(run.c.root_id == since.c.id, *scoped(run))
    return (
        select(since.c.id)
        .distinct()
        .select_from(drive(since, (run, found)))
        .where(run.c.executed_at >= since.c.moment)
    )


@prepared
def _given_states(frame: Frame) -> Executable:  # noqa: ARG001
    """A state that no run gave, and that is not healthy, comes from an import."""
    since, now, closed = instant_rows(), node_state.current, node_state.history
    ways = []
    for states, length in ((now, ()), (closed, (lasted(closed),))):
        given = (
            states.c.valid_from >= since.c.period,
            states.c.run_id.is_(None),
            states.c.projected.not_in(_HEALTHY),
        )
        joined = drive(since, (states, states.c.id == since.c.id))
        ways.append(
            select(since.c.id).select_from(joined).where(*within_scope(states), *length, *given)
        )
    return ways[0].union_all(ways[1])


def _sources() -> tuple[Select[Any], Any, Any]:
    """Nodes and instants with the edges into them: the columns, the join, and the instants."""
    since, edges = instant_rows(), edge.current
    joined = drive(since, (edges, _all(edges.c.target_id == since.c.id, *scoped(edges))))
    return _propagating(select(since.c.id).distinct()), joined, since


def _propagating(chosen: Select[Any]) -> Select[Any]:
    edges = edge.current
    return chosen.where(edges.c.type.in_(_TYPES), edges.c.source_id != edges.c.target_id)


def _all(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return and_(*conditions)

"""Reads tasks, and what is known of the work on them, as of an instant (None: the last one)."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_ref, require_nodes
from retrograph.rules.limits import check_first
from retrograph.storage import decisions, support, tasks
from retrograph.storage.filters import TaskFilter
from retrograph.storage.id_set import Place
from retrograph.storage.records import NodeRef, Page, RunRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.task_records import DecisionRecord, TaskRecord, TaskStatus


def list_tasks(
    scope: Scope,
    fleet_id: int,
    status: frozenset[TaskStatus] | None,
    node: NodeRef | None,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[TaskRecord]:
    """A page of tasks by id, after the id `after`: in one of these states, of this node.

    Raises `NotFound` where a node that is given is none at the instant.
    """
    check_first(first)
    path = ("filter", "node")
    if node is not None:
        check_ref(node, path)
    with scope.snapshot(fleet_id, at) as snapshot:
        if snapshot.blank:
            return Page([], has_next=False, as_of=snapshot.instant)
        wanted = TaskFilter(status, _node_id(snapshot, node, path))
        return tasks.page_tasks(snapshot, wanted, first, after)


def list_decisions(
    scope: Scope,
    fleet_id: int,
    node: NodeRef | None,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[DecisionRecord]:
    """A page of decisions, newest first, after the id `after`; of one node, or all.

    Raises `NotFound` where a node that is given is none at the instant.
    """
    check_first(first)
    if node is not None:
        check_ref(node, ("node",))
    with scope.snapshot(fleet_id, at) as snapshot:
        if snapshot.blank:
            return Page([], has_next=False, as_of=snapshot.instant)
        node_id = _node_id(snapshot, node, ("node",))
        return decisions.page_decisions(snapshot, node_id, first, after)


def load_tasks(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, TaskRecord]:
    """Those of `ids` that are tasks and were opened by the instant."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return tasks.tasks_by_id(snapshot, ids)


def load_tasks_then(
    scope: Scope, fleet_id: int, places: Collection[Place]
) -> dict[Place, TaskRecord]:
    """Those of `places`, none of the future, where there was a task."""
    with scope.snapshot(fleet_id) as snapshot:
        return tasks.tasks_then(snapshot, places)


def open_tasks_of(
    scope: Scope, fleet_id: int, at: int | None, node_ids: Collection[int]
) -> dict[int, TaskRecord]:
    """The open task of each node that has one, by node."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return tasks.open_tasks_at(snapshot, node_ids)


def blockers_of(
    scope: Scope, fleet_id: int, at: int | None, waiting: Collection[TaskRecord]
) -> dict[TaskRecord, list[TaskRecord]]:
    """The open tasks that each task waits for directly."""
    with scope.snapshot(fleet_id, at) as snapshot:
        found = tasks.blocking(snapshot, waiting)
        return {each: found[each.id] for each in waiting}


def standing_supporters_of(
    scope: Scope, fleet_id: int, at: int | None, node_ids: Collection[int]
) -> dict[int, list[int]]:
    """The ids of the supporters of each node that stand, ascending."""
    with scope.snapshot(fleet_id, at) as snapshot:
        found = support.supporters_of(snapshot, node_ids)
        return {node_id: each.standing for node_id, each in found.items()}


def decisions_of_runs(
    scope: Scope, fleet_id: int, at: int | None, runs: Collection[RunRecord]
) -> dict[RunRecord, DecisionRecord | None]:
    """The decision that started each run, None where none did."""
    with scope.snapshot(fleet_id, at) as snapshot:
        found = decisions.decisions_of_runs(snapshot, runs)
        return {run: found.get(run.id) for run in runs}


def _node_id(snapshot: Snapshot, node: NodeRef | None, path: tuple[str, ...]) -> int | None:
    return None if node is None else require_nodes(snapshot, [(node, path)])[node]

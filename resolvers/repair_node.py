"""`repairNode`: a corrected node may be relied on again, and what rests on it is judged anew."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_version, require_node
from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.limits import check_text
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.decisions import Decision, record_decisions
from retrograph.storage.edges import neighbours
from retrograph.storage.judgements import cut_off, revalidate
from retrograph.storage.nodes import nodes_by_id, states_by_id
from retrograph.storage.open_work import OpenTask, open_tasks
from retrograph.storage.records import Direction, NodeRecord, NodeRef
from retrograph.storage.task_records import DecisionKind, Opening, TaskRecord, TaskStatus
from retrograph.storage.task_writes import end_tasks, open_tasks_of, release
from retrograph.storage.tasks import open_tasks_at
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class NodeRepaired:
    """The node, the tasks that are open on what rests on it, and whom a cut-off healed."""

    instant: int
    node: NodeRecord
    tasks: list[TaskRecord]
    restored: list[int]


def repair_node(
    scope: Scope,
    fleet_id: int,
    ref: NodeRef,
    reason: str,
    *,
    unchanged: bool = False,
    expected_version: str | None = None,
) -> NodeRepaired:
    """Makes a node `REVALIDATED`, and opens tasks of all that is unhealthy and rests on it.

    `unchanged` says that it still says what it said.  Raises `InvalidInput`, `NotFound`,
    `VersionConflict`.
    """
    check_text(reason, ("input", "reason"))

    def job(write: Write) -> NodeRepaired:
        node = require_node(write.snapshot, ref, ("input", "node"))
        check_version(node, expected_version, ("input", "expectedVersion"))
        reached = _unhealthy_dependents(write, node.id)
        mine = list(open_tasks(write.snapshot, [node.id]).values())
        restored = _repair(write, node, mine, reason, unchanged=unchanged)
        wanted = [each for each in reached if each not in restored]
        have = open_tasks(write.snapshot, wanted)
        open_tasks_of(write, [Opening(i, awaiting=True) for i in wanted if i not in have])
        tasks = open_tasks_at(write.snapshot, wanted)
        after = nodes_by_id(write.snapshot, [node.id])[node.id]
        return NodeRepaired(write.instant, after, [tasks[i] for i in sorted(tasks)], restored)

    return scope.write(fleet_id, job)


def _repair(
    write: Write, node: NodeRecord, mine: list[OpenTask], reason: str, *, unchanged: bool
) -> list[int]:
    end_tasks(write, mine, TaskStatus.VERIFIED)
    kind, task_id = DecisionKind.REPAIRED, mine[0].id if mine else None
    confidence = revalidate(write, node, node.base_confidence, task_id)
    record_decisions(
        write,
        [Decision(kind, node.id, task_id, unchanged=unchanged, confidence=confidence, note=reason)],
    )
    healed = cut_off(write, node.id) if unchanged else []
    release(write, [*mine, *healed])
    return sorted(each.node_id for each in healed)


def _unhealthy_dependents(write: Write, node_id: int) -> list[int]:
    """What is unhealthy and not superseded, reached over such nodes alone, ascending."""
    found: set[int] = set()
    wave: Collection[int] = [node_id]
    while wave:
        near = neighbours(write.snapshot, wave, Direction.DEPENDENTS, PROPAGATING)
        ahead = {far for pairs in near.values() for _, far in pairs} - found - {node_id}
        states = states_by_id(write.snapshot, ahead)
        wave = [each for each, state in states.items() if _is_sick(*state[:2])]
        found.update(wave)
    return sorted(found)


def _is_sick(stored: int, projected: int) -> bool:
    superseded = Validity.SUPERSEDED in {stored, projected}
    return not superseded and not (is_healthy(stored) and is_healthy(projected))

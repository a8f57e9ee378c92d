"""What whoever judges a node is told of it, as JSON: the node, why it fell, what it rests on."""

from __future__ import annotations

from typing import Any

import orjson

from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.instant import format_instant
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.edges import edges_around
from retrograph.storage.evidence import evidence_of
from retrograph.storage.impacts import impact_paths
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.records import EdgeRecord, NodeRecord
from retrograph.storage.runs import runs_by_id
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.support import supporters_of
from retrograph.storage.task_records import TaskRecord

_PATH = 20
"""Nodes of the chain of causes that are told."""

Sheet = dict[str, Any]


def task_sheet(scope: Scope, task: TaskRecord) -> Sheet:
    """The sheet of a task as of its claim; docs/revalidation.md describes it."""
    with scope.snapshot(task.fleet_id, task.as_of) as s:
        into = _edges_into(s, task.node_id)
        standing = set(supporters_of(s, [task.node_id])[task.node_id].standing)
        path = _path(s, task)
        ids = {task.node_id, *path, *(each.source_id for each in into)}
        nodes = nodes_by_id(s, ids)
        return {
            "taskId": str(task.id),
            "fleetId": str(task.fleet_id),
            "attempt": task.attempt,
            "asOf": format_instant(task.as_of),
            "reason": _reason(s, task),
            "path": [nodes[each].key or str(each) for each in path],
            "node": _node(nodes[task.node_id]),
            "sources": [
                {
                    "type": each.type.name,
                    "stands": each.source_id in standing,
                    "node": _node(nodes[each.source_id]),
                }
                for each in into
            ],
            "evidence": [
                {"uri": each.uri, "note": each.note}
                for each in evidence_of(s, [task.node_id]).get(task.node_id, ())
            ],
        }


def _edges_into(s: Snapshot, node_id: int) -> list[EdgeRecord]:
    """The first edges that lead into a node and propagate, by id."""
    pages = edges_around(
        s, [node_id], outgoing=False, types=frozenset(PROPAGATING), first=MAX_FIRST, after=None
    )
    return pages[node_id].rows


def _path(s: Snapshot, task: TaskRecord) -> list[int]:
    if task.run_id is None or task.run_ordinal is None:
        return []
    key = (task.run_id, task.run_ordinal)
    return impact_paths(s, [key], _PATH)[key]


def _reason(s: Snapshot, task: TaskRecord) -> str | None:
    return None if task.run_id is None else runs_by_id(s, [task.run_id])[task.run_id].reason


def _node(node: NodeRecord) -> Sheet:
    return {
        "id": str(node.id),
        "key": node.key,
        "kind": node.kind.name,
        "validity": node.validity.name,
        "confidence": node.confidence,
        "baseConfidence": node.base_confidence,
        "payload": None if node.payload is None else orjson.Fragment(node.payload),
        "contractHash": node.contract_hash,
    }

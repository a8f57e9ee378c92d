"""`pinNode`: keeps a node's state against cascades, or lets it go."""

from __future__ import annotations

from retrograph.resolvers.outcomes import NodePinned
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_version, require_node
from retrograph.rules.limits import check_text
from retrograph.rules.reversal import unpinned
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.node_writes import set_pin
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.records import NodeRecord, NodeRef, RunRecord
from retrograph.storage.task_writes import settle_pin
from retrograph.storage.verdicts import InMemory
from retrograph.storage.write import Write

REASON = "UNPINNED"


def pin_node(
    scope: Scope,
    fleet_id: int,
    ref: NodeRef,
    *,
    pinned: bool,
    reason: str | None = None,
    expected_version: str | None = None,
) -> NodePinned:
    """Pins or unpins a node; what is so already stays as it is, and a pin keeps its reason.

    Unpinning gives the node the projected severity that cascades left on it, as a run of its own.
    Raises `NotFound`, `VersionConflict`.
    """
    if reason is not None:
        check_text(reason, ("input", "reason"))

    def job(write: Write) -> NodePinned:
        node = require_node(write.snapshot, ref, ("input", "node"))
        check_version(node, expected_version, ("input", "expectedVersion"))
        run, wanted = None, _pin_reason(node, reason) if pinned else None
        if (node.pinned, node.pin_reason) != (pinned, wanted):
            set_pin(write, node, pinned=pinned, reason=wanted)
            run = None if pinned else _release(write, node, reason)
            settle_pin(write, node, pinned=pinned)
        after = nodes_by_id(write.snapshot, [node.id])[node.id]
        return NodePinned(write.instant, after, run)

    return scope.write(fleet_id, job)


def _pin_reason(node: NodeRecord, reason: str | None) -> str | None:
    """The reason of a pin that is asked for: that of an earlier one, unless another is given."""
    return node.pin_reason if reason is None else reason


def _release(write: Write, node: NodeRecord, reason: str | None) -> RunRecord | None:
    if node.validity == node.projected:
        return None
    order = RunOrder(node.id, node.projected, reason or REASON)
    return record_run(write, order, InMemory(unpinned(node.id, node.validity, node.projected)))

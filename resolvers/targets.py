"""Finds the nodes that a request names, and checks the versions it expects."""

from __future__ import annotations

from collections.abc import Sequence

from retrograph.rules.errors import FieldPath, InvalidInput, NotFound, VersionConflict
from retrograph.storage.nodes import find_nodes, nodes_by_id
from retrograph.storage.records import NodeRecord, NodeRef
from retrograph.storage.snapshot import Snapshot


def require_node(snapshot: Snapshot, ref: NodeRef, path: FieldPath) -> NodeRecord:
    """The node that `ref` names; raises `NotFound` with the path of the input field."""
    found = find_nodes(snapshot, [ref])
    if ref not in found:
        raise no_node(ref, path)
    return nodes_by_id(snapshot, [found[ref]])[found[ref]]


def require_nodes(
    snapshot: Snapshot, named: Sequence[tuple[NodeRef, FieldPath]]
) -> dict[NodeRef, int]:
    """The ids of all nodes named; raises `NotFound` for the first that doesn't exist."""
    found = find_nodes(snapshot, [ref for ref, _ in named])
    for ref, path in named:
        if ref not in found:
            raise no_node(ref, path)
    return found


def check_ref(ref: NodeRef, path: FieldPath) -> None:
    """A node is named by its id or by its key: by exactly one of them."""
    if (ref.id is None) == (ref.key is None):
        raise InvalidInput("Name the node by its id or by its key: give exactly one.", path=path)


def check_version(node: NodeRecord, expected: str | None, path: FieldPath) -> None:
    """Raises `VersionConflict` where another version than the present one is expected."""
    if expected is not None and expected != node.version_id:
        raise VersionConflict(node.id, node.version_id, path=path)


def no_node(ref: NodeRef, path: FieldPath) -> NotFound:
    """The error for a node that this fleet doesn't have."""
    if ref.key is None:
        return NotFound(f"There is no node with the id {ref.id} in this fleet.", path=(*path, "id"))
    return NotFound(
        f"There is no node with the key {ref.key!r} in this fleet.", path=(*path, "key")
    )

"""Makes and updates nodes inside a write: the part that `putNodes` and `supersede` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from retrograph.resolvers.inputs import UNSET, NodeInput
from retrograph.resolvers.targets import check_version, no_node
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import FieldPath, InvalidInput
from retrograph.rules.limits import MAX_KEY_LENGTH, check_confidence, check_text
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.node_writes import (
    Content,
    NewNode,
    create_nodes,
    forget_confidences,
    update_contents,
)
from retrograph.storage.nodes import departed_nodes, find_nodes, nodes_by_id
from retrograph.storage.records import NodeKind, NodeRecord, NodeRef, RunRecord
from retrograph.storage.write import Write

CHANGED_REASON = "CONTENT_CHANGED"
"""The reason of a run that changed content starts."""
CHANGED_EFFECT = Validity.POTENTIALLY_STALE
"""What changed content passes to what rests on it."""

_NO_CONTENT = Content(payload=None, contract_hash=None, base_confidence=1.0, expires_at=None)


class GivenContent(TypedDict, total=False):
    """The part of a node's content that an input gives; the names are those of `Content`."""

    payload: str | None
    contract_hash: str | None
    base_confidence: float
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Put:
    """One node to put: its input, checked, and how the API names the input."""

    given: NodeInput
    path: FieldPath
    fields: GivenContent


@dataclass(frozen=True, slots=True)
class PutDone:
    """The ids in the order of the input, and those whose payload or contract hash changed."""

    ids: list[int]
    changed: list[int]


def check_put(given: NodeInput, path: FieldPath) -> Put:
    """Checks an input's own fields; raises `InvalidInput` with the field's path."""
    if given.key is not None and given.id is not None:
        raise InvalidInput("Name the node by its key or by its id, not by both.", path=path)
    if given.key is not None:
        check_text(given.key, (*path, "key"), MAX_KEY_LENGTH)
    return Put(given, path, _given_fields(given, path))


def check_distinct(puts: Sequence[Put]) -> None:
    """Raises `InvalidInput` where one call names a node twice."""
    seen: set[NodeRef] = set()
    for put in puts:
        ref = _ref(put.given)
        if ref is not None and ref in seen:
            raise _named_twice(put)
        if ref is not None:
            seen.add(ref)


def apply_puts(write: Write, puts: Sequence[Put]) -> PutDone:
    """Makes what doesn't exist and updates what does; what is not given stays."""
    known = _existing(write, puts)
    made = iter(_create(write, [put for put, node in zip(puts, known, strict=True) if not node]))
    changed = _update(write, [(p, node) for p, node in zip(puts, known, strict=True) if node])
    return PutDone([next(made) if node is None else node.id for node in known], changed)


def propagate_changes(write: Write, changed: Sequence[int]) -> list[RunRecord]:
    """A run for each node with changed content: what rests on it may be stale now."""
    runs = []
    for node_id in changed:
        fallen = write.cascade(Seeds(touched=[node_id]))
        order = RunOrder(node_id, CHANGED_EFFECT, CHANGED_REASON)
        runs.append(record_run(write, order, fallen))
    return runs


def _given_fields(given: NodeInput, path: FieldPath) -> GivenContent:
    fields: GivenContent = {}
    if given.payload is not UNSET:
        absent = given.payload is None
        fields["payload"] = (
            None if absent else canonical_json(given.payload, field=(*path, "payload"))
        )
    if given.contract_hash is not UNSET:
        if given.contract_hash is not None:
            check_text(given.contract_hash, (*path, "contractHash"))
        fields["contract_hash"] = given.contract_hash
    if given.confidence is not UNSET:
        absent = given.confidence is None
        fields["base_confidence"] = (
            1.0 if absent else check_confidence(given.confidence, (*path, "confidence"))
        )
    if given.expires_at is not UNSET:
        fields["expires_at"] = given.expires_at
    return fields


def _ref(given: NodeInput) -> NodeRef | None:
    if given.key is None and given.id is None:
        return None
    return NodeRef(id=given.id, key=given.key)


def _existing(write: Write, puts: Sequence[Put]) -> list[NodeRecord | None]:
    refs = [_ref(put.given) for put in puts]
    found = find_nodes(write.snapshot, [ref for ref in refs if ref is not None])
    nodes = nodes_by_id(write.snapshot, list(found.values()))
    _check_distinct_nodes(puts, [found.get(ref) if ref else None for ref in refs])
    return [
        _checked(put, nodes[found[ref]] if ref in found else None)
        for put, ref in zip(puts, refs, strict=True)
    ]


def _check_distinct_nodes(puts: Sequence[Put], ids: Sequence[int | None]) -> None:
    """A key and an id may name the same node: that shows only when both are looked up."""
    seen: set[int] = set()
    for put, node_id in zip(puts, ids, strict=True):
        if node_id in seen:
            raise _named_twice(put)
        if node_id is not None:
            seen.add(node_id)


def _named_twice(put: Put) -> InvalidInput:
    return InvalidInput("This node is named twice; give each node once.", path=put.path)


def _checked(put: Put, node: NodeRecord | None) -> NodeRecord | None:
    given = put.given
    if node is not None:
        check_version(node, given.expected_version, (*put.path, "expectedVersion"))
        _check_kind(put, node.kind)
        return node
    if given.id is not None:
        raise no_node(NodeRef(id=given.id), put.path)
    if given.expected_version is not None:
        raise no_node(NodeRef(key=given.key), put.path)
    if given.kind is None:
        raise InvalidInput("A new node needs a kind.", path=(*put.path, "kind"))
    return None


def _create(write: Write, puts: Sequence[Put]) -> list[int]:
    keys = [put.given.key for put in puts if put.given.key is not None]
    departed = departed_nodes(write.snapshot, keys)
    new = []
    for put in puts:
        key, kind = put.given.key, put.given.kind
        assert kind is not None  # noqa: S101 (checked when looked up)
        node_id, stored_kind = departed.get(key or "", (None, kind))
        _check_kind(put, stored_kind)
        new.append(NewNode(key, kind, replace(_NO_CONTENT, **put.fields), id=node_id))
    return create_nodes(write, new)


def _check_kind(put: Put, stored: NodeKind) -> None:
    if put.given.kind is not None and put.given.kind != stored:
        raise InvalidInput(
            f"The node is of the kind {stored.name} for ever; make another node.",
            path=(*put.path, "kind"),
        )


def _update(write: Write, pairs: Sequence[tuple[Put, NodeRecord]]) -> list[int]:
    nexts = {node.id: (_content_of(node), put.fields) for put, node in pairs}
    contents = {node_id: replace(before, **fields) for node_id, (before, fields) in nexts.items()}
    written = {i: after for i, after in contents.items() if after != nexts[i][0]}
    update_contents(write, written)
    forget_confidences(
        write,
        [
            node.id
            for _, node in pairs
            if node.id in written
            and node.confidence != node.base_confidence != written[node.id].base_confidence
        ],
    )
    return [i for i, after in written.items() if _says(after) != _says(nexts[i][0])]


def _content_of(node: NodeRecord) -> Content:
    return Content(node.payload, node.contract_hash, node.base_confidence, node.expires_at)


def _says(content: Content) -> tuple[str | None, str | None]:
    return content.payload, content.contract_hash

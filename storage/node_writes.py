"""Writes nodes: identities, content, pins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrograph.rules.validity import Validity
from retrograph.storage.bulk import insert_rows
from retrograph.storage.records import NodeKind, NodeRecord
from retrograph.storage.tables import node_content, node_state
from retrograph.storage.versions import open_new, open_next
from retrograph.storage.write import Write, take_ids


@dataclass(frozen=True, slots=True)
class Content:
    """What a node holds; `payload` is canonical JSON text, `expires_at` an instant."""

    payload: str | None
    contract_hash: str | None
    base_confidence: float
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to make; `id` is that of one that had left the present, and comes back."""

    key: str | None
    kind: NodeKind
    content: Content
    validity: Validity = Validity.CURRENTLY_VALID
    projected: Validity = Validity.CURRENTLY_VALID
    pinned: bool = False
    id: int | None = None


def create_nodes(write: Write, nodes: Sequence[NewNode]) -> list[int]:
    """Makes nodes and returns their ids, in the order given."""
    fresh = iter(take_ids(write, "node", sum(node.id is None for node in nodes)))
    ids = [next(fresh) if node.id is None else node.id for node in nodes]
    snapshot = write.snapshot
    identities = (
        (snapshot.tenant_id, snapshot.fleet_id, node_id, node.key, int(node.kind), write.instant)
        for node_id, node in zip(ids, nodes, strict=True)
        if node.id is None
    )
    columns = ("tenant_id", "fleet_id", "id", "key", "kind", "created_at")
    insert_rows(snapshot.connection, snapshot.profile, "node", columns, identities)
    open_new(
        snapshot,
        node_state,
        [
            {
                "id": node_id,
                "validity": int(node.validity),
                "projected": int(node.projected),
                "pinned": int(node.pinned),
            }
            for node_id, node in zip(ids, nodes, strict=True)
        ],
    )
    open_new(
        snapshot,
        node_content,
        [_content_row(node_id, node.content) for node_id, node in zip(ids, nodes, strict=True)],
    )
    states = ((node.validity, node.projected, node.pinned) for node in nodes)
    write.note(nodes=((node_id, *state) for node_id, state in zip(ids, states, strict=True)))
    return ids


def update_contents(write: Write, contents: dict[int, Content]) -> None:
    """Opens next versions of the contents of existing nodes, by id."""
    rows = [_content_row(node_id, content) for node_id, content in contents.items()]
    open_next(write.snapshot, node_content, rows)


def forget_confidences(write: Write, ids: Sequence[int]) -> None:
    """Drops judged confidences, so that the base confidence counts again."""
    rows = [{"id": node_id, "confidence": None} for node_id in ids]
    open_next(write.snapshot, node_state, rows)


def set_pin(write: Write, node: NodeRecord, *, pinned: bool, reason: str | None) -> None:
    """Pins or unpins a node; its stored validity stays as it is."""
    row = {"id": node.id, "pinned": int(pinned), "pin_reason": reason if pinned else None}
    open_next(write.snapshot, node_state, [row])
    write.note(nodes=[(node.id, node.validity, node.projected, pinned)])


def _content_row(node_id: int, content: Content) -> dict[str, object]:
    return {
        "id": node_id,
        "payload": content.payload,
        "contract_hash": content.contract_hash,
        "base_confidence": content.base_confidence,
        "expires_at": content.expires_at,
    }

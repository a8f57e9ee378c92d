"""Loads many rows of a fleet at once, with ids that the caller has drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from retrograph.rules.validity import Validity
from retrograph.storage.bulk import insert_rows
from retrograph.storage.id_set import id_set
from retrograph.storage.node_writes import Content
from retrograph.storage.records import NodeKind
from retrograph.storage.tables import edge, evidence, node_state
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write

EdgeRow = tuple[int, int, int]
"""Source id, target id and the number of the type."""


@dataclass(frozen=True, slots=True)
class GivenState:
    """A node's state as a file gives it; no run accounts for it."""

    validity: Validity = Validity.CURRENTLY_VALID
    projected: Validity = Validity.CURRENTLY_VALID
    pinned: bool = False
    pin_reason: str | None = None


class LoadedNode(NamedTuple):
    """A node to make; one that is `back` had left the present, and keeps its identity."""

    id: int
    key: str
    kind: NodeKind
    state: GivenState
    content: Content
    back: bool


def load_nodes(write: Write, nodes: Collection[LoadedNode]) -> None:
    """Makes nodes: their identities, states and contents."""
    _load(
        write,
        "node",
        ("id", "key", "kind", "created_at"),
        ((node.id, node.key, int(node.kind), write.instant) for node in nodes if not node.back),
    )
    _load(
        write,
        "node_state",
        ("id", "validity", "projected", "pinned", "pin_reason", "valid_from"),
        ((node.id, *_state_values(node.state), write.instant) for node in nodes),
    )
    _load(
        write,
        "node_content",
        ("id", "payload", "contract_hash", "base_confidence", "expires_at", "valid_from"),
        ((node.id, *_content_values(node.content), write.instant) for node in nodes),
    )


def load_states(write: Write, states: Mapping[int, GivenState]) -> None:
    """Opens next versions of the states of existing nodes, by id."""
    names = ("id", "validity", "projected", "pinned", "pin_reason", "run_id", "run_ordinal")
    open_next(
        write.snapshot,
        node_state,
        [
            dict(zip(names, (node_id, *_state_values(state), None, None), strict=True))
            for node_id, state in states.items()
        ],
    )


def load_edges(write: Write, edges: Iterable[tuple[int, EdgeRow]]) -> None:
    """Makes edges, each with its id."""
    _load(
        write,
        "edge",
        ("id", "source_id", "target_id", "type", "valid_from"),
        ((edge_id, *row, write.instant) for edge_id, row in edges),
    )


def load_evidence(write: Write, rows: Iterable[tuple[int, int, str, str | None]]) -> None:
    """Hangs evidence on nodes; rows of id, node id, URI and note."""
    _load(
        write,
        "evidence",
        ("id", "node_id", "uri", "note", "valid_from"),
        ((*row, write.instant) for row in rows),
    )


def load_notes(write: Write, notes: Mapping[int, str]) -> None:
    """Opens next versions of evidence with other notes, by the evidence's id."""
    rows = [{"id": evidence_id, "note": note} for evidence_id, note in notes.items()]
    open_next(write.snapshot, evidence, rows)


def edges_out_of(write: Write, source_ids: Collection[int]) -> set[EdgeRow]:
    """The edges that leave any of these nodes at present."""
    table = edge.current
    rows = write.snapshot.connection.execute(
        select(table.c.source_id, table.c.target_id, table.c.type).where(
            table.c.tenant_id == write.snapshot.tenant_id,
            table.c.fleet_id == write.snapshot.fleet_id,
            table.c.source_id.in_(id_set(source_ids)),
        )
    )
    return {(source, target, kind) for source, target, kind in rows}


def _load(
    write: Write, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> None:
    snapshot = write.snapshot
    scope = (snapshot.tenant_id, snapshot.fleet_id)
    insert_rows(
        snapshot.connection,
        snapshot.profile,
        table,
        ("tenant_id", "fleet_id", *columns),
        ((*scope, *row) for row in rows),
    )


def _state_values(state: GivenState) -> tuple[int, int, int, str | None]:
    return int(state.validity), int(state.projected), int(state.pinned), state.pin_reason


def _content_values(content: Content) -> tuple[str | None, str | None, float, int | None]:
    return (
        content.payload,
        content.contract_hash,
        content.base_confidence,
        content.expires_at,
    )

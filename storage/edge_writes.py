"""Writes edges and evidence."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Executable, select

from retrograph.rules.edge_type import EdgeType
from retrograph.storage.driven import drive
from retrograph.storage.id_set import pair_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.records import EdgeRecord, EvidenceRecord
from retrograph.storage.same_text import same_text
from retrograph.storage.tables import edge, evidence
from retrograph.storage.versions import end, open_new, open_next
from retrograph.storage.write import Write, take_ids

EdgeKey = tuple[int, int, EdgeType]


def existing_edges(write: Write, keys: Sequence[EdgeKey]) -> dict[EdgeKey, int]:
    """The ids of those edges (source, target, type) that exist."""
    rows = fetch(write.snapshot, _between, pairs={key[:2] for key in keys})
    found = {(source, target, EdgeType(kind)): edge_id for source, target, kind, edge_id in rows}
    return {key: found[key] for key in keys if key in found}


@prepared
def _between(frame: Frame) -> Executable:  # noqa: ARG001 (writers read the present)
    pairs, table = pair_rows(), edge.current
    ends = (table.c.source_id == pairs.c.first) & (table.c.target_id == pairs.c.second)
    tenant, fleet = scoped(table)
    return select(table.c.source_id, table.c.target_id, table.c.type, table.c.id).select_from(
        drive(pairs, (table, ends & tenant & fleet))
    )


def create_edges(write: Write, keys: Sequence[EdgeKey]) -> range:
    """Makes edges and returns their ids, in the order given."""
    ids = take_ids(write, "edge", len(keys))
    open_new(
        write.snapshot,
        edge,
        [
            {"id": edge_id, "source_id": source, "target_id": target, "type": int(kind)}
            for edge_id, (source, target, kind) in zip(ids, keys, strict=True)
        ],
    )
    write.note(added=keys)
    return ids


def end_edges(write: Write, edges: Sequence[EdgeRecord]) -> None:
    """Takes edges out of the present."""
    end(write.snapshot, edge, [each.id for each in edges])
    write.note(removed=((each.source_id, each.target_id, each.type) for each in edges))


def put_evidence(write: Write, node_id: int, uri: str, note: str | None) -> EvidenceRecord:
    """Hangs evidence on a node; a URI that hangs there already only takes a new note."""
    snapshot, table = write.snapshot, evidence.current
    known = snapshot.connection.execute(
        select(table.c.id, table.c.note, table.c.valid_from).where(
            table.c.tenant_id == snapshot.tenant_id,
            table.c.fleet_id == snapshot.fleet_id,
            table.c.node_id == node_id,
            same_text(table.c.uri, uri),
        )
    ).one_or_none()
    if known is None:
        evidence_id = take_ids(write, "evidence", 1)[0]
        row = {"id": evidence_id, "node_id": node_id, "uri": uri, "note": note}
        open_new(snapshot, evidence, [row])
        return EvidenceRecord(evidence_id, node_id, uri, note, write.instant, write.instant)
    if note is None or note == known.note:
        return EvidenceRecord(known.id, node_id, uri, known.note, known.valid_from, write.instant)
    open_next(snapshot, evidence, [{"id": known.id, "note": note}])
    return EvidenceRecord(known.id, node_id, uri, note, write.instant, write.instant)

"""Evidence on nodes, as of an instant."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Executable, Select, select

from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.records import EvidenceRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import evidence

_COLUMNS = ("id", "node_id", "uri", "note", "valid_from")


def evidence_of(s: Snapshot, node_ids: Collection[int]) -> dict[int, list[EvidenceRecord]]:
    """The evidence that hangs on each node, by ascending id; one statement."""
    found: dict[int, list[EvidenceRecord]] = {node_id: [] for node_id in node_ids}
    if found:
        for row in sorted(fetch(s, _evidence, ids=node_ids)):
            id, node_id, uri, note, valid_from = row
            record = EvidenceRecord(id, node_id, uri, note, valid_from, s.instant)
            found[node_id].append(record)
    return found


@prepared
def _evidence(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.node_id == ids.c.value))
        columns = (arm.c[name] for name in _COLUMNS)
        return select(*columns).select_from(joined).where(*scoped(arm))

    return over_arms(frame.arms(evidence), build)

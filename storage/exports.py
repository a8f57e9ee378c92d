"""What an export reads beside lists of nodes and edges."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Executable, Select, bindparam, select

from retrograph.rules.limits import MIN_ID
from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.presence import is_node
from retrograph.storage.records import EvidenceRecord, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import evidence, node

_COLUMNS = ("id", "node_id", "uri", "note", "valid_from")


def keys_of(s: Snapshot, ids: Collection[int]) -> dict[int, str | None]:
    """The keys of nodes, by id; one statement."""
    rows = fetch(s, _keys, ids=ids)
    return {node_id: key for node_id, key in rows}  # noqa: C416 (rows are no pairs to a checker)


def page_evidence(s: Snapshot, first: int, after: int | None) -> Page[EvidenceRecord]:
    """The fleet's evidence by ascending id, after the id `after`; one statement."""
    rows = fetch(s, _page, after=MIN_ID if after is None else after, rows=first + 1)
    found = [
        EvidenceRecord(evidence_id, node_id, uri, note, valid_from, s.instant)
        for evidence_id, node_id, uri, note, valid_from in rows
    ]
    return page_of(s, found, first)


@prepared
def _keys(frame: Frame) -> Executable:  # noqa: ARG001 (identities are the same at any instant)
    ids = id_rows()
    joined = drive(ids, (node, node.c.id == ids.c.value))
    return select(node.c.id, node.c.key).select_from(joined).where(*within_scope(node))


@prepared
def _page(frame: Frame) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        columns = (arm.c[name] for name in _COLUMNS)
        chosen = select(*columns).where(*scoped(arm), arm.c.id > bindparam("after"))
        return chosen.where(is_node(frame, arm.c.node_id))

    return over_arms(frame.arms(evidence), build).order_by("id").limit(bindparam("rows"))

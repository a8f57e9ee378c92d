"""Nodes as of an instant: found by id or key, read whole, and listed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, FromClause, Select, select

from retrograph.rules.validity import Validity
from retrograph.storage.as_of import Arm, over_arms, paired_keyed_arms
from retrograph.storage.driven import drive
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import Place, id_rows, instant_rows, key_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.presence import is_node
from retrograph.storage.records import NodeKind, NodeRecord, NodeRef
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import node, node_content, node_state

IDENTITY = (node.c.id, node.c.key, node.c.kind, node.c.created_at)
STATE = (
    "valid_from",
    "validity",
    "projected",
    "pinned",
    "pin_reason",
    "confidence",
    "run_id",
    "run_ordinal",
)
CONTENT = ("valid_from", "payload", "contract_hash", "base_confidence", "expires_at")
_MOST_KEYS = 2_000
"""In one statement: as JSON, at their longest, they stay below the 16 MB a server may take."""
_VALIDITIES = {int(validity): validity for validity in Validity}
_KINDS = {int(kind): kind for kind in NodeKind}


class SeenNode(NamedTuple):
    """What filters look at of a node as of an instant."""

    id: int
    key: str | None
    kind: NodeKind
    validity: Validity
    pinned: bool


def find_nodes(s: Snapshot, refs: Collection[NodeRef]) -> dict[NodeRef, int]:
    """The ids of those refs that name a node which exists at the instant."""
    by_id = {ref.id: ref for ref in refs if ref.id is not None}
    by_key = {ref.key: ref for ref in refs if ref.key is not None}
    found = {by_id[id]: id for id in present(s, by_id)}
    keys = iter(by_key)
    while some := list(islice(keys, _MOST_KEYS)):
        found |= {by_key[key]: id for id, key, _ in fetch(s, _ids_of_keys, False, keys=some)}
    return found


def departed_nodes(s: Snapshot, keys: Collection[str]) -> dict[str, tuple[int, NodeKind]]:
    """The id and kind behind each of `keys` whose node has left the present.

    A key is a node's for ever: whoever makes a node of it again brings that one back.
    """
    found: dict[str, tuple[int, NodeKind]] = {}
    left = iter(keys)
    while some := list(islice(left, _MOST_KEYS)):
        rows = fetch(s, _ids_of_keys, True, keys=some)
        found |= {key: (id, _KINDS[kind]) for id, key, kind in rows}
    return found


def present(s: Snapshot, ids: Collection[int]) -> set[int]:
    """Those of `ids` that are nodes at the instant."""
    return {id for (id,) in fetch(s, _present, ids=ids)} if ids else set()


def nodes_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, NodeRecord]:
    """Those of `ids` that are nodes at the instant, by two statements whatever their number."""
    if not ids:
        return {}
    contents = {row[0]: row[1:] for row in fetch(s, _contents, ids=ids)}
    return {row[0]: node_record(s, row, contents[row[0]]) for row in fetch(s, _states, ids=ids)}


def nodes_then(s: Snapshot, places: Collection[Place]) -> dict[Place, NodeRecord]:
    """Those of `places` where there was a node, each as of its own instant, by two statements.

    No instant may be later than the snapshot's.
    """
    if not places:
        return {}
    contents = {(row[1], row[0]): row[2:] for row in fetch(s, _contents_then, since=places)}
    states = {(row[1], row[0]): row[1:] for row in fetch(s, _states_then, since=places)}
    then = {at: replace(s, instant=at) for at in {at for _, at in states}}
    return {
        place: node_record(then[place[1]], state, contents[place])
        for place, state in states.items()
    }


def seen_then(s: Snapshot, places: Collection[Place]) -> dict[Place, SeenNode]:
    """What filters look at of those of `places` where there was a node; one statement."""
    if not places:
        return {}
    return {
        (row[1], row[0]): SeenNode(
            row[1], row[2], _KINDS[row[3]], _VALIDITIES[row[6]], bool(row[8])
        )
        for row in fetch(s, _states_then, since=places)
    }


def states_by_id(s: Snapshot, ids: Collection[int]) -> dict[int, tuple[int, int, int]]:
    """The (validity, projected validity, pinned) of those of `ids` that are nodes."""
    return {row[0]: (row[5], row[6], row[7]) for row in fetch(s, _states, ids=ids)} if ids else {}


def node_record(
    s: Snapshot, state: Sequence[Any], content: Sequence[Any], valid_to: int | None = None
) -> NodeRecord:
    """A node of a row of `IDENTITY` and `STATE` and of one of `CONTENT`, read at the instant."""
    id, key, kind, created_at, *rest = state
    state_from, validity, projected, pinned, pin_reason, confidence, run_id, run_ordinal = rest
    content_from, payload, contract_hash, base_confidence, expires_at = content
    return NodeRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        id=id,
        key=key,
        kind=_KINDS[kind],
        created_at=created_at,
        validity=_VALIDITIES[validity],
        projected=_VALIDITIES[projected],
        pinned=bool(pinned),
        pin_reason=pin_reason,
        confidence=base_confidence if confidence is None else confidence,
        base_confidence=base_confidence,
        payload=payload,
        contract_hash=contract_hash,
        expires_at=expires_at,
        run_id=run_id,
        run_ordinal=run_ordinal,
        valid_from=max(state_from, content_from),
        valid_to=valid_to,
        as_of=s.instant,
    )


@prepared
def _ids_of_keys(frame: Frame, departed: bool) -> Executable:
    keys = key_rows()
    joined = drive(keys, (node, has_key(node.c.key, keys.c.value)))
    there = is_node(frame, node.c.id)
    return (
        select(node.c.id, node.c.key, node.c.kind)
        .select_from(joined)
        .where(*scoped(node), ~there if departed else there)
    )


@prepared
def _present(frame: Frame) -> Executable:
    ids = id_rows()
    return select(ids.c.value).where(is_node(frame, ids.c.value))


@prepared
def _states(frame: Frame) -> Executable:
    ids = id_rows()
    return _with_states(
        drive(ids, (node, node.c.id == ids.c.value)), frame.keyed_arms(node_state, node.c.id)
    )


@prepared
def _states_then(frame: Frame) -> Executable:  # noqa: ARG001 (the same in every frame)
    since = instant_rows()
    source = drive(since, (node, node.c.id == since.c.id))
    found = paired_keyed_arms(node_state, since.c.period, node.c.id, current=False)
    return _with_states(source, found, since.c.moment)


def _with_states(source: FromClause, found: list[Arm], *before: ColumnElement[Any]) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        columns = (*before, *IDENTITY, *(arm.c[name] for name in STATE))
        chosen = select(*columns).select_from(drive(source, (arm.table, arm.c.id == node.c.id)))
        return chosen.where(*within_scope(node), *within_scope(arm))

    return over_arms(found, build)


@prepared
def _contents(frame: Frame) -> Executable:
    ids = id_rows()
    return _with_contents(ids, ids.c.value, frame.keyed_arms(node_content, ids.c.value))


@prepared
def _contents_then(frame: Frame) -> Executable:  # noqa: ARG001
    since = instant_rows()
    found = paired_keyed_arms(node_content, since.c.period, since.c.id, current=False)
    return _with_contents(since, since.c.id, found, since.c.moment)


def _with_contents(
    source: FromClause, id: ColumnElement[int], found: list[Arm], *before: ColumnElement[Any]
) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        columns = (*before, *(arm.c[name] for name in ("id", *CONTENT)))
        chosen = select(*columns).select_from(drive(source, (arm.table, arm.c.id == id)))
        return chosen.where(*within_scope(arm))

    return over_arms(found, build)

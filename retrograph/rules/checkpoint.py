"""The hash of a checkpoint, which binds it to its place and to all before it in its execution."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import orjson

from retrograph.rules.instant import EARLIEST, LATEST, format_instant


class Link(NamedTuple):
    """All that the hash of a checkpoint is taken of.

    `execution_id` and `session_id` are the callers' names. `payload` is canonical JSON (RFC 8785)
    in UTF-8, `based_on` node ids in ascending order, `committed_at` an instant. `previous_hash` is
    None for the first of a chain.
    """

    tenant_id: int
    fleet_id: int
    execution_id: str
    session_id: str
    sequence: int
    state_node: str
    schema_version: str
    payload: bytes
    idempotency_token: str
    based_on: tuple[int, ...]
    committed_at: int
    previous_hash: str | None


def checkpoint_hash(link: Link) -> str:
    """The hex SHA-256 of the link as one canonical JSON object; ids and the sequence are strings.

    `ValueError` for what no checkpoint can hold: texts with lone surrogates, an instant that isn't.
    """
    return sealed({**without_payload(link), "payload": orjson.Fragment(link.payload)})


def without_payload(link: Link) -> dict[str, object]:
    """All that the hash is taken of but the payload; `ValueError` for an instant that isn't."""
    if not EARLIEST <= link.committed_at <= LATEST:
        raise ValueError("committed at no instant")
    return {
        "tenantId": str(link.tenant_id),
        "fleetId": str(link.fleet_id),
        "executionId": link.execution_id,
        "sessionId": link.session_id,
        "sequence": str(link.sequence),
        "stateNode": link.state_node,
        "schemaVersion": link.schema_version,
        "idempotencyToken": link.idempotency_token,
        "basedOn": [str(each) for each in link.based_on],
        "committedAt": format_instant(link.committed_at),
        "previousHash": link.previous_hash,
    }


def sealed(told: dict[str, object]) -> str:
    """The hex SHA-256 of an object of texts, lists of texts and canonical fragments.

    Of these, orjson writes canonical JSON once keys are sorted (test_canonical_json).
    """
    try:
        return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except orjson.JSONEncodeError as error:
        raise ValueError(f"no canonical JSON: {error}") from error

"""Retention: which checkpoints may go, and the anchor that stays for them in the chain."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.rules.checkpoint import sealed
from retrograph.rules.instant import EARLIEST, LATEST, format_instant


@dataclass(frozen=True, slots=True)
class Anchor:
    """What stays of the checkpoints up to `sequence` that were removed, signed off by somebody.

    The chain goes on from `checkpoint_hash`, that of the last one removed, which was committed at
    `committed_at`; the first of the execution was at `began_at`. `previous_hash` is that of the
    anchor before, None for the first. Instants are UTC microseconds.
    """

    tenant_id: int
    fleet_id: int
    execution_id: str
    sequence: int
    checkpoint_hash: str
    began_at: int
    committed_at: int
    removed_at: int
    removed_by: str
    reason: str
    previous_hash: str | None


def anchor_hash(anchor: Anchor) -> str:
    """The hex SHA-256 of the anchor as one canonical JSON object, spelt like a checkpoint's.

    `ValueError` for what no anchor can hold.
    """
    instants = (anchor.began_at, anchor.committed_at, anchor.removed_at)
    if not all(EARLIEST <= each <= LATEST for each in instants):
        raise ValueError("an instant that is none")
    return sealed(
        {
            "tenantId": str(anchor.tenant_id),
            "fleetId": str(anchor.fleet_id),
            "executionId": anchor.execution_id,
            "sequence": str(anchor.sequence),
            "checkpointHash": anchor.checkpoint_hash,
            "beganAt": format_instant(anchor.began_at),
            "committedAt": format_instant(anchor.committed_at),
            "removedAt": format_instant(anchor.removed_at),
            "removedBy": anchor.removed_by,
            "reason": anchor.reason,
            "previousHash": anchor.previous_hash,
        }
    )


def last_to_remove(head: int, keep_last: int, last_older: int | None) -> int:
    """The last sequence that retention removes; 0 for none. The head always stays.

    `keep_last` checkpoints stay, 1 or more, and all that are younger than the sequence
    `last_older`, if one is given.
    """
    by_count = head - keep_last
    return max(0, by_count if last_older is None else min(by_count, last_older))

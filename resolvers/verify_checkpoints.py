"""`verifyCheckpoints`: walks the whole chain of an execution and names its first broken link."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.checkpoints import check_execution
from retrograph.resolvers.scope import Scope
from retrograph.rules.anchor import Anchor
from retrograph.rules.chain import ChainCheck, Fault, Head
from retrograph.rules.checkpoint_errors import CheckpointRemoved
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.storage.chains import Signed, anchors_of, chain_rows
from retrograph.storage.executions import find_standing
from retrograph.storage.snapshot import Snapshot

ROWS = 32
"""Rows read at a time: a payload may take 1 MB."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a walk has found: the links that hold, up to `head`, from `anchor` if there is one."""

    checked: int
    head: Head | None
    anchor: Anchor | None
    anchor_hash: str | None
    fault: Fault | None
    as_of: int


def verify_checkpoints(
    scope: Scope, fleet_id: int, execution_id: str, expected: Head | None = None
) -> Verified:
    """Verifies an execution's chain as it is stored now, against a head that was kept, if one is.

    Raises `NotFound` for an execution that isn't there and of which no head was kept, and
    `CheckpointRemoved` for a kept head that lies before the last anchor.
    """
    check_execution(execution_id)
    if expected is not None and expected.sequence < 1:
        raise InvalidInput("Give a sequence from 1 on.", path=("expectedHead", "sequence"))
    with scope.snapshot(fleet_id) as s:
        standing = find_standing(s, execution_id)
        if standing is None and expected is None:
            raise NotFound(
                f"There is no execution {execution_id!r} in this fleet.", path=("executionId",)
            )
        number = None if standing is None else standing.id
        return _verify(s, number, execution_id, expected)


def _verify(s: Snapshot, number: int | None, key: str, expected: Head | None) -> Verified:
    anchors = [] if number is None else anchors_of(s, number, key)
    _check_kept(anchors, expected)
    check = ChainCheck(anchors, expected)
    while number is not None and check.fault is None:
        rows = chain_rows(s, number, key, check.head.sequence, ROWS)
        check.take(rows)
        if len(rows) < ROWS:
            break
    fault = check.finish()
    anchor, sealed = anchors[-1] if anchors else (None, None)
    head = check.head if check.head.sequence else None
    return Verified(check.checked, head, anchor, sealed, fault, s.instant)


def _check_kept(anchors: list[Signed], expected: Head | None) -> None:
    if expected is not None and anchors and expected.sequence < anchors[-1][0].sequence:
        raise CheckpointRemoved(
            f"Retention has removed the checkpoints up to {anchors[-1][0].sequence}, the kept head "
            "among them. Keep a later one.",
            path=("expectedHead", "sequence"),
        )

"""`retainCheckpoints` and `deleteExecution`: what an administrator removes, and what stays."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.commit_checkpoint import check_names
from retrograph.resolvers.rollback_execution import require_execution
from retrograph.resolvers.scope import Scope
from retrograph.rules.anchor import Anchor, last_to_remove
from retrograph.rules.chain import ChainCheck
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import check_text
from retrograph.storage.chains import (
    Signed,
    anchors_of,
    cast_anchor,
    count_up_to,
    last_older,
    walk_chain,
)
from retrograph.storage.checkpoint_records import CheckpointRecord
from retrograph.storage.checkpoints import checkpoint_at, damaged
from retrograph.storage.erasures import stored_checkpoint_of
from retrograph.storage.executions import end_execution
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class Retention:
    """Which checkpoints of an execution may go: all but the last `keep_last`.

    With `older_than`, an instant, only those that were committed before it.  `by` signs it off.
    """

    execution_id: str
    by: str
    reason: str
    keep_last: int = 1
    older_than: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Retained:
    """How many checkpoints went, or would, and the anchor that stands for all that ever did."""

    instant: int
    removed: int
    anchor: Anchor | None
    anchor_hash: str | None


@dataclass(frozen=True, slots=True)
class Deleted:
    """The head that the execution had; None where it had no checkpoint, or a damaged one."""

    instant: int
    head: CheckpointRecord | None


def retain_checkpoints(scope: Scope, fleet_id: int, retention: Retention) -> Retained:
    """Removes old checkpoints for good, and leaves an anchor from which the chain goes on.

    Raises `InvalidInput`, `NotFound`, and `CheckpointDamaged` where one that would go isn't sound.
    """
    check_names(executionId=retention.execution_id, by=retention.by)
    check_text(retention.reason, ("input", "reason"))
    if retention.keep_last < 1:
        raise InvalidInput("The head always stays; keep 1 or more.", path=("input", "keepLast"))
    return scope.write(fleet_id, lambda write: _retain(write, retention))


def delete_execution(
    scope: Scope, fleet_id: int, execution_id: str, by: str, reason: str, *, purge: bool = False
) -> Deleted:
    """Takes an execution out of the present; its past stays, unless it is purged.

    Its name may then begin a new one.  Raises `InvalidInput` and `NotFound`.
    """
    check_names(executionId=execution_id, by=by)
    check_text(reason, ("input", "reason"))

    def job(write: Write) -> Deleted:
        standing = require_execution(write.snapshot, execution_id)
        head = _readable_head(write.snapshot, execution_id)
        end_execution(write, standing.id, by, reason, purge=purge)
        return Deleted(write.instant, head)

    return scope.write(fleet_id, job)


def _readable_head(s: Snapshot, key: str) -> CheckpointRecord | None:
    """Damage doesn't keep an execution from going: it may be why somebody wants it to."""
    try:
        return checkpoint_at(s, key)
    except CheckpointDamaged:
        return None


def _retain(write: Write, retention: Retention) -> Retained:
    s, key = write.snapshot, retention.execution_id
    standing = require_execution(s, key)
    anchors = anchors_of(s, standing.id, key)
    older = retention.older_than
    last = last_to_remove(
        standing.sequence,
        retention.keep_last,
        None if older is None else last_older(s, standing.id, older),
    )
    removed = count_up_to(s, standing.id, last)
    if removed:
        made = _anchor(write, retention, standing.id, last, anchors)
        if not retention.dry_run:
            anchors.append((made, cast_anchor(write, standing.id, made)))
    anchor, sealed = anchors[-1] if anchors else (None, None)
    return Retained(write.instant, removed, anchor, sealed)


def _anchor(
    write: Write, retention: Retention, number: int, last: int, anchors: list[Signed]
) -> Anchor:
    """The anchor for all up to `last`. A dry run makes it, too, so that it refuses the same."""
    s, key = write.snapshot, retention.execution_id
    began = _check_sound(s, number, key, last, anchors)
    gone = stored_checkpoint_of(s, number, key, last)
    if gone is None or gone.link is None:
        raise damaged(key, last)
    return Anchor(
        s.tenant_id, s.fleet_id, key, last, gone.hash, began, gone.link.committed_at, write.instant,
        retention.by, retention.reason, anchors[-1][1] if anchors else None,
    )  # fmt: skip


def _check_sound(s: Snapshot, number: int, key: str, last: int, anchors: list[Signed]) -> int:
    """When the first of all was committed; what is broken stays, as it is all that tells of it."""
    check = ChainCheck(anchors)
    walk_chain(s, number, key, check, last)
    if check.fault is not None:
        raise damaged(key, check.fault.sequence)
    if check.began is None or check.head.sequence < last:
        raise damaged(key, check.head.sequence + 1)
    return check.began

"""Tells what never was from what retention has removed: the latter is never an empty answer."""

from __future__ import annotations

from retrograph.rules.checkpoint_errors import CheckpointRemoved
from retrograph.rules.errors import FieldPath
from retrograph.storage.chains import last_anchor
from retrograph.storage.executions import is_purged
from retrograph.storage.snapshot import Snapshot


def check_retained(
    s: Snapshot, key: str, sequence: int | None = None, *, path: FieldPath = ("executionId",)
) -> None:
    """Raises `CheckpointRemoved` if the execution had what wasn't found, by a sequence or any."""
    signed = last_anchor(s, key)
    if signed is not None:
        anchor, _ = signed
        if s.instant >= anchor.began_at and (sequence or 0) <= anchor.sequence:
            raise CheckpointRemoved(
                f"Retention has removed the checkpoints of {key!r} up to {anchor.sequence}; ask "
                "for later ones.",
                path=path,
            )
    if is_purged(s, key):
        raise CheckpointRemoved(f"The execution {key!r} of that instant was purged.", path=path)

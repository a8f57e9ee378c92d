"""The failures of executions; `retrograph.rules.errors` draws the tree that they belong to."""

from __future__ import annotations

from retrograph.rules.errors import (
    FieldPath,
    InvalidInput,
    NotFound,
    RetrographError,
    StorageError,
)


class CheckpointRemoved(NotFound):
    """What was asked for was there once, and retention has removed it: no empty answer is true."""

    code = "CHECKPOINT_REMOVED"


class UnknownSchemaVersion(InvalidInput):
    """No registered function leads from or to a payload's schema version: it would be a guess."""

    code = "UNKNOWN_SCHEMA_VERSION"


class CheckpointConflict(RetrographError):
    """The execution's head isn't the one that the commit goes on from; `head` is its sequence.

    With `other`, it is the expected one by its sequence and another by its hash.
    """

    code = "CHECKPOINT_CONFLICT"

    def __init__(
        self, execution_id: str, head: int, *, other: bool = False, path: FieldPath = ()
    ) -> None:
        super().__init__(_told_head(head, other=other), path=path)
        self.execution_id = execution_id
        self.head = head


def _told_head(head: int, *, other: bool) -> str:
    if not head:
        return (
            "The execution has no checkpoint yet; commit its first with expectedSequence 0 and no "
            "expectedHash."
        )
    if other:
        return (
            f"The head is checkpoint {head}, as expected, but its hash isn't expectedHash: the "
            "chain is another one than you know. Load the head, decide again, and commit with its "
            "hash as expectedHash."
        )
    return (
        f"The head of the execution is checkpoint {head} now. Load it, decide again, and commit "
        "with its sequence as expectedSequence."
    )


class TokenReused(RetrographError):
    """The idempotency token already names another commit of the execution."""

    code = "TOKEN_REUSED"


class StepKeyReused(RetrographError):
    """The key already names a step of the execution with other content."""

    code = "STEP_KEY_REUSED"


class UpcastFailed(RetrographError):
    """A registered function could not turn a payload into its next schema version."""

    code = "UPCAST_FAILED"


class CheckpointDamaged(StorageError):
    """A stored checkpoint, or step, isn't what was committed: its hash says so."""

    code = "CHECKPOINT_DAMAGED"

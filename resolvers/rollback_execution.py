"""`rollbackExecution`: commits an old state of an execution as its new head; chains only grow."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.commit_checkpoint import Committed, append, check_names, token_reused
from retrograph.resolvers.retained import check_retained
from retrograph.resolvers.scope import Scope
from retrograph.rules.checkpoint_errors import CheckpointConflict, CheckpointRemoved
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.storage.checkpoint_records import CheckpointRecord, NewCheckpoint, Standing
from retrograph.storage.checkpoints import checkpoint_at, committed_with
from retrograph.storage.executions import find_standing
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write

_TO = ("input", "toSequence")
_EXPECTED = ("input", "expectedSequence")
_TOKEN = ("input", "idempotencyToken")


@dataclass(frozen=True, slots=True)
class Rollback:
    """The state to go back to; `expected_sequence` None takes whatever head there is."""

    execution_id: str
    to_sequence: int
    idempotency_token: str
    expected_sequence: int | None = None


def rollback_execution(scope: Scope, fleet_id: int, rollback: Rollback) -> Committed:
    """Commits the state of an earlier checkpoint again, as it was stored.

    The same request with the same token gets what it got before, also when the earlier checkpoint
    has been removed since, or what it got was erased.  Raises `InvalidInput`, `NotFound`,
    `CheckpointRemoved` also where both are gone, `TokenReused`, `CheckpointConflict`.
    """
    check_names(executionId=rollback.execution_id, idempotencyToken=rollback.idempotency_token)
    if rollback.to_sequence < 1:
        raise InvalidInput("Give a sequence from 1 on.", path=_TO)

    def job(write: Write) -> Committed:
        s, key = write.snapshot, rollback.execution_id
        standing = require_execution(s, key)
        known = _known(s, standing, rollback)
        if known is not None:
            _check_same(s, rollback, known)
            return Committed(known, replayed=True)
        state = _state(s, rollback)
        if rollback.expected_sequence not in {None, standing.sequence}:
            raise CheckpointConflict(key, standing.sequence, path=_EXPECTED)
        return Committed(append(write, key, standing, state), replayed=False)

    return scope.write(fleet_id, job)


def require_execution(s: Snapshot, key: str) -> Standing:
    """Where the execution of that name stands at present; raises `NotFound`."""
    standing = find_standing(s, key)
    if standing is None:
        raise NotFound(
            f"There is no execution {key!r} in this fleet.", path=("input", "executionId")
        )
    return standing


def _state(s: Snapshot, rollback: Rollback) -> NewCheckpoint:
    try:
        old = checkpoint_at(s, rollback.execution_id, rollback.to_sequence)
    except CheckpointRemoved as gone:  # it was erased
        raise CheckpointRemoved(gone.message, path=_TO) from None
    if old is None:
        check_retained(s, rollback.execution_id, rollback.to_sequence, path=_TO)
        raise NotFound(
            f"The execution has no checkpoint {rollback.to_sequence}; list those it has.", path=_TO
        )
    return _content(old, rollback.idempotency_token)


def _known(s: Snapshot, standing: Standing, rollback: Rollback) -> CheckpointRecord | None:
    """What the token has committed; from the earlier state where its own payload was erased."""
    key, token = rollback.execution_id, rollback.idempotency_token
    found = committed_with(s, standing.id, key, token)
    if found is None or found.payload:
        return found
    try:
        state = _state(s, rollback)
    except CheckpointRemoved:
        raise CheckpointRemoved(
            f"This token committed checkpoint {found.sequence}, whose payload was erased, as was "
            f"checkpoint {rollback.to_sequence}; load the head, or take a new token for another "
            "rollback.",
            path=_TOKEN,
        ) from None
    return committed_with(s, standing.id, key, token, state.payload)


def _content(record: CheckpointRecord, token: str) -> NewCheckpoint:
    return NewCheckpoint(
        record.session_id,
        record.state_node,
        record.stored_schema_version,
        record.payload.encode(),
        token,
        record.based_on,
    )


def _check_same(s: Snapshot, rollback: Rollback, known: CheckpointRecord) -> None:
    behind = rollback.expected_sequence
    if not _says_so(s, rollback, known) or behind not in {None, known.sequence - 1}:
        raise token_reused(known.sequence)


def _says_so(s: Snapshot, rollback: Rollback, known: CheckpointRecord) -> bool:
    """Whether `known` holds the state to go back to, as far as that is still there to compare."""
    try:
        state = _state(s, rollback)
    except CheckpointRemoved:
        return rollback.to_sequence < known.sequence
    return _content(known, rollback.idempotency_token) == state

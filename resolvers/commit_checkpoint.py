"""`commitCheckpoint`: appends to an execution's chain, if it stands where the caller thinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_ref, require_nodes
from retrograph.rules.canonical_json import payload_text
from retrograph.rules.checkpoint_errors import CheckpointConflict, TokenReused
from retrograph.rules.errors import FieldPath
from retrograph.rules.limits import MAX_BATCH, MAX_KEY_LENGTH, check_batch, check_text
from retrograph.storage.checkpoint_records import CheckpointRecord, NewCheckpoint, Standing
from retrograph.storage.checkpoints import append_checkpoint, committed_with
from retrograph.storage.executions import find_standing, open_execution
from retrograph.storage.nodes import departed_nodes, find_nodes
from retrograph.storage.records import EventType, NodeRef
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write

_INPUT: FieldPath = ("input",)
_TOKEN = (*_INPUT, "idempotencyToken")


@dataclass(frozen=True, slots=True)
class Commit:
    """A state to commit; `payload` is a JSON value, `expected_sequence` 0 for the first."""

    execution_id: str
    session_id: str
    expected_sequence: int
    state_node: str
    payload: object
    schema_version: str
    idempotency_token: str
    expected_hash: str | None = None
    based_on: Sequence[NodeRef] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """The checkpoint; `replayed` tells that the same commit had made it before."""

    checkpoint: CheckpointRecord
    replayed: bool


def commit_checkpoint(scope: Scope, fleet_id: int, commit: Commit) -> Committed:
    """Commits a state as the next checkpoint of its execution, which begins with its first.

    The same commit with the same token gets what it got before, though the payload was erased: the
    hash proves that it is the same.  Raises `InvalidInput`,
    `UnknownSchemaVersion` for a version that could not be loaded again, `TokenReused` for another
    commit with a token, `CheckpointConflict` unless the head is the one expected, and `NotFound`
    for a fleet, or a node that it is based on.
    """
    payload = _check(commit, scope.checkpoint_bytes).encode()
    scope.upcasters.check_known(commit.schema_version, path=(*_INPUT, "schemaVersion"))

    def job(write: Write) -> Committed:
        standing = find_standing(write.snapshot, commit.execution_id)
        known = None if standing is None else _known(write.snapshot, standing, commit, payload)
        if known is not None:
            _check_same(write.snapshot, commit, known, payload)
            return Committed(known, replayed=True)
        _check_head(commit, standing)
        new = NewCheckpoint(
            commit.session_id,
            commit.state_node,
            commit.schema_version,
            payload,
            commit.idempotency_token,
            _ids_of(write.snapshot, commit.based_on),
        )
        return Committed(append(write, commit.execution_id, standing, new), replayed=False)

    return scope.write(fleet_id, job)


def append(
    write: Write, execution_id: str, standing: Standing | None, new: NewCheckpoint
) -> CheckpointRecord:
    """Appends a checkpoint to an execution, which it begins if there is none, and tells of it."""
    head = standing or open_execution(write, execution_id)
    made = append_checkpoint(write, execution_id, head, new)
    write.emit(
        EventType.CHECKPOINT_COMMITTED,
        executionId=execution_id,
        sequence=str(made.sequence),
        stateNode=made.state_node,
        hash=made.hash,
    )
    return made


def check_names(**names: str) -> None:
    """Names of executions and sessions, tokens and the like: texts of a key's length at most."""
    for name, value in names.items():
        check_text(value, (*_INPUT, name), MAX_KEY_LENGTH)


def _check(commit: Commit, most: int) -> str:
    """Raises `InvalidInput`; returns the payload's canonical text, of `most` bytes at most."""
    check_names(
        executionId=commit.execution_id,
        sessionId=commit.session_id,
        stateNode=commit.state_node,
        schemaVersion=commit.schema_version,
        idempotencyToken=commit.idempotency_token,
    )
    if commit.based_on:
        check_batch(len(commit.based_on), MAX_BATCH, field=(*_INPUT, "basedOn"))
    for place, ref in enumerate(commit.based_on):
        check_ref(ref, _based_on(place))
    return payload_text(commit.payload, field=(*_INPUT, "payload"), most=most)


def _based_on(place: int) -> FieldPath:
    return (*_INPUT, "basedOn", str(place))


def _known(
    s: Snapshot, standing: Standing, commit: Commit, payload: bytes
) -> CheckpointRecord | None:
    return committed_with(s, standing.id, commit.execution_id, commit.idempotency_token, payload)


def _check_same(s: Snapshot, commit: Commit, known: CheckpointRecord, payload: bytes) -> None:
    asked = (
        commit.session_id,
        commit.expected_sequence + 1,
        commit.state_node,
        commit.schema_version,
        payload,
        commit.expected_hash or known.previous_hash,
        _ids_once_named(s, commit.based_on),
    )
    stored = (
        known.session_id,
        known.sequence,
        known.state_node,
        known.stored_schema_version,
        known.payload.encode(),
        known.previous_hash,
        set(known.based_on),
    )
    if asked != stored:
        raise token_reused(known.sequence)


def token_reused(sequence: int) -> TokenReused:
    """The error for a token that has committed something else."""
    return TokenReused(
        f"This token committed checkpoint {sequence}, with other content; take a new token for a "
        "new commit.",
        path=_TOKEN,
    )


def _check_head(commit: Commit, standing: Standing | None) -> None:
    head = standing or Standing(0)
    if commit.expected_sequence != head.sequence:
        raise CheckpointConflict(
            commit.execution_id, head.sequence, path=(*_INPUT, "expectedSequence")
        )
    if commit.expected_hash is not None and commit.expected_hash != head.hash:
        raise CheckpointConflict(
            commit.execution_id, head.sequence, other=True, path=(*_INPUT, "expectedHash")
        )


def _ids_of(s: Snapshot, refs: Sequence[NodeRef]) -> tuple[int, ...]:
    """The ids of all nodes named, ascending; raises `NotFound`."""
    if not refs:
        return ()
    named = [(ref, _based_on(place)) for place, ref in enumerate(refs)]
    return tuple(sorted(set(require_nodes(s, named).values())))


def _ids_once_named(s: Snapshot, refs: Sequence[NodeRef]) -> set[int | None]:
    """The same for a commit that was made before: nodes that have left since count, too."""
    if not refs:
        return set()
    found = find_nodes(s, refs)
    keys = [ref.key for ref in refs if ref.key is not None and ref not in found]
    gone = {key: id for key, (id, _) in departed_nodes(s, keys).items()}
    return {found.get(ref, gone.get(ref.key or "") if ref.id is None else ref.id) for ref in refs}

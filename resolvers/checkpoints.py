"""Reads checkpoints as of an instant (None: the last one)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from retrograph.resolvers.retained import check_retained
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import MAX_KEY_LENGTH, check_first, check_text
from retrograph.storage.checkpoint_records import CheckpointRecord, ExecutionRecord
from retrograph.storage.checkpoints import (
    NamedPlace,
    checkpoint_at,
    checkpoints_then,
    committed_by_then,
    page_checkpoints,
)
from retrograph.storage.executions import page_executions
from retrograph.storage.records import Page


def get_checkpoint(
    scope: Scope,
    fleet_id: int,
    execution_id: str,
    sequence: int | None = None,
    at: int | None = None,
) -> CheckpointRecord | None:
    """The head of an execution, or its checkpoint of a sequence; None where there was none.

    In the current version of its schema.  Raises `CheckpointRemoved` for what retention took,
    `CheckpointDamaged`, `UnknownSchemaVersion`, `UpcastFailed`.
    """
    found = stored_checkpoint(scope, fleet_id, execution_id, sequence, at)
    return None if found is None else _upcast(scope, found)


def stored_checkpoint(
    scope: Scope,
    fleet_id: int,
    execution_id: str,
    sequence: int | None = None,
    at: int | None = None,
) -> CheckpointRecord | None:
    """The same as it was committed."""
    check_execution(execution_id)
    check_sequence(sequence)
    with scope.snapshot(fleet_id, at) as snapshot:
        found = checkpoint_at(snapshot, execution_id, sequence)
        if found is None:
            check_retained(snapshot, execution_id, sequence)
        return found


def get_committed(
    scope: Scope, fleet_id: int, execution_id: str, token: str, at: int | None = None
) -> CheckpointRecord | None:
    """The checkpoint that a token has committed; None where it has committed none.

    In the current version of its schema.  Raises what `get_checkpoint` does; `CheckpointRemoved`
    where retention may have taken it.
    """
    check_execution(execution_id)
    check_text(token, ("idempotencyToken",), MAX_KEY_LENGTH)
    with scope.snapshot(fleet_id, at) as snapshot:
        found = committed_by_then(snapshot, execution_id, token)
        if found is None:
            check_retained(snapshot, execution_id)
            return None
    return _upcast(scope, found)


def list_executions(
    scope: Scope,
    fleet_id: int,
    key_prefix: str | None,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[ExecutionRecord]:
    """A page of a fleet's executions in the order of their beginnings, behind a number.

    Those whose names begin with `key_prefix`, or all.
    """
    check_prefix(key_prefix)
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return page_executions(snapshot, key_prefix, first, after)


def list_checkpoints(
    scope: Scope,
    fleet_id: int,
    execution_id: str,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[CheckpointRecord]:
    """A page of an execution's checkpoints, newest first, behind the sequence `after`.

    In the current versions of their schemas; raises what `get_checkpoint` does.
    """
    check_execution(execution_id)
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        page = page_checkpoints(snapshot, execution_id, first, after)
        if not page.rows and after is None:
            check_retained(snapshot, execution_id)
    return replace(page, rows=[_upcast(scope, each) for each in page.rows])


def load_checkpoints_then(
    scope: Scope, fleet_id: int, places: Collection[NamedPlace]
) -> dict[NamedPlace, CheckpointRecord]:
    """Those of `places`, none of the future, that retention has left; as they were committed."""
    with scope.snapshot(fleet_id) as snapshot:
        return checkpoints_then(snapshot, places)


def check_execution(execution_id: str) -> None:
    """The name of an execution is a text of a key's length at most."""
    check_text(execution_id, ("executionId",), MAX_KEY_LENGTH)


def check_prefix(prefix: str | None) -> None:
    """The beginning of a name or a key, which may be empty."""
    if prefix is not None:
        check_text(prefix, ("keyPrefix",), MAX_KEY_LENGTH, required=False)


def check_sequence(sequence: int | None) -> None:
    """The first checkpoint of an execution has the sequence 1."""
    if sequence is not None and sequence < 1:
        raise InvalidInput("Give a sequence from 1 on.", path=("sequence",))


def _upcast(scope: Scope, found: CheckpointRecord) -> CheckpointRecord:
    version, payload = scope.upcasters.upcast(found.stored_schema_version, found.payload)
    if version == found.stored_schema_version:
        return found
    return found._replace(schema_version=version, payload=payload)

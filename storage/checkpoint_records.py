"""What is known of executions: their checkpoints, their steps, and what retention has removed.

Executions are called by the names that callers gave them; instants are UTC microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class CheckpointRecord(NamedTuple):
    """A checkpoint of an execution, read at `as_of`.

    `payload` is canonical JSON text of the version `schema_version`; it was committed as
    `stored_schema_version`, and differs from what was stored where the two differ.  `based_on` are
    node ids, ascending.
    """

    tenant_id: int
    fleet_id: int
    execution_id: str
    session_id: str
    sequence: int
    state_node: str
    payload: str
    schema_version: str
    stored_schema_version: str
    idempotency_token: str
    based_on: tuple[int, ...]
    committed_at: int
    previous_hash: str | None
    hash: str
    as_of: int


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """What a commit brings; `payload` is canonical JSON in UTF-8, `based_on` ascending."""

    session_id: str
    state_node: str
    schema_version: str
    payload: bytes
    idempotency_token: str
    based_on: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an execution stands: its number in storage, and its head; sequence 0 for none."""

    id: int
    sequence: int = 0
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """An execution at `as_of`: its number in storage, its name, and its head's sequence (or 0)."""

    id: int
    key: str
    created_at: int
    sequence: int
    as_of: int


class Life(NamedTuple):
    """From when until when a name meant an execution: its number; `end` None for the present."""

    number: int
    key: str
    begin: int
    end: int | None

    def spans(self, instant: int) -> bool:
        """Whether the name meant this execution at an instant."""
        return self.begin <= instant and (self.end is None or instant < self.end)


@dataclass(frozen=True, slots=True)
class Span:
    """What is left of a chain: its execution's number and name, its first and last sequence."""

    id: int
    key: str
    first: int
    last: int


class StepStatus(IntEnum):
    """Where a step stands; what has finished is final."""

    SUCCEEDED = 1
    FAILED = 2
    STARTED = 3


@dataclass(frozen=True, slots=True)
class StepReport:
    """What is told of a step; `result` is canonical JSON text.

    `sequence` is that of the checkpoint it belongs to: 0 before the first.
    """

    key: str
    status: StepStatus
    sequence: int
    name: str | None
    worker: str | None
    result: str | None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step of an execution as of an instant, entered as entry `ordinal` of its ledger.

    `erased` tells that it had a result, which was erased.
    """

    tenant_id: int
    fleet_id: int
    execution_id: str
    ordinal: int
    key: str
    sequence: int
    name: str | None
    worker: str | None
    status: StepStatus
    result: str | None
    started_at: int
    finished_at: int | None
    as_of: int
    erased: bool = False

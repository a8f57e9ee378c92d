"""The jobs of an execution as operations: it commits its states, and enters what it has done.

Each may be tried again: tokens and keys see to it that it is done once.  Each raises what
`retrograph.client.errors` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from retrograph.client import documents
from retrograph.client.errors import done
from retrograph.client.operation import Operation
from retrograph.client.values import to_datetime

StepStatus = Literal["FAILED", "STARTED", "SUCCEEDED"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of an execution; `payload` is a JSON value in the version `schema_version`."""

    execution: str
    session: str
    sequence: int
    state_node: str
    payload: Any
    schema_version: str
    token: str
    hash: str
    committed_at: datetime

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint that an answer tells of."""
        return cls(
            told["executionId"],
            told["sessionId"],
            int(told["sequence"]),
            told["stateNode"],
            told["payload"],
            told["schemaVersion"],
            told["idempotencyToken"],
            told["hash"],
            to_datetime(told["committedAt"]),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What was told of a step; `result` is a JSON value."""

    key: str
    name: str | None
    status: StepStatus
    result: Any


@dataclass(frozen=True, slots=True)
class Steps:
    """A page of a ledger; `end` is the cursor to go on behind, None at the end."""

    rows: tuple[Step, ...]
    end: str | None


@dataclass(frozen=True, slots=True)
class Names:
    """A page of executions' names; `end` as that of steps."""

    rows: tuple[str, ...]
    end: str | None


def commit(
    fleet: int,
    execution: str,
    expected: int,
    payload: Any,
    *,
    session: str,
    state_node: str,
    schema_version: str,
    token: str,
) -> Operation[int]:
    """Commits a state behind the sequence `expected`; gives its own sequence.

    `CheckpointConflict` names the head, where it is another one.
    """
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "sessionId": session,
        "expectedSequence": str(expected),
        "stateNode": state_node,
        "payload": payload,
        "schemaVersion": schema_version,
        "idempotencyToken": token,
    }
    return Operation(
        documents.COMMIT,
        {"input": given},
        lambda data: int(done(data)["checkpoint"]["sequence"]),
        repeatable=True,
    )


def checkpoint(
    fleet: int, execution: str, *, sequence: int | None = None, token: str | None = None
) -> Operation[Checkpoint | None]:
    """The head of an execution, or the checkpoint of a sequence or a token; None if there is none.

    `NotFound` for what retention has removed.
    """

    def read(data: dict[str, Any]) -> Checkpoint | None:
        return data["checkpoint"] and Checkpoint.of(data["checkpoint"])

    place = None if sequence is None else str(sequence)
    variables = {"fleet": str(fleet), "execution": execution, "sequence": place, "token": token}
    return Operation(documents.CHECKPOINT, variables, read, repeatable=True)


def checkpoints(
    fleet: int, execution: str, *, before: int | None = None, first: int = 50
) -> Operation[tuple[Checkpoint, ...]]:
    """The newest checkpoints of an execution, newest first; those below the sequence `before`."""

    def read(data: dict[str, Any]) -> tuple[Checkpoint, ...]:
        return tuple(map(Checkpoint.of, data["checkpoints"]["nodes"]))

    below = None if before is None else str(before)
    variables = {"fleet": str(fleet), "execution": execution, "before": below, "first": first}
    return Operation(documents.CHECKPOINTS, variables, read, repeatable=True)


def names(
    fleet: int, prefix: str | None = None, *, first: int = 100, after: str | None = None
) -> Operation[Names]:
    """The names of a fleet's executions, in the order of their beginnings."""

    def read(data: dict[str, Any]) -> Names:
        page = data["executions"]
        return Names(tuple(each["executionId"] for each in page["nodes"]), _end(page))

    variables = {"fleet": str(fleet), "prefix": prefix, "first": first, "after": after}
    return Operation(documents.EXECUTIONS, variables, read, repeatable=True)


def steps(
    fleet: int,
    execution: str,
    prefix: str | None = None,
    *,
    first: int = 100,
    after: str | None = None,
) -> Operation[Steps]:
    """The steps of an execution whose keys begin with `prefix`, in the order of their starts."""

    def read(data: dict[str, Any]) -> Steps:
        page = data["steps"]
        rows = tuple(
            Step(each["key"], each["name"], each["status"], each["result"])
            for each in page["nodes"]
        )
        return Steps(rows, _end(page))

    variables = {
        "fleet": str(fleet),
        "execution": execution,
        "prefix": prefix,
        "first": first,
        "after": after,
    }
    return Operation(documents.STEPS, variables, read, repeatable=True)


def record_step(fleet: int, execution: str, step: Step) -> Operation[bool]:
    """Enters a step or its outcome; gives whether it was known already."""
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "key": step.key,
        "name": step.name,
        "status": step.status,
        "result": step.result,
    }
    return Operation(
        documents.RECORD_STEP,
        {"input": given},
        lambda data: bool(done(data)["replayed"]),
        repeatable=True,
    )


def retain(fleet: int, execution: str, keep_last: int, *, by: str, reason: str) -> Operation[int]:
    """Removes all but the last checkpoints for good; gives how many went."""
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "keepLast": str(keep_last),
        "by": by,
        "reason": reason,
    }
    return Operation(
        documents.RETAIN,
        {"input": given},
        lambda data: int(done(data)["removed"]),
        repeatable=True,
    )


def rollback(fleet: int, execution: str, to: int, *, token: str) -> Operation[int]:
    """Commits the state of the sequence `to` again, as the new head; gives its sequence."""
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "toSequence": str(to),
        "idempotencyToken": token,
    }
    return Operation(
        documents.ROLLBACK,
        {"input": given},
        lambda data: int(done(data)["checkpoint"]["sequence"]),
        repeatable=True,
    )


def erase(
    fleet: int,
    execution: str,
    *,
    by: str,
    reason: str,
    sequences: Sequence[int] = (),
    step_keys: Sequence[str] = (),
) -> Operation[int]:
    """Erases payloads of checkpoints, and results of steps; gives how many went in all."""
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "by": by,
        "reason": reason,
        "sequences": [str(each) for each in sequences],
        "stepKeys": list(step_keys),
    }

    def read(data: dict[str, Any]) -> int:
        erased = done(data)
        return int(erased["checkpoints"]) + int(erased["steps"])

    return Operation(documents.ERASE, {"input": given}, read, repeatable=True)


def delete(
    fleet: int, execution: str, *, by: str, reason: str, purge: bool = False
) -> Operation[datetime]:
    """Takes an execution out of the present, with `purge` for good; gives the instant."""
    given = {
        "fleetId": str(fleet),
        "executionId": execution,
        "by": by,
        "reason": reason,
        "purge": purge,
    }
    return Operation(
        documents.DELETE_EXECUTION,
        {"input": given},
        lambda data: to_datetime(done(data)["instant"]),
        repeatable=False,
    )


def _end(page: Mapping[str, Any]) -> str | None:
    info = page["pageInfo"]
    end: str | None = info["endCursor"] if info["hasNextPage"] else None
    return end

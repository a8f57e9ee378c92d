"""Executions as tests talk of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from retrograph.resolvers.checkpoints import get_checkpoint, list_checkpoints
from retrograph.resolvers.commit_checkpoint import Commit, Committed, commit_checkpoint
from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.scope import Scope
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.checkpoint_records import CheckpointRecord, StepStatus
from retrograph.storage.records import NodeRef

COMMIT = Commit("run", "session", 0, "plan", {"step": 1}, "1", "token 1")
"""The first commit of an execution."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a caller, in a fleet."""

    scope: Scope
    name: str = "run"
    fleet: int = 1

    def commit(self, expected: int, token: str | None = None, **more: Any) -> Committed:
        """Commits behind a sequence; `more` are other fields."""
        token = f"token {expected + 1}" if token is None else token
        payload = more.pop("payload", {"step": expected + 1})
        asked = replace(
            COMMIT,
            execution_id=self.name,
            expected_sequence=expected,
            idempotency_token=token,
            payload=payload,
            **more,
        )
        return commit_checkpoint(self.scope, self.fleet, asked)

    def grow(self, count: int, **more: Any) -> list[CheckpointRecord]:
        """Commits so many, one after another."""
        head = self.head()
        begun = 0 if head is None else head.sequence
        return [self.commit(begun + n, **more).checkpoint for n in range(count)]

    def head(self, at: int | None = None) -> CheckpointRecord | None:
        return get_checkpoint(self.scope, self.fleet, self.name, None, at)

    def get(self, sequence: int, at: int | None = None) -> CheckpointRecord | None:
        return get_checkpoint(self.scope, self.fleet, self.name, sequence, at)

    def sequences(self, at: int | None = None) -> list[int]:
        page = list_checkpoints(self.scope, self.fleet, self.name, MAX_FIRST, None, at)
        assert not page.has_next
        return [each.sequence for each in page.rows]


def leave_traces(scope: Scope, fleet: int, mark: str, based_on: NodeRef) -> None:
    """Commits with a text everywhere."""
    told = {"session_id": mark, "state_node": mark, "schema_version": mark}
    run = Execution(scope, fleet=fleet)
    run.grow(3, payload={"text": mark}, based_on=[based_on], **told)
    paid = Step("run", "marked", StepStatus.SUCCEEDED, None, mark, mark, {"text": mark})
    record_step(scope, fleet, paid)
    retain_checkpoints(scope, fleet, Retention("run", mark, mark, 2))

"""Executions of a server, over its API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrograph.client import CheckpointConflict, Client, NotFound, TokenReused
from retrograph.client import executions as jobs
from retrograph.langgraph.executions import (
    BY,
    DELETED,
    ERASED,
    PRUNED,
    ROWS,
    SCHEMA,
    STEP,
    CheckpointIdTaken,
    Entry,
    Found,
    HeadMoved,
    New,
    batches,
)


class ServedExecutions:
    """The executions of a fleet that a server keeps."""

    def __init__(self, client: Client, fleet: int) -> None:
        self._client = client
        self._fleet = fleet

    def commit(self, new: New, expected: int) -> int:
        """See `Executions`."""
        operation = jobs.commit(
            self._fleet,
            new.execution,
            expected,
            new.payload,
            session=new.session,
            state_node=new.state_node,
            schema_version=SCHEMA,
            token=new.token,
        )
        try:
            return self._client.run(operation)
        except CheckpointConflict as error:
            head = error.details["head"]
            raise HeadMoved(int(head["sequence"]) if head else 0) from error
        except TokenReused as error:
            raise CheckpointIdTaken(str(error)) from error

    def head(self, execution: str) -> Found | None:
        """See `Executions`."""
        return _found(self._client.run(jobs.checkpoint(self._fleet, execution)))

    def committed(self, execution: str, token: str) -> Found | None:
        """See `Executions`."""
        try:
            return _found(self._client.run(jobs.checkpoint(self._fleet, execution, token=token)))
        except NotFound as error:
            if error.code == "CHECKPOINT_REMOVED":
                return None
            raise

    def page(self, execution: str, before: int | None, first: int) -> list[Found]:
        """See `Executions`."""
        operation = jobs.checkpoints(self._fleet, execution, before=before, first=first)
        return [Found(each.sequence, each.payload) for each in self._client.run(operation)]

    def names(self, prefix: str) -> Iterator[str]:
        """See `Executions`."""
        after: str | None = None
        while True:
            page = self._client.run(jobs.names(self._fleet, prefix, first=ROWS, after=after))
            yield from page.rows
            if page.end is None:
                return
            after = page.end

    def enter(self, execution: str, entry: Entry) -> None:
        """See `Executions`."""
        step = jobs.Step(entry.key, STEP, "SUCCEEDED", entry.result)
        self._client.run(jobs.record_step(self._fleet, execution, step))

    def entries(self, execution: str, prefix: str) -> Iterator[Entry]:
        """See `Executions`."""
        after: str | None = None
        while True:
            operation = jobs.steps(self._fleet, execution, prefix, first=ROWS, after=after)
            page = self._client.run(operation)
            yield from (Entry(each.key, each.result) for each in page.rows)
            if page.end is None:
                return
            after = page.end

    def retain(self, execution: str, keep_last: int) -> None:
        """See `Executions`."""
        self._client.run(jobs.retain(self._fleet, execution, keep_last, by=BY, reason=PRUNED))

    def roll_back(self, execution: str, sequence: int, token: str) -> int:
        """See `Executions`."""
        return self._client.run(jobs.rollback(self._fleet, execution, sequence, token=token))

    def erase(self, execution: str, sequences: Sequence[int], keys: Sequence[str]) -> None:
        """See `Executions`."""
        for some, steps in batches(sequences, keys):
            operation = jobs.erase(
                self._fleet, execution, by=BY, reason=ERASED, sequences=some, step_keys=steps
            )
            self._client.run(operation)

    def purge(self, execution: str) -> None:
        """See `Executions`."""
        try:
            self._client.run(jobs.delete(self._fleet, execution, by=BY, reason=DELETED, purge=True))
        except NotFound:
            return


def _found(checkpoint: jobs.Checkpoint | None) -> Found | None:
    return None if checkpoint is None else Found(checkpoint.sequence, checkpoint.payload)

"""Executions of a database that is open in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

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
from retrograph.resolvers.checkpoints import (
    get_checkpoint,
    get_committed,
    list_checkpoints,
    list_executions,
)
from retrograph.resolvers.commit_checkpoint import Commit, commit_checkpoint
from retrograph.resolvers.erase_checkpoints import Erasing, erase_checkpoints
from retrograph.resolvers.record_step import Step, list_steps, record_step
from retrograph.resolvers.retain_checkpoints import Retention, delete_execution, retain_checkpoints
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.checkpoint_errors import (
    CheckpointConflict,
    CheckpointRemoved,
    TokenReused,
)
from retrograph.rules.errors import NotFound
from retrograph.storage.checkpoint_records import CheckpointRecord, StepStatus
from retrograph.storage.filters import StepFilter
from retrograph.storage.store import Store


class EmbeddedExecutions:
    """The executions of a fleet in an open store; the fleet is made if it isn't there."""

    def __init__(self, store: Store, fleet: int, tenant: int) -> None:
        self._scope = Scope(store, tenant, None, frozenset(Role))
        self._fleet = fleet
        if fleet not in store.fleet_ids(tenant):
            store.write_all(tenant, [fleet], lambda _: None)

    def commit(self, new: New, expected: int) -> int:
        """See `Executions`."""
        commit = Commit(
            new.execution, new.session, expected, new.state_node, new.payload, SCHEMA, new.token
        )
        try:
            return commit_checkpoint(self._scope, self._fleet, commit).checkpoint.sequence
        except CheckpointConflict as error:
            raise HeadMoved(error.head) from error
        except TokenReused as error:
            raise CheckpointIdTaken(str(error)) from error

    def head(self, execution: str) -> Found | None:
        """See `Executions`."""
        record = get_checkpoint(self._scope, self._fleet, execution)
        return None if record is None else _found(record)

    def committed(self, execution: str, token: str) -> Found | None:
        """See `Executions`."""
        try:
            record = get_committed(self._scope, self._fleet, execution, token)
        except CheckpointRemoved:
            return None
        return None if record is None else _found(record)

    def page(self, execution: str, before: int | None, first: int) -> list[Found]:
        """See `Executions`."""
        page = list_checkpoints(self._scope, self._fleet, execution, first, before)
        return list(map(_found, page.rows))

    def names(self, prefix: str) -> Iterator[str]:
        """See `Executions`."""
        after: int | None = None
        while True:
            page = list_executions(self._scope, self._fleet, prefix, ROWS, after)
            for each in page.rows:
                yield each.key
                after = each.id
            if not page.has_next:
                return

    def enter(self, execution: str, entry: Entry) -> None:
        """See `Executions`."""
        step = Step(execution, entry.key, StepStatus.SUCCEEDED, name=STEP, result=entry.result)
        record_step(self._scope, self._fleet, step)

    def entries(self, execution: str, prefix: str) -> Iterator[Entry]:
        """See `Executions`."""
        after: int | None = None
        filter = StepFilter(key_prefix=prefix)
        while True:
            page = list_steps(self._scope, self._fleet, execution, filter, ROWS, after)
            for each in page.rows:
                yield Entry(each.key, orjson.loads(each.result or "null"))
                after = each.ordinal
            if not page.has_next:
                return

    def retain(self, execution: str, keep_last: int) -> None:
        """See `Executions`."""
        retain_checkpoints(self._scope, self._fleet, Retention(execution, BY, PRUNED, keep_last))

    def roll_back(self, execution: str, sequence: int, token: str) -> int:
        """See `Executions`."""
        done = rollback_execution(self._scope, self._fleet, Rollback(execution, sequence, token))
        return done.checkpoint.sequence

    def erase(self, execution: str, sequences: Sequence[int], keys: Sequence[str]) -> None:
        """See `Executions`."""
        for some, steps in batches(sequences, keys):
            erasing = Erasing(execution, BY, ERASED, some, steps)
            erase_checkpoints(self._scope, self._fleet, erasing)

    def purge(self, execution: str) -> None:
        """See `Executions`."""
        try:
            delete_execution(self._scope, self._fleet, execution, BY, DELETED, purge=True)
        except NotFound:
            return


def _found(record: CheckpointRecord) -> Found:
    return Found(record.sequence, orjson.loads(record.payload))

"""`workingMemory`, `updateWorkingMemory`: what a session has in mind, within its budget."""

from __future__ import annotations

from retrograph.resolvers.scope import Scope
from retrograph.rules.budget import update_memory
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.errors import InvalidInput, MemoryConflict
from retrograph.rules.names import check_name
from retrograph.rules.working_memory import Update, WorkingMemory, check_update
from retrograph.storage.working_memories import (
    WorkingMemoryRecord,
    find_working_memory,
    put_working_memory,
)
from retrograph.storage.write import Write


def get_working_memory(
    scope: Scope, fleet_id: int, session_id: str, at: int | None = None
) -> WorkingMemoryRecord | None:
    """A session's working memory, None where it has none at the instant."""
    check_name(session_id, ("sessionId",))
    with scope.snapshot(fleet_id, at) as snapshot:
        return find_working_memory(snapshot, session_id)


def update_working_memory(
    scope: Scope,
    fleet_id: int,
    session_id: str,
    update: Update,
    expected_version: int | None = None,
) -> WorkingMemoryRecord:
    """Writes to a session's memory, and takes out of it what the budget has no room for.

    A session that has none yet is at version 0.  Raises `InvalidInput`, `MemoryConflict`, and
    `BudgetExceeded` where what must stay does not fit.
    """
    check_name(session_id, ("input", "sessionId"))
    _check_values(check_update(update))
    if expected_version is not None and expected_version < 0:
        raise InvalidInput("Give a version: 0 or more.", path=("input", "expectedVersion"))

    def job(write: Write) -> WorkingMemoryRecord:
        former = find_working_memory(write.snapshot, session_id)
        before = WorkingMemory() if former is None else former.memory
        if expected_version is not None and expected_version != before.version:
            raise MemoryConflict(before.version, path=("input", "expectedVersion"))
        updated = update_memory(before, update, scope.store.count_tokens)
        return put_working_memory(write, session_id, former, updated)

    return scope.write(fleet_id, job)


def _check_values(update: Update) -> None:
    for place, register in enumerate(update.registers):
        canonical_json(register.value, field=("input", "registers", str(place), "value"))

"""The checkpoints of an execution, page by page, and their copies."""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.checkpoint.serde.base import SerializerProtocol

from retrograph.langgraph.executions import Executions, Found, New
from retrograph.langgraph.place import Place
from retrograph.langgraph.state import State

_PAGE = 16
"""Checkpoints read at a time, at most: each may take 1 MB, and often the first few are enough."""


def states(
    executions: Executions, name: str, serde: SerializerProtocol, before: str | None = None
) -> Iterator[State]:
    """The states of an execution, newest first; below the checkpoint `before`, if it is there.

    Nothing that is committed meanwhile is among them.  A state that came back by a rollback is
    there once, as the newest.
    """
    start = None if before is None else executions.committed(name, before)
    below = None if start is None else start.sequence
    seen: set[str] = set()
    for found in newest_first(executions, name, below):
        state = State.of(found.payload, serde)
        if state.id not in seen:
            seen.add(state.id)
            yield state


def copied(executions: Executions, name: str, target: Place) -> Iterator[New]:
    """All checkpoints of an execution, oldest first, to be committed elsewhere."""
    first = executions.page(name, None, 1)
    if not first:
        return
    for sequence in range(1, first[0].sequence + 1):
        for found in executions.page(name, sequence + 1, 1):
            if found.sequence == sequence:
                payload = found.payload
                yield New(target.execution, target.thread, "copy", payload["id"], payload)


def newest_first(executions: Executions, name: str, below: int | None = None) -> Iterator[Found]:
    """The checkpoints of an execution below a sequence, newest first."""
    size = 1
    while page := executions.page(name, below, size):
        yield from page
        below, size = page[-1].sequence, min(2 * size, _PAGE)

"""Forgets what some runs have put into a thread, and leaves the rest of it.

The head of an execution always stays: where it is one that is to go, the newest of those that stay
comes back as the head first.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4

from langgraph.checkpoint.serde.base import SerializerProtocol

from retrograph.langgraph.executions import Executions
from retrograph.langgraph.state import State
from retrograph.langgraph.threads import newest_first
from retrograph.langgraph.writes import prefix_of


def forget(
    executions: Executions, name: str, serde: SerializerProtocol, runs: Collection[str]
) -> None:
    """Erases the checkpoints of an execution whose metadata name one of `runs` as `run_id`."""
    mine: dict[int, str] = {}
    kept = 0
    for found in newest_first(executions, name):
        state = State.of(found.payload, serde)
        if _run_of(state) in runs:
            mine[found.sequence] = state.id
        else:
            kept = max(kept, found.sequence)
    if not mine:
        return
    if not kept:
        executions.purge(name)
        return
    if max(mine) > kept:
        executions.roll_back(name, kept, str(uuid4()))
    steps = [entry.key for id in mine.values() for entry in executions.entries(name, prefix_of(id))]
    executions.erase(name, sorted(mine), steps)


def _run_of(state: State) -> object:
    metadata: dict[str, object] = {**state.metadata}
    return metadata.get("run_id")

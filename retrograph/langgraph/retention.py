"""How much of a thread its last checkpoint needs.

A delta channel's value isn't in every checkpoint: it is put together of the writes since its last
snapshot, which therefore must stay.
"""

from __future__ import annotations

from langgraph.checkpoint.serde.base import SerializerProtocol

from retrograph.langgraph.executions import Executions
from retrograph.langgraph.state import State


def needed(executions: Executions, name: str, serde: SerializerProtocol) -> int:
    """How many of the last checkpoints of an execution must stay; 0 where it has none."""
    found = head = executions.head(name)
    if found is None or head is None:
        return 0
    oldest, state = head.sequence, State.of(head.payload, serde)
    deltas = state.metadata.get("counters_since_delta_snapshot", {})
    open_channels = deltas.keys() - state.checkpoint["channel_values"].keys()
    while open_channels and state.parent is not None:
        found = executions.committed(name, state.parent)
        if found is None:
            break
        oldest, state = min(oldest, found.sequence), State.of(found.payload, serde)
        open_channels -= state.checkpoint["channel_values"].keys()
    return head.sequence - oldest + 1

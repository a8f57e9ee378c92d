"""Pending writes: what tasks have written behind a checkpoint, before the next one.

Each call of `put_writes` is one step of the execution's ledger, so that a task's writes are there
together or not at all.  A write is known by its task and index: the first of them stands.  Writes
to LangGraph's own channels (errors, interrupts) have negative indexes, and there the last stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

import orjson
from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol

from retrograph.langgraph.executions import Entry
from retrograph.langgraph.place import escaped
from retrograph.langgraph.state import Packed, pack, unpack


def prefix_of(checkpoint_id: str) -> str:
    """What the keys of all steps behind a checkpoint begin with, and no others'."""
    return f"{escaped(checkpoint_id)}/"


def entry_of(
    serde: SerializerProtocol,
    checkpoint_id: str,
    writes: Sequence[tuple[str, Any]],
    task: str,
    path: str,
) -> Entry:
    """The step that one call is.

    The same writes of a task have the same key, and are entered once.  Those that replace others
    are entered whenever they are put.
    """
    listed = [
        [WRITES_IDX_MAP.get(channel, index), channel, *pack(serde, value)]
        for index, (channel, value) in enumerate(writes)
    ]
    result = {"task": task, "path": path, "writes": listed}
    replaces = any(channel in WRITES_IDX_MAP for channel, _ in writes)
    told = hashlib.sha256(orjson.dumps(result)).hexdigest()
    mark = str(uuid4()) if replaces else told
    return Entry(f"{prefix_of(checkpoint_id)}{escaped(task)}/{mark}", result)


def pending_writes(serde: SerializerProtocol, entries: Iterable[Entry]) -> list[PendingWrite]:
    """The writes that stand, in LangGraph's order: by path, task and index."""
    standing: dict[tuple[str, int], tuple[str, str, Packed]] = {}
    for entry in entries:
        task, path = entry.result["task"], entry.result["path"]
        for index, channel, *packed in entry.result["writes"]:
            if index < 0 or (task, index) not in standing:
                standing[task, index] = (path, channel, packed)
    ordered = sorted((path, *place, channel) for place, (path, channel, _) in standing.items())
    return [
        (task, channel, unpack(serde, standing[task, index][2]))
        for _, task, index, channel in ordered
    ]

"""Checkpoints of LangGraph as tests talk of them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple

from retrograph.langgraph import RetrographSaver


def checkpoint(id: str, **values: Any) -> Checkpoint:
    versions: dict[str, str | int | float] = dict.fromkeys(values, 1)
    return Checkpoint(
        v=4,
        id=id,
        ts="2026-05-01T09:30:00+00:00",
        channel_values=values,
        channel_versions=versions,
        versions_seen={},
        updated_channels=None,
    )


class Thread:
    """A namespace of a thread, with a name of its own unless one is given."""

    def __init__(self, saver: RetrographSaver, name: str | None = None, ns: str = "") -> None:
        self.saver = saver
        self.name = str(uuid4()) if name is None else name
        self.ns = ns

    def config(self, id: str | None = None) -> RunnableConfig:
        asked = {"thread_id": self.name, "checkpoint_ns": self.ns}
        return {"configurable": asked if id is None else asked | {"checkpoint_id": id}}

    def put(self, id: str, parent: str | None = None, **values: Any) -> RunnableConfig:
        """Puts a checkpoint; `metadata` are its own."""
        metadata: CheckpointMetadata = values.pop("metadata", {"source": "loop", "step": 1})
        return self.saver.put(self.config(parent), checkpoint(id, **values), metadata, {})

    def write(self, id: str, task: str, *writes: tuple[str, Any], path: str = "") -> None:
        self.saver.put_writes(self.config(id), writes, task, path)

    def get(self, id: str | None = None) -> CheckpointTuple:
        found = self.saver.get_tuple(self.config(id))
        assert found is not None
        return found

    def pending(self, id: str) -> list[tuple[str, str, Any]]:
        return self.get(id).pending_writes or []

    def ids(self, **more: Any) -> list[str]:
        return [each.checkpoint["id"] for each in self.saver.list(self.config(), **more)]

"""How threads and their namespaces are named as executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

ALL = "langgraph/"
"""What the names of all executions of LangGraph begin with."""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of a thread; the graph's own is empty, those of its subgraphs have names."""

    thread: str
    namespace: str = ""

    @classmethod
    def of(cls, config: RunnableConfig) -> Place:
        """The place that a call is about."""
        asked = config["configurable"]
        return cls(str(asked["thread_id"]), str(asked.get("checkpoint_ns") or ""))

    @classmethod
    def named(cls, execution: str) -> Place:
        """The place whose execution has this name."""
        _, thread, namespace = execution.split("/", 2)
        return cls(thread.replace("%2F", "/").replace("%25", "%"), namespace)

    @property
    def execution(self) -> str:
        """The name of its execution: no two places share one."""
        return prefix_of(self.thread) + self.namespace

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """What LangGraph names a checkpoint of it by."""
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": checkpoint_id,
            }
        }


def prefix_of(thread: str) -> str:
    """What the names of all executions of a thread begin with, and no others'."""
    return f"{ALL}{escaped(thread)}/"


def escaped(text: str) -> str:
    """A text without a slash; no two texts become the same."""
    return text.replace("%", "%25").replace("/", "%2F")


def checkpoint_id_of(config: RunnableConfig | None) -> str | None:
    """The checkpoint that a config names, if any."""
    asked: dict[str, Any] = {} if config is None else config.get("configurable", {})
    named = asked.get("checkpoint_id")
    return None if named is None else str(named)

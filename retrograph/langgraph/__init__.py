"""LangGraph's threads as executions: `pip install '.[langgraph]'` in a checkout.

    from retrograph.client import Client
    from retrograph.langgraph import RetrographSaver

    saver = RetrographSaver.served(Client("https://memory.example/graphql", token), fleet=1)
    graph = builder.compile(checkpointer=saver)

saver                what LangGraph calls
place, state, writes how a thread is named, and what is stored of it
executions           what a saver asks of Retrograph: `served` over the API, `embedded` in-process
"""

from __future__ import annotations

try:
    import langgraph.checkpoint.base  # noqa: F401  (to say first what is missing)
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "The saver needs langgraph-checkpoint. Install it by pip install '.[langgraph]' in a "
        "checkout.",
        name=missing.name,
    ) from missing

from retrograph.langgraph.executions import CheckpointIdTaken
from retrograph.langgraph.saver import RetrographSaver

__all__ = ["CheckpointIdTaken", "RetrographSaver"]

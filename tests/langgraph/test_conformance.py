"""LangGraph's own suite for savers, each way, on each engine, blocking and awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from itertools import count
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from retrograph.client import Client
from retrograph.langgraph import RetrographSaver
from retrograph.langgraph.embedded import EmbeddedExecutions
from retrograph.langgraph.executions import Executions
from retrograph.langgraph.served import ServedExecutions
from retrograph.storage.store import Store

FLEETS = count(5_000)


class Blocking(RetrographSaver):
    """Awaits nothing: what the suite calls are the blocking methods, on its own thread."""

    async def aput(self, *given: Any) -> RunnableConfig:
        return self.put(*given)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        self.put_writes(*given, **more)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self, config: RunnableConfig | None, **more: Any
    ) -> AsyncIterator[CheckpointTuple]:
        for each in self.list(config, **more):
            yield each

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)


KINDS = (RetrographSaver, Blocking)


def conform(kind: type[RetrographSaver], reach: Callable[[], Executions]) -> None:
    """Runs the whole suite; each of its parts gets a saver of its own."""

    @checkpointer_test(name="RetrographSaver")
    async def made() -> AsyncGenerator[RetrographSaver, None]:
        yield kind(reach())

    report = asyncio.run(validate(made))
    failures = [each for part in report.results.values() for each in part.failures or ()]
    assert failures == []
    passed = {name for name, part in report.results.items() if part.passed}
    assert passed == {each.value for each in Capability}


@pytest.mark.parametrize("kind", KINDS)
def test_embedded_it_conforms(shared_store: Store, kind: type[RetrographSaver]) -> None:
    conform(kind, lambda: EmbeddedExecutions(shared_store, next(FLEETS), 1))


@pytest.mark.parametrize("kind", KINDS)
def test_over_the_api_it_conforms(client: Client, kept: Store, kind: type[RetrographSaver]) -> None:
    """Each part has a fleet of its own: some of them look through all threads."""

    def reach() -> Executions:
        fleet = next(FLEETS)
        kept.write_all(1, [fleet], lambda _: None)
        return ServedExecutions(client, fleet)

    conform(kind, reach)

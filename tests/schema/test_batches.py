"""Items that are executed together are answered as each would be by itself."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.schema.answers import answer_of
from retrograph.schema.batch import Batch
from retrograph.schema.batching import BatchingExecutor
from retrograph.schema.bell import Bell
from retrograph.schema.context import Caller
from retrograph.schema.feed import Reading
from retrograph.schema.loaders import GroupLoader
from retrograph.schema.schema import make_schema
from retrograph.schema.wire import write_json
from retrograph.storage.update_records import Place
from tests.executions import Execution
from tests.memory import Memory
from tests.schema.test_subscription import Inline, turns

NODE = """id key kind validity projectedValidity confidence baseConfidence pinned pinReason payload
    contractHash expiresAt createdAt validFrom validTo asOf versionId"""
TOGETHER = [
    "{ events(fleetId: 1) { cursor } }",
    "{ told: events(fleetId: 1) { __typename n: node { k: key key } type node { validity } at } }",
    f"{{ events(fleetId: 1) {{ ...Told }} }} fragment Told on Event {{ detail node {{ {NODE} }} }}",
    "{ events(fleetId: 1) { run { id reason impactCount revertedAt } fleetId } }",
    "{ events(fleetId: 1) { task { id status attempt } checkpoint { sequence hash } } }",
    "{ events(fleetId: 1) { node { id @skip(if: true) } } }",
    "{ events(fleetId: 1, types: [NODE_STALE]) { cursor @skip(if: true) } }",
    f"{{ snapshotThenChanges(fleetId: 1) {{ cursor kind at node {{ {NODE} }} }} }}",
    """{ snapshotThenChanges(fleetId: 1) { kind edge { id type validFrom validTo asOf
        source { key validity } target { id asOf } } } }""",
]
ALONE = [
    "{ events(fleetId: 1) { cursor node { key outgoing { edges { node { id } } } } } }",
    "{ events(fleetId: 1) { run { id root { key } } } }",
]


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in how an answer is worked out."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def lived(chain: Memory) -> Memory:
    """A memory with events and changes of many kinds."""
    chain.fell("d")
    Execution(chain.scope).grow(2)
    chain.plant("new")
    linked = chain.link("new SUPPORTED_BY a")
    claim_revalidations(chain.scope, 1, "worker")
    unlink_nodes(chain.scope, 1, [linked.edges[0].id])
    chain.fell("a")
    return chain


async def answers(memory: Memory, query: str, start: Any, *, batched: bool) -> list[bytes]:
    """What a feed is told from a place on, or what a subscriber would be told that reads alone."""
    bell = Bell(memory.store.listen)
    caller = Caller(memory.scope, Inline(), bell, reading=Reading(start))
    stream: Any = await make_schema().stream(f"subscription {query}", context_value=caller)
    told: list[bytes] = []

    async def listen() -> None:
        async with aclosing(stream):
            async for result in stream:
                if not isinstance(result.data, Batch):
                    told.append(write_json(answer_of(result)))
                elif batched and result.data.rows is not None:
                    told.extend(payload for _, payload in result.data.answers())
                else:
                    result.data.rows = None

    listening = asyncio.create_task(listen())
    await turns()
    bell.close()
    await listening
    return told


def start_of(query: str) -> Any:
    return Place(0, 0, 0) if "snapshot" in query else (0, 0)


@pytest.mark.parametrize("query", TOGETHER)
def test_answers_are_the_same_together_and_alone(lived: Memory, query: str) -> None:
    alone = asyncio.run(answers(lived, query, start_of(query), batched=False))
    assert len(alone) >= 5
    assert asyncio.run(answers(lived, query, start_of(query), batched=True)) == alone


@pytest.mark.parametrize("query", ALONE)
def test_what_takes_resolvers_is_answered_item_by_item(lived: Memory, query: str) -> None:
    """And all that was worked out for an item goes with it: a feed may last for ever."""
    alone = asyncio.run(answers(lived, query, start_of(query), batched=False))
    assert len(alone) >= 5
    assert asyncio.run(answers(lived, query, start_of(query), batched=True)) == alone


def test_a_batch_that_fails_is_answered_item_by_item(
    lived: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loader can't do for all it may do for each; what is wrong is told where it is."""
    query = "{ events(fleetId: 1) { cursor node { key } } }"
    whole = asyncio.run(answers(lived, query, (0, 0), batched=True))

    async def fail(*_: Any) -> Any:
        raise ValueError("not together")

    monkeypatch.setattr(GroupLoader, "find_all", fail)
    assert asyncio.run(answers(lived, query, (0, 0), batched=True)) == whole
    monkeypatch.setattr(GroupLoader, "find", fail)
    told = [json.loads(each) for each in asyncio.run(answers(lived, query, (0, 0), batched=True))]
    assert [each["errors"][0]["path"] for each in told if "errors" in each]
    assert len(told) == len(whole)


@pytest.mark.parametrize("query", [ALONE[0], TOGETHER[0]])
def test_what_an_executor_keeps_does_not_grow_with_the_items(
    lived: Memory, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """Each item is executed by a copy; what copies share must not be what each of them adds to."""
    kept: set[int] = set()
    build = BatchingExecutor.build_per_event_executor

    def spied(self: Any, payload: Any) -> Any:
        kept.update((len(self._relevant_sub_fields), len(self._selections)))
        return build(self, payload)

    monkeypatch.setattr(BatchingExecutor, "build_per_event_executor", spied)
    for _ in range(2):
        assert asyncio.run(answers(lived, query, (0, 0), batched=True))
        lived.fell("b")
    assert max(kept) <= 2

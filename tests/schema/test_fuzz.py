"""Whatever is asked, the server answers: typed, in time, of the caller's own, and stays whole."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import httpx
import pytest

from retrograph.app import create_app
from retrograph.resolvers.inputs import Invalidation, NodeInput
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.sweep import Sweeper
from retrograph.schema.schema import make_schema
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.dump import dump_fleet
from tests.memory import NEW, Memory, ref
from tests.schema.fuzz import Fuzzer, Operation
from tests.schema.serving import PATIENCE
from tests.shared import ROOT

MARK = "of-the-other-tenant"
"""In all that the other tenant has written."""
CODES = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)*)`", (ROOT / "README.md").read_text()))
SEED = 20_260_301
STEP = 50_000
"""Microseconds between two operations."""
WORK = {"RevalidationsClaimed", "RevalidationCompleted", "NodeRepaired", "FleetRewound"}
"""Answers to what takes several operations in a row, one of which needs what another told."""
# graphql-core cancels the siblings of a field that fails, some of them before they begin; the
# interpreter warns of those when it collects them, or fails to where it does that.
pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def peopled(store: Store) -> Store:
    """Two fleets of tenant 1, and two of tenant 2, one with the same id and keys."""
    for tenant, fleets in ((1, (1, 2)), (2, (1, 7))):
        store.write_all(tenant, fleets, lambda _: None)
        for fleet in fleets:
            _people(Memory(Scope(store, tenant, None, frozenset(Role)), fleet), tenant)
    return store


def _people(memory: Memory, tenant: int) -> None:
    mark = {"text": MARK} if tenant != 1 else {"text": "ours"}
    memory.put(*(NodeInput(key, kind=NEW, payload=mark) for key in "abcde"))
    memory.link("a REQUIRES b", "b DERIVED_FROM c", "c SUPPORTED_BY d", "a OBSERVED_FROM e")
    reason = MARK if tenant != 1 else "wrong"
    invalidate(memory.scope, memory.fleet, Invalidation(ref("b"), reason))


class Asking:
    """Asks an application what a fuzzer thinks of, and looks at every answer."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.fuzzer = Fuzzer(make_schema()._schema, Random(SEED))
        self._clock, self._sweeper = clock, Sweeper(store)
        self.codes: Counter[str] = Counter()
        self._app = create_app(store)

    async def ask(self, count: int) -> None:
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=True)
        async with (
            self._app.router.lifespan_context(self._app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            for number in range(count):
                operation = self.fuzzer.operation()
                self._clock.advance(STEP)  # leases run out, what is scheduled comes due
                if number % 100 == 0:
                    self._sweeper.step()
                try:
                    await asyncio.wait_for(self._one(client, operation), PATIENCE)
                except Exception as error:
                    error.add_note(f"operation {number}: {operation}")
                    raise

    async def _one(self, client: httpx.AsyncClient, operation: Operation) -> None:
        headers = {"content-type": "application/json"}
        body = json.dumps(operation.body())
        response = await client.post("/graphql", content=body, headers=headers)
        assert response.status_code in {200, 400}, response.text
        assert MARK not in response.text
        answer = response.json()
        for error in answer.get("errors", ()):
            self._look(error["extensions"]["code"])
        for code in _told(answer.get("data")):
            self._look(code)
        self.codes["data"] += answer.get("data") is not None
        self.codes.update(_types(answer.get("data")))
        self.fuzzer.learn(answer.get("data"))

    def _look(self, code: str) -> None:
        assert code in CODES, code
        assert code != "INTERNAL_ERROR"
        self.codes[code] += 1


def _told(data: Any) -> Iterator[str]:
    """The codes of failures that are values."""
    if isinstance(data, Mapping):
        if isinstance(data.get("code"), str):
            yield data["code"]
        for each in data.values():
            yield from _told(each)


def _types(data: Any) -> Iterator[str]:
    """The types of what is answered to mutations, where they are asked for."""
    if isinstance(data, Mapping):
        found = (each.get("__typename") for each in data.values() if isinstance(each, Mapping))
        yield from (each for each in found if each is not None)


def _ask(
    store: Store, clock: ManualClock, count: int, caplog: pytest.LogCaptureFixture
) -> Counter[str]:
    before = [dump_fleet(store, 2, fleet) for fleet in (1, 7)]
    asking = Asking(store, clock)
    with caplog.at_level(logging.WARNING):
        asyncio.run(asking.ask(count))
    assert [each.getMessage() for each in caplog.records] == []
    assert [dump_fleet(store, 2, fleet) for fleet in (1, 7)] == before
    for tenant, fleet in ((1, 1), (1, 2), (2, 1), (2, 7)):
        assert_consistent(store, tenant, fleet)
    return asking.codes


def test_hundreds_of_operations_are_answered(
    peopled: Store, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    codes = _ask(peopled, clock, 250, caplog)
    assert codes["data"] >= 75
    assert len(codes) >= 8


@pytest.mark.long
def test_thousands_of_operations_are_answered(
    peopled: Store, clock: ManualClock, caplog: pytest.LogCaptureFixture, database: str
) -> None:
    count = 2_000 if "://" in database else 10_000
    codes = _ask(peopled, clock, count, caplog)
    if count == 10_000:
        assert codes.keys() >= WORK

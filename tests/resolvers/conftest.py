"""What the exam of the use cases starts from, and what must hold after each of its tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store
from tests.consistency import assert_consistent
from tests.executions import Execution
from tests.memory import Memory

FLEETS = count(100)


@pytest.fixture
def memory(scope: Scope) -> Iterator[Memory]:
    """Fleet 1, empty; whatever a test does to it, its tables must agree afterwards."""
    yield Memory(scope)
    assert_consistent(scope.store)


@pytest.fixture
def run(shared_store: Store) -> Execution:
    """An execution without a checkpoint, in a fleet of its own."""
    fleet = next(FLEETS)
    shared_store.write_all(1, [fleet], lambda _: None)
    return Execution(Scope(shared_store, 1, None, frozenset(Role)), fleet=fleet)


@pytest.fixture
def own_fleet(shared_store: Store) -> Memory:
    """An empty fleet in a store that the tests of a file share."""
    fleet = next(FLEETS)
    shared_store.write_all(1, [fleet], lambda _: None)
    return Memory(Scope(shared_store, 1, None, frozenset(Role)), fleet)

"""A served store, and a fleet in it to ask about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Scope
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Listening, Served, listening, serving


@pytest.fixture
def served(store: Store) -> Iterator[Served]:
    """The store behind the application, in this process."""
    with serving(create_app(store)) as running:
        yield running


@pytest.fixture
def server(store: Store) -> Iterator[Listening]:
    """The store behind a server that listens."""
    with listening(create_app(store)) as running:
        yield running


@pytest.fixture
def memory(scope: Scope) -> Memory:
    """Fleet 1, to be written to without the server's help."""
    return Memory(scope)


@pytest.fixture
def chain(memory: Memory) -> Memory:
    """Fleet 1 with a -> b -> c -> d and a -> e, all of them requirements."""
    memory.plant("a", "b", "c", "d", "e")
    memory.link("a REQUIRES b", "b REQUIRES c", "c REQUIRES d", "a REQUIRES e")
    return memory

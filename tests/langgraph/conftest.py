"""A saver each way: in a file's own store, and over the API of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrograph.app import create_app
from retrograph.client import Client
from retrograph.langgraph import RetrographSaver
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store
from tests.schema.serving import listening, sqlite_store

WAYS = ("embedded", "served")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """What both ways lead to: a store of SQLite with fleet 1."""
    folder: Path = tmp_path_factory.mktemp("langgraph")
    with sqlite_store(folder) as store:
        yield store


@pytest.fixture(scope="module")
def client(kept: Store) -> Iterator[Client]:
    """A client of a server over it."""
    with (
        listening(create_app(kept)) as server,
        Client("http://{}:{}/graphql".format(*server.address)) as made,
    ):
        yield made


@pytest.fixture(params=WAYS)
def saver(request: pytest.FixtureRequest, kept: Store) -> RetrographSaver:
    """A saver each way."""
    if request.param == "embedded":
        return RetrographSaver.embedded(kept)
    return RetrographSaver.served(request.getfixturevalue("client"), 1)


@pytest.fixture
def scope(kept: Store) -> Scope:
    """Whoever looks at what was stored."""
    return Scope(kept, 1, None, frozenset(Role))

"""A server with fleet 1, and both clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from tests.client.speaking import Speaker, speaking
from tests.memory import Memory
from tests.schema.serving import Listening, listening, sqlite_store

KINDS = ("blocking", "awaiting")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, Listening]]:
    """Fleet 1, as it is written to without the server, and the server."""
    folder: Path = tmp_path_factory.mktemp("client")
    with sqlite_store(folder) as store, listening(create_app(store)) as server:
        yield Memory(Scope(store, 1, None, frozenset(Role))), server


@pytest.fixture
def url(served: tuple[Memory, Listening]) -> str:
    """Where the API is served."""
    return "http://{}:{}/graphql".format(*served[1].address)


@pytest.fixture
def memory(served: tuple[Memory, Listening]) -> Memory:
    """Fleet 1, to be written to without the server's help."""
    return served[0]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of client."""
    found: str = request.param
    return found


@pytest.fixture
def speaker(kind: str, url: str) -> Iterator[Speaker]:
    """A client of each kind."""
    with speaking(kind, url) as client:
        yield client

"""How Hypothesis searches, and the stores that the exam of all engines runs on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock
from tests.servers import MariaDBServer, running_mariadb

# No deadline: the machine may be busy, and no test asserts a wall time.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

CAPABILITIES: dict[str, frozenset[str]] = {
    "sqlite": frozenset({"file", "group_commit", "query_plans"}),
    "mariadb": frozenset({"native_as_of", "parallel_fleets", "procedures"}),
}
"""What each engine has that not all have; `@pytest.mark.needs` names what a test needs."""
ENGINES = tuple(CAPABILITIES)
"""The engines that every storage test runs on."""


def empty_database(engine: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """A new database of an engine, as `open_store` takes it."""
    if engine == "sqlite":
        return str(folder / "memory.db")
    server: MariaDBServer = request.getfixturevalue("mariadb_server")
    return server.url(server.fresh_database())


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each engine that has what the test needs, as `open_store` takes it."""
    marker = request.node.get_closest_marker("needs")
    missing = set(marker.args if marker else ()) - CAPABILITIES[request.param]
    if missing:
        pytest.skip(f"{request.param} has no {', '.join(sorted(missing))}")
    return empty_database(request.param, request, tmp_path)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBServer]:
    """A MariaDB of this test run's own."""
    with running_mariadb() as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    """The clock of `store`."""
    return ManualClock()


@pytest.fixture
def store(database: str, clock: ManualClock) -> Iterator[Store]:
    """An open store with the empty fleet 1 of tenant 1."""
    opened = open_store(database, clock=clock)
    opened.write_all(1, [1], lambda _: None)
    yield opened
    opened.close()


@pytest.fixture
def scope(store: Store) -> Scope:
    """A caller who may do everything in tenant 1."""
    return Scope(store, 1, None, frozenset(Role))


@pytest.fixture(scope="module")
def shared_clock() -> ManualClock:
    """The clock of `shared_store`."""
    return ManualClock()


@pytest.fixture(scope="module", params=ENGINES)
def shared_store(
    request: pytest.FixtureRequest,
    shared_clock: ManualClock,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Store]:
    """An open store of a file's tests, on each engine: they only read, or in fleets of their own.

    Where many tests need little, this saves most of their time.
    """
    folder = tmp_path_factory.mktemp("shared")
    opened = open_store(empty_database(request.param, request, folder), clock=shared_clock)
    opened.write_all(1, [1], lambda _: None)
    yield opened
    opened.close()

"""Worlds with a random past, built once for all tests that only read them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.storage.store import open_store
from tests.clock import ManualClock
from tests.conftest import ENGINES, empty_database
from tests.servers import MariaDBServer, need_driver
from tests.storage.world import World

SEEDS = range(5)
QUICK = {"sqlite": 3}
"""How many of the seeds the quick tests take, where it is more than one."""
WORLDS = [
    pytest.param(
        (engine, seed),
        marks=[pytest.mark.long] * (seed >= QUICK.get(engine, 1)),
        id=f"{engine}-{seed}",
    )
    for engine in ENGINES
    for seed in SEEDS
]


@pytest.fixture
def mariadb_driver() -> None:
    """MariaDB's driver, for clients of servers that aren't there."""
    need_driver()


@pytest.fixture
def empty(mariadb_server: MariaDBServer) -> str:
    """The name of an empty database of MariaDB."""
    return mariadb_server.fresh_database()


@pytest.fixture
def url(mariadb_server: MariaDBServer, empty: str) -> str:
    """Its address."""
    return mariadb_server.url(empty)


@pytest.fixture(scope="session")
def worlds() -> Iterator[dict[tuple[str, int], World]]:
    """Those that were built in this process, by engine and seed; closed at the end."""
    built: dict[tuple[str, int], World] = {}
    yield built
    for each in built.values():
        each.store.close()


@pytest.fixture(params=WORLDS)
def world(
    request: pytest.FixtureRequest,
    worlds: dict[tuple[str, int], World],
    tmp_path_factory: pytest.TempPathFactory,
) -> World:
    """A world on each engine, from each seed; it is only read."""
    engine, seed = request.param
    if request.param not in worlds:
        folder, clock = tmp_path_factory.mktemp("world"), ManualClock()
        database = empty_database(engine, request, folder, clock)
        worlds[request.param] = World(open_store(database, clock=clock), seed)
    return worlds[request.param]

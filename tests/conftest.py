"""How Hypothesis searches, and the stores that the exam of all engines runs on."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine, event

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store, open_store
from tests.clock import START, ManualClock
from tests.mssql import VARIABLE, SqlServer, StandIn, standing_in
from tests.reuse import Reuse
from tests.scratch import SCRATCH
from tests.servers import MariaDBServer, running_mariadb
from tests.statements import Watch

if SCRATCH:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", SCRATCH)  # where pytest makes `tmp_path`

# No deadline: the machine may be busy, and no test asserts a wall time.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

_CHOSEN = {"chosen_instants", "large_graphs", "names_of_python"}
CAPABILITIES: dict[str, frozenset[str]] = {
    "sqlite": frozenset({"file", "group_commit", "query_plans", *_CHOSEN}),
    "mariadb": frozenset({"native_as_of", "parallel_fleets", "procedures", "until_2038", *_CHOSEN}),
    "mssql_stand_in": frozenset({"chosen_instants", "native_as_of", "procedures"}),
    "mssql": frozenset({"large_graphs", "native_as_of", "parallel_fleets", "procedures"}),
}
"""What each engine has that not all have; `@pytest.mark.needs` names what a test needs."""
ENGINES = tuple(engine for engine in CAPABILITIES if engine != "mssql" or VARIABLE in os.environ)
"""The engines that every storage test runs on."""

QUICK_ON_THE_STAND_IN = frozenset(
    {
        "test_cascade_cases", "test_instants", "test_keys", "test_runs", "test_tenants",
    }
)  # fmt: skip
"""The part of the exam that the quick tests run there; it takes the stand-in minutes in all."""


SAMPLED = {
    ("test_cascade_cases", "mariadb"): 4,
    ("test_cascade_cases", "mssql_stand_in"): 12,
    ("test_waves", "mariadb"): 6,
    ("test_another_tenants_ids_change_nothing", "mariadb"): 6,
    ("test_another_tenants_ids_change_nothing", "mssql_stand_in"): 8,
    ("test_another_tenants_ids_find_nothing", "mssql_stand_in"): 0,
    ("test_what_is_anothers_is_neither_found_nor_changed", "mariadb"): 0,
    ("test_imported_elsewhere_it_is_the_same_graph", "mariadb"): 0,
    ("resolvers", "mariadb"): 2,
    ("schema", "mariadb"): 3,
    ("test_no_role_opens_what_is_anothers", ""): 3,
    ("test_output_that_fails_is_one_line", ""): 3,
    ("test_the_procedure_equals_the_rules_on_dense_graphs", ""): 3,
    ("test_a_killed_graph_ends_as_an_undisturbed_one", ""): 2,
    ("test_killed_in_a_rewind", "st"): 2,
    ("test_walks_from_hubs_miss_nothing_page_by_page", ""): 3,
    ("test_nothing_is_lost_or_doubled_whatever_becomes_of_the_server", "sse"): 0,
}
"""Rooms, files or tests of which the quick tests run only each so-manieth; 0 is none.

With an engine, or something else that stands in the names of those that are meant.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves the rest of the exam on the stand-in, and what is sampled, to the long tests."""
    met: Counter[tuple[str, str]] = Counter()
    for item in items:
        if "mssql_stand_in" in item.name and item.path.stem not in QUICK_ON_THE_STAND_IN:
            item.add_marker(pytest.mark.long)
        names = (item.path.stem, item.name.partition("[")[0], item.path.parent.name)
        for (name, part), each in SAMPLED.items():
            if name in names and part in item.name:
                met[name, part] += 1
                if not each or met[name, part] % each:
                    item.add_marker(pytest.mark.long)
                break


def pytest_collection_finish() -> None:
    """What was imported and collected stays: no collection of garbage need look at it again."""
    gc.collect()
    gc.freeze()


def empty_database(
    engine: str, request: pytest.FixtureRequest, folder: Path, clock: ManualClock
) -> str:
    """A new database of an engine, as `open_store` takes it; `clock` is the store's."""
    if engine == "sqlite":
        return str(folder / "memory.db")
    if engine == "mariadb":
        server: MariaDBServer = request.getfixturevalue("mariadb_server")
        return server.url(server.fresh_database())
    if engine == "mssql":
        real: SqlServer = request.getfixturevalue("sql_server")
        return real.fresh_url()
    stand_in: StandIn = request.getfixturevalue("stand_in")
    return stand_in.fresh_url(clock)


@contextmanager
def migrated_database(
    engine: str, request: pytest.FixtureRequest, folder: Path, clock: ManualClock
) -> Iterator[str]:
    """The same with its tables, which take longer to make than most tests, and nothing in them."""
    if engine == "sqlite":
        yield str(copyfile(request.getfixturevalue("migrated_file"), folder / "memory.db"))
    elif engine == "mariadb":
        reuse: Reuse = request.getfixturevalue("reuse")
        with reuse.database() as url:
            yield url
    elif engine == "mssql_stand_in":
        stand_in: StandIn = request.getfixturevalue("stand_in")
        yield stand_in.migrated_url(clock)
    else:
        yield empty_database(engine, request, folder, clock)


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[str]:
    """An empty database of each engine that has what the test needs, as `open_store` takes it.

    It has its tables already where the test wants a `store` in it.
    """
    marker = request.node.get_closest_marker("needs")
    missing = set(marker.args if marker else ()) - CAPABILITIES[request.param]
    if missing:
        pytest.skip(f"{request.param} has no {', '.join(sorted(missing))}")
    if "store" in request.fixturenames:
        with migrated_database(request.param, request, tmp_path, clock) as url:
            yield url
    else:
        yield empty_database(request.param, request, tmp_path, clock)


@pytest.fixture(scope="session")
def watch() -> Iterator[Watch]:
    """Looks at every statement of this test run."""
    watching = Watch()
    event.listen(Engine, "before_cursor_execute", watching.note)
    yield watching
    event.remove(Engine, "before_cursor_execute", watching.note)


@pytest.fixture(autouse=True)
def every_statement_keeps_to_its_tenant(watch: Watch) -> Iterator[None]:
    """Fails the test that is the first to send one that does not."""
    yield
    watch.complain()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBServer]:
    """A MariaDB of this test run's own."""
    with running_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def reuse(mariadb_server: MariaDBServer) -> Reuse:
    """Databases of that MariaDB with their tables, and nothing in these."""
    return Reuse(mariadb_server)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with its tables, and nothing in these."""
    path = tmp_path_factory.mktemp("migrated") / "memory.db"
    open_store(str(path), clock=ManualClock()).close()
    return path


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """The stand-in for SQL Server."""
    with standing_in(tmp_path_factory.mktemp("stand_in")) as found:
        yield found


@pytest.fixture(scope="session")
def sql_server() -> Iterator[SqlServer]:
    """The real server that the environment names."""
    server = SqlServer(os.environ[VARIABLE])
    yield server
    server.drop_all()


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
    shared_clock.restart(START)  # the engine before may have moved it on
    folder = tmp_path_factory.mktemp("shared")
    with migrated_database(request.param, request, folder, shared_clock) as database:
        opened = open_store(database, clock=shared_clock)
        opened.write_all(1, [1], lambda _: None)
        yield opened
        opened.close()

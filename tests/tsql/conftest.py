"""The gate needs the parser: without it a test is skipped aloud, and fails where CI runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.clock import ManualClock
from tests.missing import driver_manager
from tests.tsql.catalogue import Catalogue
from tests.tsql.database import ServerClock
from tests.tsql.driver import Server
from tests.tsql.gate import read_schema
from tests.tsql.recorder import Recorder
from tests.tsql.runtime import need_parser
from tests.tsql.sessions import Sessions
from tests.tsql.texts import migration_texts


@pytest.fixture(autouse=True, scope="session")
def parser() -> None:
    """Loads nothing itself: the first parse does."""
    need_parser()


@pytest.fixture(scope="session")
def schema() -> Catalogue:
    """What the shipped migrations make."""
    return read_schema(migration_texts())


@pytest.fixture(scope="session")
def server(schema: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A stand-in server of these tests' own."""
    driver_manager()
    return Server(tmp_path_factory.mktemp("server"), Recorder(schema))


NUMBERS = itertools.count()


@pytest.fixture
def sessions(server: Server) -> Iterator[Sessions]:
    """Connections to a new database with the project's schema."""
    clock, name = ManualClock(), f"sessions_{next(NUMBERS)}"
    database = server.create(name, ServerClock(clock))
    opened = Sessions(server, database, clock)
    opened.migrate()
    yield opened
    opened.close()
    server.running = True

"""Connections that are kept: given out, given back clean, and none lost by what goes wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, QueuePool, create_engine, text
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.storage.sqlite.kept_connections import KeptConnections, Reading

MOST = 2


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "kept.db", isolation_level=None, check_same_thread=False)

    made = create_engine("sqlite+pysqlite://", creator=connect, poolclass=QueuePool)
    yield made
    made.dispose()


@pytest.fixture
def kept(engine: Engine) -> Iterator[KeptConnections]:
    made = KeptConnections(engine, MOST, 0)
    yield made
    made.close()


def test_what_was_given_back_last_is_taken_first(kept: KeptConnections) -> None:
    first, second = kept.take(), kept.take()
    kept.give_back(second)
    kept.give_back(first)
    assert kept.take() is first


def test_whoever_finds_all_of_them_taken_waits_in_vain(kept: KeptConnections) -> None:
    taken = [kept.take() for _ in range(MOST)]
    with pytest.raises(PoolTimeout):
        kept.take()
    last = taken.pop()
    kept.give_back(last)
    assert kept.take() is last


def test_nothing_is_left_of_a_transaction(kept: KeptConnections) -> None:
    with Reading(kept) as connection:
        connection.execute(text("CREATE TABLE written (n)"))
    with Reading(kept) as again:
        assert again is connection
        assert again.execute(text("SELECT count(*) FROM sqlite_schema")).scalar_one() == 0


def test_one_that_cannot_begin_is_given_back(kept: KeptConnections) -> None:
    connection = kept.take()
    driver: Any = connection.connection.dbapi_connection
    driver.close()
    kept._free.append(connection)
    kept._turns.put(None)
    with pytest.raises(sqlite3.ProgrammingError), Reading(kept):
        raise AssertionError("it has begun")
    assert [kept.take() for _ in range(MOST)]


def test_what_comes_back_after_the_end_is_closed(kept: KeptConnections) -> None:
    free, taken = kept.take(), kept.take()
    kept.give_back(free)
    kept.close()
    assert free.closed
    assert not taken.closed
    kept.give_back(taken)
    assert taken.closed

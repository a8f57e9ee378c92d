"""Statements by SQLite's driver alone: the same rows as by SQLAlchemy, and heard by who listens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Text,
    bindparam,
    create_engine,
    event,
    literal,
    select,
)
from sqlalchemy.exc import StatementError

from retrograph.storage.id_set import id_set
from retrograph.storage.sqlite.statement import SqliteStatement, sqlite_statement
from retrograph.storage.stored_text import stored_text

NUMBER = bindparam("number", type_=BigInteger)


@pytest.fixture
def connection() -> Iterator[Connection]:
    with create_engine("sqlite://").connect() as opened:
        yield opened


def both(connection: Connection, statement: Any, **values: object) -> Any:
    """The rows, which must be the same either way."""
    rows = direct(connection, statement).fetch(connection, values)
    assert rows == [tuple(row) for row in connection.execute(statement, values)]
    return rows


def direct(connection: Connection, statement: Any) -> SqliteStatement:
    found = sqlite_statement(statement)
    assert found is not None
    return found


def test_a_list_that_is_spelt_out_is_left_to_sqlalchemy(connection: Connection) -> None:
    assert sqlite_statement(select(NUMBER.in_([1, 2]))) is None


def test_values_come_in_their_places(connection: Connection) -> None:
    asked = select(NUMBER + 1, literal("own"), NUMBER, bindparam("text", type_=Text))
    assert both(connection, asked, text="a", number=1) == [(2, "own", 1, "a")]
    assert both(connection, asked, number=2, text=None) == [(3, "own", 2, None)]


def test_what_a_statement_brings_and_what_types_convert(connection: Connection) -> None:
    ids = id_set([3, 1])
    assert both(connection, ids) == [(3,), (1,)]
    text = stored_text(literal("a", Text))
    assert both(connection, select(NUMBER, text), number=1) == [(1, "a")]


def test_a_value_that_is_missing_is_an_error(connection: Connection) -> None:
    asked = direct(connection, select(NUMBER))
    with pytest.raises(KeyError):
        asked.fetch(connection, {"other": 1})
    with pytest.raises(StatementError):
        connection.execute(select(NUMBER), {"other": 1})


def test_who_listens_hears_of_it(connection: Connection) -> None:
    heard: list[Any] = []
    engine: Engine = connection.engine
    event.listen(engine, "before_cursor_execute", lambda *told: heard.append(told[2:4]))
    direct(connection, select(NUMBER)).fetch(connection, {"number": 5})
    ((text, values),) = heard
    assert text.startswith("SELECT ?")
    assert values == (5,)

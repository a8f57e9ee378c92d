"""The watch over the statements of all tests sees those of the product, and what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, event, text

from retrograph.storage.store import Store
from tests.statements import Watch

HERE = (Path(__file__).parent,)
BOUND = "SELECT n.id FROM node AS n WHERE n.tenant_id = 1 AND n.fleet_id = 1"
LOOSE = "SELECT n.id FROM node AS n WHERE n.id = 1"
ROWS = "INSERT INTO node (id, fleet_id) VALUES {}"


@pytest.fixture
def connection() -> Iterator[Connection]:
    """A connection to a database with a table of tenants."""
    engine = create_engine("sqlite://")
    with engine.connect() as opened:
        opened.execute(text("CREATE TABLE node (id, tenant_id, fleet_id)"))
        yield opened
    engine.dispose()


def watched(connection: Connection, watch: Watch, *statements: str) -> dict[str, list[str]]:
    event.listen(connection, "before_cursor_execute", watch.note)
    for statement in statements:
        connection.exec_driver_sql(statement)
    return watch.wrong


def test_a_statement_that_names_no_tenant_is_found(connection: Connection) -> None:
    watch = Watch(HERE)
    assert watched(connection, watch, BOUND, LOOSE, LOOSE) == {LOOSE: ["n"]}
    assert watch.judged == 2
    with pytest.raises(AssertionError, match=r"n\.id = 1"):
        watch.complain()
    watch.complain()


def test_what_tests_send_themselves_is_not_looked_at(connection: Connection) -> None:
    watch = Watch()
    assert watched(connection, watch, LOOSE) == {}
    assert watch.judged == 0


@pytest.mark.needs("names_of_python")
def test_every_test_is_watched(store: Store, watch: Watch) -> None:
    assert store.clock(1, 1)
    assert watch.judged
    assert watch.wrong == {}


def test_how_many_rows_or_places_there_are_makes_no_other_statement(connection: Connection) -> None:
    watch, row = Watch(HERE), "(abs(1), 2)"
    rows = [ROWS.format(", ".join([row] * count)) for count in (1, 2, 3)]
    assert watched(connection, watch, *rows) == {rows[0]: ["node"]}

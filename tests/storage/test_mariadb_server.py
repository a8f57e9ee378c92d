"""Troubles with a MariaDB server: each a typed error, nothing half-written, no lasting harm."""

from __future__ import annotations

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import (
    AccessDenied,
    ConfigurationError,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
)
from retrograph.storage.mariadb.migrations import statements
from retrograph.storage.node_writes import create_nodes
from retrograph.storage.store import open_store
from retrograph.storage.write import Write
from retrograph.storage.writer import MOST_TRIES
from tests.consistency import assert_consistent
from tests.dump import dump
from tests.memory import Memory
from tests.odbc import pyodbc
from tests.planting import new_node, plant_edges, plant_nodes
from tests.servers import MariaDBServer, running_mariadb
from tests.shared import ROOT
from tests.storage.mariadb import (
    PASSWORD,
    WORDS,
    opened,
    refused,
    user,
)
from tests.storage.stalling import PATIENCE as TEST_PATIENCE
from tests.storage.stalling import Stalled


@pytest.mark.usefixtures("mariadb_driver")
def test_a_server_that_is_not_there() -> None:
    address = f"mariadb+pyodbc://root:{WORDS}@127.0.0.1:1/memory"
    refused(DatabaseUnavailable, lambda: open_store(address), "127.0.0.1", "start it")


@pytest.mark.usefixtures("mariadb_driver")
def test_a_host_that_is_not_there() -> None:
    address = f"mariadb+pyodbc://root:{WORDS}@nowhere.invalid/memory"
    refused(DatabaseUnavailable, lambda: open_store(address), "nowhere.invalid", "check host")


def test_a_wrong_password(mariadb_server: MariaDBServer, empty: str) -> None:
    with user(mariadb_server, empty, "ALL PRIVILEGES") as good:
        wrong = good.replace(WORDS, "other")
        refused(AccessDenied, lambda: open_store(wrong), "somebody", "password")
        open_store(good).close()


def test_an_unknown_database(mariadb_server: MariaDBServer) -> None:
    address = mariadb_server.url("nowhere")
    refused(DatabaseUnavailable, lambda: open_store(address), "nowhere", "create it first")


@pytest.mark.parametrize("address", ["mariadb+pyodbc://root@host", "mariadb+pyodbc://host:x/name"])
def test_a_url_that_names_no_database_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match=r"mariadb\+pyodbc://user:password@host"):
        open_store(address)


@pytest.mark.parametrize("driver", ["/nowhere.so", "Nothing"])
def test_a_missing_driver(url: str, driver: str) -> None:
    refused(DriverMissing, lambda: open_store(f"{url}?driver={driver}"), "install odbc-mariadb")


def test_a_missing_driver_manager(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyodbc", None)
    refused(DriverMissing, lambda: open_store(url), "install unixodbc")


def test_a_server_that_takes_short_texts_only(url: str, mariadb_server: MariaDBServer) -> None:
    admin = mariadb_server.connect("mysql")
    admin.execute("SET GLOBAL max_allowed_packet = 1048576")
    try:
        with pytest.raises(ConfigurationError, match="max_allowed_packet = 16M"):
            open_store(url)
    finally:
        admin.execute("SET GLOBAL max_allowed_packet = DEFAULT")
        admin.close()
    open_store(url).close()


def test_the_grants_that_ship_are_enough_and_no_more(
    mariadb_server: MariaDBServer, empty: str
) -> None:
    owners, workers = (
        grant.split(" ON ")[0].removeprefix("GRANT ")
        for grant in (" ".join(each.split()) for each in statements(grants()))
    )
    with user(mariadb_server, empty, owners) as url, opened(url) as store:
        plant_nodes(store, [new_node("a")])
    with user(mariadb_server, empty, workers) as url, opened(url) as store:
        memory = Memory(Scope(store, 1, None, frozenset(Role)))
        memory.plant("b")
        memory.link("a REQUIRES b")
        assert memory.fell("a").impact_count == 2
        connection = pyodbc.connect(connection_string(mariadb_server, empty), autocommit=True)
        for statement in (
            "DROP TABLE node",
            "DROP PROCEDURE cascade_rounds",
            "CREATE VIEW v AS SELECT 1",
        ):
            with pytest.raises(pyodbc.Error, match=r"denied"):
                connection.execute(statement)
        connection.close()


def grants() -> str:
    return (ROOT / "sql" / "mariadb" / "grants.sql").read_text(encoding="utf-8")


def connection_string(server: MariaDBServer, empty: str) -> str:
    password = PASSWORD.replace("}", "}}")
    return (
        f"Driver={{MariaDB Unicode}};Server=127.0.0.1;Port={server.port};User=somebody;"
        f"Password={{{password}}};Database={empty}"
    )


@pytest.mark.parametrize(
    "privileges",
    [
        "SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES",
        "SELECT, INSERT, UPDATE, DELETE, EXECUTE",
        "SELECT, EXECUTE, CREATE TEMPORARY TABLES",
    ],
)
def test_a_user_who_lacks_what_a_cascade_needs_changes_nothing(
    mariadb_server: MariaDBServer, empty: str, privileges: str
) -> None:
    with opened(mariadb_server.url(empty)) as store:
        plant_nodes(store, [new_node("a")])
        before = dump(store)
        with user(mariadb_server, empty, privileges) as url:
            other = open_store(url)
            memory = Memory(Scope(other, 1, None, frozenset(Role)))
            assert set(memory.nodes()) == {"a"}
            refused(AccessDenied, lambda: memory.fell("a"), "somebody", empty)
            other.close()
        assert dump(store) == before


def test_a_server_that_may_only_be_read(mariadb_server: MariaDBServer, empty: str) -> None:
    admin = mariadb_server.connect("mysql")
    with (
        user(mariadb_server, empty, "ALL PRIVILEGES") as url,
        opened(url) as store,
    ):
        plant_nodes(store, [new_node("a")])
        before = dump(store)
        admin.execute("SET GLOBAL read_only = 1")
        try:
            refused(DatabaseReadOnly, lambda: plant_nodes(store, [new_node("b")]), "primary")
            assert dump(store) == before
        finally:
            admin.execute("SET GLOBAL read_only = 0")
        plant_nodes(store, [new_node("b")])
    admin.close()


def test_too_many_connections(mariadb_server: MariaDBServer, empty: str) -> None:
    admin = mariadb_server.connect("mysql")
    limit = "GRANT USAGE ON *.* TO 'somebody'@'%' WITH MAX_USER_CONNECTIONS"
    with user(mariadb_server, empty, "ALL PRIVILEGES") as url:
        admin.execute(f"{limit} 1")
        store = open_store(url)
        refused(DatabaseUnavailable, lambda: store.write_all(1, [1], bool), "max_connections")
        admin.execute(f"{limit} 9")
        store.write_all(1, [1], bool)
        store.close()
    admin.close()


def test_a_lock_that_is_held_too_long(mariadb_server: MariaDBServer, url: str) -> None:
    with opened(url, lock_wait_seconds=1) as store, opened(url) as other:
        before = dump(store)
        with Stalled(other) as stalled:
            refused(DatabaseLocked, lambda: plant_nodes(store, [new_node("late")]), "try again")
            assert dump(store) == before
            stalled.go_on()
        plant_nodes(store, [new_node("in time")])
        assert_consistent(store)


def test_a_deadlock_is_tried_again_until_it_is_through(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    """Another transaction, the heavier one, holds what ours wants and wants what ours holds."""
    tries: list[int] = []
    with opened(url) as store, ThreadPoolExecutor(1) as pool:
        other = mariadb_server.connect(empty)
        for statement in (
            "CREATE TABLE scratch (id INT PRIMARY KEY, n INT)",
            "INSERT INTO scratch SELECT seq, 0 FROM seq_1_to_100",
        ):
            other.execute(statement)
        other.autocommit = False
        other.execute("UPDATE scratch SET n = 1 WHERE id > 1")

        def cross(write: Write) -> list[int]:
            tries.append(write.instant)
            execute = write.snapshot.connection.exec_driver_sql
            made = create_nodes(write, [new_node("once")])
            execute("UPDATE scratch SET n = 2 WHERE id = 1")
            if len(tries) == 1:
                pool.submit(finish, other, "UPDATE scratch SET n = 1 WHERE id = 1")
                wait_for_waiter(mariadb_server)
            execute("UPDATE scratch SET n = 2 WHERE id = 2")
            return made

        store.write(1, 1, cross)
        assert len(tries) == 2
        assert set(Memory(Scope(store, 1, None, frozenset(Role))).nodes()) == {"once"}
        assert_consistent(store)
        other.close()


def finish(connection: pyodbc.Connection, statement: str) -> None:
    connection.execute(statement)
    connection.commit()


def wait_for_waiter(server: MariaDBServer) -> None:
    """Returns when a transaction waits for a lock."""
    connection = server.connect("information_schema")
    waiting = "SELECT COUNT(*) FROM innodb_trx WHERE trx_state = 'LOCK WAIT'"
    for _ in range(TEST_PATIENCE * 10):
        if connection.execute(waiting).fetchval():
            connection.close()
            return
        connection.execute("DO SLEEP(0.1)")  # the catalogue is renewed ten times a second
    raise AssertionError("nobody waits")


def test_a_deadlock_that_does_not_end_is_told(url: str) -> None:
    tries = []

    def deadlock(write: Write) -> None:
        tries.append(create_nodes(write, [new_node("never")]))
        write.snapshot.connection.execute(
            text("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'deadlock'")
        )

    with opened(url) as store:
        before = dump(store)
        refused(DatabaseLocked, lambda: store.write(1, 1, deadlock), "try again")
        assert len(tries) == MOST_TRIES
        assert dump(store) == before


def test_connections_that_the_server_ended_are_made_anew(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    with opened(url) as store:
        plant_nodes(store, [new_node("a")])
        end_connections(mariadb_server, empty)
        assert store.clock(1, 1)
        end_connections(mariadb_server, empty)
        assert plant_nodes(store, [new_node("b")])
        end_connections(mariadb_server, empty)
        store.poll()


def test_a_connection_that_the_server_ends_in_mid_transaction_takes_all_of_it_along(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    def interrupted(write: Write) -> None:
        create_nodes(write, [new_node("half")])
        end_connections(mariadb_server, empty)
        create_nodes(write, [new_node("whole")])

    with opened(url) as store:
        before = dump(store)
        refused(DatabaseUnavailable, lambda: store.write(1, 1, interrupted), "gone")
        assert dump(store) == before
        plant_nodes(store, [new_node("half")])


def end_connections(server: MariaDBServer, empty: str) -> None:
    admin = server.connect("information_schema")
    for (id,) in admin.execute("SELECT id FROM processlist WHERE db = ?", empty).fetchall():
        admin.execute(f"KILL HARD {id}")
    admin.close()


def test_a_server_killed_in_mid_transaction_comes_back_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with running_mariadb(durable=True) as server:
        name = server.fresh_database()
        with opened(server.url(name)) as store:
            memory = Memory(Scope(store, 1, None, frozenset(Role)))
            ids = plant_nodes(store, [new_node(f"n{i}") for i in range(300)])
            plant_edges(store, [(ids[0], each, EdgeType.REQUIRES) for each in ids[1:]])
            before = dump(store)

            def interrupted(write: Write) -> None:
                create_nodes(write, [new_node("half")])
                write.snapshot.connection.exec_driver_sql("UPDATE node_state SET validity = 4")
                server.kill()

            refused(DatabaseUnavailable, lambda: store.write(1, 1, interrupted), "start it")
            for act in (lambda: store.clock(1, 1), store.poll, lambda: memory.fell("n0")):
                refused(DatabaseUnavailable, act, "start it")
            server.start_again()

            assert dump(store) == before
            assert memory.fell("n0").impact_count == 300
            assert store.poll()
            assert_consistent(store)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_an_address_may_name_a_driver_by_its_path(url: str) -> None:
    (path,) = Path("/usr/lib").rglob("libmaodbc.so")
    open_store(f"{url}?driver={path}").close()

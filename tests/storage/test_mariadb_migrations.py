"""MariaDB's schema: made once, by one, whole, in any database that is empty or its own."""

from __future__ import annotations

from subprocess import PIPE, Popen

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import (
    AccessDenied,
    DatabaseLocked,
    MigrationChanged,
    NotADatabase,
    SchemaTooNew,
    SchemaTooOld,
)
from retrograph.sql.loader import migrations
from retrograph.storage.mariadb.migrations import statements
from retrograph.storage.store import open_store
from tests.command import COMMAND, PATIENCE, environment
from tests.memory import Memory
from tests.odbc import pyodbc
from tests.servers import MariaDBServer
from tests.shared import ROOT
from tests.storage.mariadb import (
    change,
    opened,
    refused,
    schema_of,
    user,
)


def test_a_user_who_may_not_create(mariadb_server: MariaDBServer, empty: str) -> None:
    with user(mariadb_server, empty, "SELECT, INSERT, UPDATE, DELETE, EXECUTE") as url:
        refused(AccessDenied, lambda: open_store(url), "somebody", empty, "grants.sql")
    assert schema_of(mariadb_server, empty)["tables"] == []


def test_a_user_who_may_create_no_procedures_leaves_a_start_that_another_completes(
    mariadb_server: MariaDBServer, empty: str
) -> None:
    most = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW, EXECUTE"
    with user(mariadb_server, empty, most) as url:
        refused(AccessDenied, lambda: open_store(url), "somebody", empty)
        refused(SchemaTooOld, lambda: open_store(url, migrate=False), "retrograph migrate")
    open_store(mariadb_server.url(empty)).close()
    whole = mariadb_server.fresh_database()
    open_store(mariadb_server.url(whole)).close()
    assert schema_of(mariadb_server, empty) == schema_of(mariadb_server, whole)


@pytest.mark.parametrize("table", ["fleet (ship INT)", "schema_migration (version INT)"])
def test_another_programs_database_stays_as_it_is(
    mariadb_server: MariaDBServer, empty: str, table: str
) -> None:
    admin = mariadb_server.connect(empty)
    admin.execute(f"CREATE TABLE {table}")
    admin.close()
    before = schema_of(mariadb_server, empty)
    address = mariadb_server.url(empty)
    refused(NotADatabase, lambda: open_store(address), empty, "another program's")
    assert schema_of(mariadb_server, empty) == before


def test_a_newer_schema(mariadb_server: MariaDBServer, empty: str, url: str) -> None:
    open_store(url).close()
    change(mariadb_server, empty, "INSERT INTO schema_migration VALUES (999, 'later', 'x', 0)")
    refused(SchemaTooNew, lambda: open_store(url), empty, "999", "later version")


def test_a_changed_migration(mariadb_server: MariaDBServer, empty: str, url: str) -> None:
    open_store(url).close()
    change(mariadb_server, empty, "UPDATE schema_migration SET checksum = 'x' WHERE number = 1")
    refused(MigrationChanged, lambda: open_store(url), empty, "001")


def test_without_migrating_an_old_schema_is_told_and_left(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    refused(SchemaTooOld, lambda: open_store(url, migrate=False), empty, "retrograph migrate")
    assert schema_of(mariadb_server, empty)["tables"] == []


def test_a_migration_that_stopped_anywhere_is_run_again_to_the_same_end(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    open_store(url).close()
    whole = schema_of(mariadb_server, empty)
    steps = [(step.number, list(statements(step.text))) for step in migrations("mariadb")]
    for number, parts in steps:
        for stop in (0, len(parts) // 2, len(parts)):
            name = mariadb_server.fresh_database()
            connection = mariadb_server.connect(name)
            begin_migration(connection, empty, number)
            for statement in parts[:stop]:
                connection.execute(statement)
            connection.close()
            open_store(mariadb_server.url(name)).close()
            assert schema_of(mariadb_server, name) == whole


def begin_migration(connection: pyodbc.Connection, pattern: str, until: int) -> None:
    """Applies the steps before `until` to a empty, whose ledger is made like another's."""
    connection.execute(f"CREATE TABLE schema_migration LIKE {pattern}.schema_migration")
    for step in migrations("mariadb"):
        if step.number < until:
            for statement in statements(step.text):
                connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_migration SELECT * FROM "
        f"{pattern}.schema_migration WHERE number < {until}"
    )


def test_processes_that_migrate_at_once_do_so_once(
    mariadb_server: MariaDBServer, empty: str, url: str
) -> None:
    command = [*COMMAND, "migrate", "--database", url]
    running = [
        Popen(command, cwd=ROOT, env=environment(), stdout=PIPE, stderr=PIPE, text=True)
        for _ in range(3)
    ]
    for process in running:
        said, complaint = process.communicate(timeout=PATIENCE)
        assert (process.returncode, complaint) == (0, "")
        assert said.endswith("is up to date.\n")
    connection = mariadb_server.connect(empty)
    applied = connection.execute("SELECT number FROM schema_migration ORDER BY 1").fetchall()
    connection.close()
    assert [number for (number,) in applied] == [step.number for step in migrations("mariadb")]


def test_a_migration_waits_for_another_no_longer_than_it_may(
    mariadb_server: MariaDBServer, empty: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrograph.storage.mariadb.migrations._LOCK_SECONDS", 0)
    other = mariadb_server.connect(empty)
    other.execute("SELECT GET_LOCK(?, 0)", f"retrograph-migrate-{empty}")
    refused(DatabaseLocked, lambda: open_store(url), empty, "wait for it")
    other.close()
    open_store(url).close()


@pytest.mark.parametrize("charset", ["latin1", "utf8mb3", "ucs2"])
def test_a_database_of_another_character_set_keeps_keys_intact(
    mariadb_server: MariaDBServer, charset: str
) -> None:
    name = mariadb_server.fresh_name()
    admin = mariadb_server.connect("mysql")
    admin.execute(f"CREATE DATABASE {name} CHARACTER SET {charset}")
    admin.close()
    keys = ("a", "A", "ä", "a\u0308", "a ", "\U0001f40c", "語")
    with opened(mariadb_server.url(name)) as store:
        memory = Memory(Scope(store, 1, None, frozenset(Role)))
        memory.plant(*keys)
        memory.link("ä REQUIRES a\u0308", "ä REQUIRES \U0001f40c")
        assert set(memory.nodes()) == set(keys)
        assert memory.fell("ä").impact_count == 3
    tables = schema_of(mariadb_server, name)["tables"]
    collations = {collation for _, kind, collation, _ in tables if "TABLE" in str(kind)}
    assert collations == {"utf8mb4_nopad_bin"}
    columns = schema_of(mariadb_server, name)["columns"]
    assert {row[3] for row in columns} == {None, "utf8mb4_nopad_bin"}

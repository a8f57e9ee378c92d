"""Troubles with the database file: each a typed error, nothing half-written, no lasting harm."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from retrograph.rules.errors import (
    ConfigurationError,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    MigrationChanged,
    NotADatabase,
    RetrographError,
    SchemaTooNew,
    SchemaTooOld,
)
from retrograph.sql.loader import migrations
from retrograph.storage.sqlite.migrations import APPLICATION_ID
from retrograph.storage.sqlite.profile import SqliteProfile
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.dump import dump
from tests.planting import new_node, plant_nodes

NOBODY = 65_534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed database with one node in fleet 1 of tenant 1."""
    file = tmp_path / "memory.db"
    with opened(file) as store:
        plant_nodes(store, [new_node("first")])
    return file


@contextmanager
def opened(file: Path, busy_timeout_ms: int = 20) -> Iterator[Store]:
    """A store that waits but briefly for others."""
    profile = SqliteProfile(file, busy_timeout_ms)
    profile.prepare(migrate=True)
    store = Store(profile, ManualClock())
    try:
        yield store
    finally:
        store.close()


@contextmanager
def unprivileged() -> Iterator[None]:
    """Acts as a user whom permissions bind, if the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def fails_to_open(file: Path | str, kind: type[RetrographError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        open_store(str(file))
    assert type(caught.value) is kind
    for word in (str(file).removeprefix("sqlite:///"), *words):
        assert word in caught.value.message


def test_a_missing_file_is_made_with_the_marks_of_the_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        steps = connection.execute("SELECT number, checksum FROM schema_migration").fetchall()
    assert (mark, mode) == (APPLICATION_ID, "wal")
    assert steps == [(step.number, step.checksum) for step in migrations("sqlite")]


def test_a_url_names_the_same_file(path: Path) -> None:
    store = open_store(f"sqlite:///{path}")
    with store.read(1, 1) as snapshot:
        assert snapshot.instant == store.clock(1, 1)
    store.close()


@pytest.mark.parametrize("url", ["postgresql://host/name", "sqlite://", "sqlite:///", "sqlite://x"])
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="No engine"):
        open_store(url)


def test_a_missing_folder(tmp_path: Path) -> None:
    fails_to_open(tmp_path / "no" / "memory.db", DatabaseUnavailable, "folder")


def test_a_directory(tmp_path: Path) -> None:
    fails_to_open(tmp_path, DatabaseUnavailable)


@pytest.mark.parametrize(
    "content", [b"just some text, longer than a header of SQLite " * 9, b"a\n", b"a", b"SQLite"]
)
def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    fails_to_open(file, NotADatabase)
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_another_programs_database_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE fleet (ship TEXT)")
    content = file.read_bytes()
    fails_to_open(file, NotADatabase, "another program")
    assert file.read_bytes() == content


def test_a_damaged_database(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:4096] = bytes(3996)
    path.write_bytes(content)
    fails_to_open(path, NotADatabase, "damaged")


def test_a_newer_schema(path: Path) -> None:
    change(path, "INSERT INTO schema_migration VALUES (999, 'later', 'x', 0)")
    fails_to_open(path, SchemaTooNew, "999", "later version")


def test_a_changed_migration(path: Path) -> None:
    change(path, "UPDATE schema_migration SET checksum = 'other' WHERE number = 1")
    fails_to_open(path, MigrationChanged, "001")


def test_without_migrating_an_old_schema_is_told(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    sqlite3.connect(file).close()
    file.touch()
    with pytest.raises(SchemaTooOld, match="retrograph migrate"):
        open_store(str(file), migrate=False)


def test_without_migrating_no_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable):
        open_store(str(tmp_path / "memory.db"), migrate=False)
    assert list(tmp_path.iterdir()) == []


def test_a_migration_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.db"
    (good, *_), bad = migrations("sqlite"), "retrograph.storage.ledger.migrations"
    broken = type(good)(2, "broken", "CREATE TABLE fleet (again TEXT);")
    monkeypatch.setattr(bad, lambda engine: (good, broken))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        open_store(str(file))
    monkeypatch.undo()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == []
    open_store(str(file)).close()


def test_a_locked_file_refuses_writes_but_not_reads(path: Path) -> None:
    with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        before = dump(store)
        with pytest.raises(DatabaseLocked, match="Another process") as caught:
            plant_nodes(store, [new_node("second")])
        assert caught.value.code == "DATABASE_LOCKED"
        assert dump(store) == before
        other.execute("ROLLBACK")
        assert plant_nodes(store, [new_node("second")]) == range(2, 3)
        assert_consistent(store)


def test_a_lock_delays_a_migration_no_longer_than_the_time_out(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        profile = SqliteProfile(file, 20)
        with pytest.raises(sqlite3.OperationalError) as caught:
            profile.prepare(migrate=True)
        assert isinstance(profile.translate(caught.value), DatabaseLocked)
    with opened(file) as store:
        assert store.fleet_ids(1) == []


def test_a_read_only_file_can_be_read_and_refuses_writes(open_folder: Path) -> None:
    file = open_folder / "memory.db"
    with opened(file) as store:
        plant_nodes(store, [new_node("first")])
    file.chmod(0o444)
    open_folder.chmod(0o777)
    with unprivileged(), opened(file) as store:
        before = dump(store)
        with pytest.raises(DatabaseReadOnly, match="make it and its folder writable"):
            plant_nodes(store, [new_node("second")])
        assert dump(store) == before


def test_a_read_only_folder_is_told(open_folder: Path) -> None:
    file = open_folder / "memory.db"
    with opened(file) as store:
        plant_nodes(store, [new_node("first")])
    file.chmod(0o444)
    open_folder.chmod(0o555)
    with unprivileged():
        fails_to_open(open_folder / "new.db", DatabaseUnavailable, "writable")
        fails_to_open(file, DatabaseReadOnly, "make it and its folder writable")


def test_a_full_disk_takes_nothing_and_does_no_lasting_harm(path: Path) -> None:
    with opened(path) as store:
        before = dump(store)
        limit_pages(store, 3)
        with pytest.raises(DatabaseUnavailable, match="full"):
            plant_nodes(store, [new_node("x" * 900 + str(i)) for i in range(5_000)])
        assert dump(store) == before
        limit_pages(store, 1_000_000)
        assert plant_nodes(store, [new_node("second")]) == range(2, 3)
        assert_consistent(store)


def test_a_log_that_grew_shrinks_again_and_is_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrograph.storage.sqlite.profile.TIDY_WAL_BYTES", 200_000)
    monkeypatch.setattr("retrograph.storage.sqlite.profile.KEPT_WAL_BYTES", 50_000)
    log = path.with_name(path.name + "-wal")
    with opened(path) as store:
        plant_nodes(store, [new_node("x" * 900 + str(i)) for i in range(500)])
        assert log.stat().st_size > 200_000
        plant_nodes(store, [new_node("next")])
        assert log.stat().st_size < 100_000


def test_two_stores_open_one_file(path: Path) -> None:
    with opened(path) as one, opened(path) as other:
        assert plant_nodes(one, [new_node("second")]) == range(2, 3)
        assert plant_nodes(other, [new_node("third")]) == range(3, 4)
        assert one.clock(1, 1) == other.clock(1, 1)
        assert dump(one) == dump(other)


def test_a_second_store_drops_no_lock_of_the_first(path: Path) -> None:
    """Another process would take itself for the last user, and remove the log under the first."""
    passer_by = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT 1 FROM fleet')"
    with opened(path) as store:
        plant_nodes(store, [new_node("second")])
        open_store(str(path)).close()
        subprocess.run([sys.executable, "-c", passer_by, path], check=True)
        assert path.with_name(f"{path.name}-wal").exists()


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def limit_pages(store: Store, more: int) -> None:
    """Lets the file grow by no more than so many pages."""
    profile = store._profile
    assert isinstance(profile, SqliteProfile)
    with profile.writing() as connection:
        (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + more}").one()

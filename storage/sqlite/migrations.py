"""Numbered migrations of an SQLite file: each once, in order, with its checksum kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from retrograph.rules.errors import NotADatabase, SchemaTooOld
from retrograph.sql.loader import Migration
from retrograph.storage.clock import system_clock
from retrograph.storage.ledger import pending, told

APPLICATION_ID = 0x52475248
"""Marks the file as Retrograph's ("RGRH") in SQLite's header."""

_LEDGER = """
CREATE TABLE schema_migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


def migrate_file(connection: sqlite3.Connection, path: Path, *, migrate: bool) -> list[str]:
    """Applies what is missing (or only checks, without `migrate`); all of it or nothing.

    Returns what was done, a line each.

    Raises `NotADatabase` for a file that holds something else, `SchemaTooNew`, `SchemaTooOld`
    (only when not migrating) or `MigrationChanged`.
    """
    if _pending(connection, path):
        if not migrate:
            raise SchemaTooOld(f"{path} lacks migrations; run `retrograph migrate` on it.")
        connection.execute("PRAGMA journal_mode = WAL")
        return _apply(connection, path)
    return []


def _apply(connection: sqlite3.Connection, path: Path) -> list[str]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have migrated meanwhile.
        missing = _pending(connection, path)
        for step in missing:
            _apply_step(connection, step)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return [told(step) for step in missing]


def _pending(connection: sqlite3.Connection, path: Path) -> list[Migration]:
    return pending("sqlite", str(path), _applied(connection, path))


def _applied(connection: sqlite3.Connection, path: Path) -> dict[int, str]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if "schema_migration" not in tables:
        if tables:
            raise NotADatabase(f"{path} is another program's database; name another file.")
        return {}
    return dict(connection.execute("SELECT number, checksum FROM schema_migration"))


def _apply_step(connection: sqlite3.Connection, step: Migration) -> None:
    if step.number == 1:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_LEDGER)
    for statement in _statements(step.text):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_migration (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
        (step.number, step.name, step.checksum, system_clock()),
    )


def _statements(text: str) -> Iterator[str]:
    """The statements of a script; a trigger's body ends where SQLite says it is complete."""
    collected = ""
    for line in text.splitlines(keepends=True):
        collected += line
        if sqlite3.complete_statement(collected):
            yield collected
            collected = ""

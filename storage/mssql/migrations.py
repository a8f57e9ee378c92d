"""Numbered migrations of a database on SQL Server: each once, in order, with its checksum kept.

Each is a transaction of its own, cut into batches at lines that say GO.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from retrograph.rules.errors import DatabaseLocked, NotADatabase, SchemaTooOld
from retrograph.sql.loader import Migration, queries
from retrograph.storage.ledger import pending, told
from retrograph.storage.mssql.session import ENGINE, discarding, transaction
from retrograph.storage.named import execute_named

LOCK_TIMEOUT_MS = 60_000
"""How long a migration waits for another process's."""
_OPTIONS = {
    "ReadCommittedSnapshot": "read_committed_snapshot",
    "SnapshotIsolation": "allow_snapshot_isolation",
    "Retention": "keep_retention",
}
"""The query that switches an option of the database on, by the column that tells whether it is."""
_SAID = {
    "read_committed_snapshot": "row versions for readers (READ_COMMITTED_SNAPSHOT)",
    "allow_snapshot_isolation": "snapshots (ALLOW_SNAPSHOT_ISOLATION)",
    "keep_retention": "the clean-up of old history (TEMPORAL_HISTORY_RETENTION)",
}
_BATCH = re.compile(r"^GO$", re.MULTILINE)


def migrate_database(connection: Connection, name: str, *, migrate: bool) -> list[str]:
    """Applies what is missing (or only checks, without `migrate`), the database's options too.

    Returns what was done, a line each.
    Raises `NotADatabase` for a database that holds something else, `SchemaTooNew`, `SchemaTooOld`
    (only when not migrating) or `MigrationChanged`.
    """
    if not pending(ENGINE, name, _applied(connection, name)) and not _missing(connection):
        return []
    if not migrate:
        raise SchemaTooOld(f"{name} lacks migrations; run `retrograph migrate` on it.")
    done = []
    with _alone(connection, name):
        for option in _missing(connection):
            connection.exec_driver_sql(queries(ENGINE)[option])
            done.append(f"Switched on {_SAID[option]}.")
        for step in pending(ENGINE, name, _applied(connection, name)):
            _apply(connection, step)
            done.append(told(step))
    return done


def batches(script: str) -> list[str]:
    """The batches of a script, as they are sent one by one."""
    return [part for part in _BATCH.split(script) if part.strip()]


def _apply(connection: Connection, step: Migration) -> None:
    with transaction(connection):
        for batch in batches(step.text):
            connection.exec_driver_sql(batch)
        execute_named(
            connection,
            ENGINE,
            "record_migration",
            number=step.number,
            name=step.name,
            checksum=step.checksum,
        )


def _applied(connection: Connection, name: str) -> dict[int, str]:
    found = execute_named(connection, ENGINE, "has_ledger").one()
    if not found.HasLedger:
        if found.Tables:
            raise NotADatabase(f"{name} is another program's database; name another.")
        return {}
    rows = execute_named(connection, ENGINE, "applied_migrations")
    return {row.Number: row.Checksum for row in rows}


def _missing(connection: Connection) -> list[str]:
    options = execute_named(connection, ENGINE, "database_options").one()
    return [query for column, query in _OPTIONS.items() if getattr(options, column) != 1]


@contextmanager
def _alone(connection: Connection, name: str) -> Iterator[None]:
    locked = execute_named(connection, ENGINE, "lock_schema", timeout_ms=LOCK_TIMEOUT_MS)
    if locked.scalar_one() < 0:
        raise DatabaseLocked(f"Another process is migrating {name}; wait for it and try again.")
    try:
        yield
    finally:
        if not connection.invalidated:
            with discarding(connection):
                execute_named(connection, ENGINE, "unlock_schema")

"""Numbered migrations of a MariaDB database: each once, in order, with its checksum kept.

The engine commits every change of the schema by itself, so a migration that failed half-way is
run again from its start: each of its statements may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from retrograph.rules.errors import (
    DatabaseLocked,
    NotADatabase,
    SchemaTooOld,
)
from retrograph.sql.loader import Migration
from retrograph.storage.clock import system_clock
from retrograph.storage.ledger import pending, told

_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migration (
    number BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(100) NOT NULL,
    checksum CHAR(64) NOT NULL,
    applied_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
"""
_LEDGER_COLUMNS = {"number", "name", "checksum", "applied_at"}
_LOCK_SECONDS = 60


def migrate_database(connection: Connection, name: str, *, migrate: bool) -> list[str]:
    """Applies what is missing (or only checks, without `migrate`), and tells it, a line each.

    Raises `NotADatabase` for a database that holds something else, `SchemaTooNew`, `SchemaTooOld`
    (only when not migrating) or `MigrationChanged`.
    """
    if pending("mariadb", name, _applied(connection, name)):
        if not migrate:
            raise SchemaTooOld(f"{name} lacks migrations; run `retrograph migrate` on it.")
        with _alone(connection, name):
            connection.exec_driver_sql(_LEDGER)
            missing = pending("mariadb", name, _applied(connection, name))
            for step in missing:
                _apply(connection, step)
            return [told(step) for step in missing]
    return []


def _apply(connection: Connection, step: Migration) -> None:
    for statement in statements(step.text):
        connection.exec_driver_sql(statement)
    connection.execute(
        text(
            "INSERT INTO schema_migration (number, name, checksum, applied_at) "
            "VALUES (:number, :name, :checksum, :at)"
        ),
        {
            "number": step.number,
            "name": step.name,
            "checksum": step.checksum,
            "at": system_clock(),
        },
    )


def statements(script: str) -> Iterator[str]:
    """The statements of a script: split at lines of `//` where it has any, else at semicolons."""
    ends = r"^//$" if re.search(r"^//$", script, re.MULTILINE) else r";$"
    for part in re.split(ends, script, flags=re.MULTILINE):
        bare = re.sub(r"^\s*--.*$", "", part, flags=re.MULTILINE).strip()
        if bare:
            yield bare


def _applied(connection: Connection, name: str) -> dict[int, str]:
    if not connection.exec_driver_sql("SHOW TABLES").all():
        return {}
    columns = connection.exec_driver_sql(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND table_name = 'schema_migration'"
    )
    if set(columns.scalars()) != _LEDGER_COLUMNS:
        raise NotADatabase(f"{name} is another program's database; name another.")
    rows = connection.exec_driver_sql("SELECT number, checksum FROM schema_migration")
    return {number: checksum for number, checksum in rows}  # noqa: C416 (rows are no pairs to a checker)


@contextmanager
def _alone(connection: Connection, name: str) -> Iterator[None]:
    lock = {"lock": f"retrograph-migrate-{name}"[:64], "seconds": _LOCK_SECONDS}
    if not connection.execute(text("SELECT GET_LOCK(:lock, :seconds)"), lock).scalar_one():
        raise DatabaseLocked(f"Another process is migrating {name}; wait for it and try again.")
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK(:lock)"), lock)

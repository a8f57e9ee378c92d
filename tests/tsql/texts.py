"""The T-SQL that ships with the project: migrations, their batches, and named queries."""

from __future__ import annotations

import re

from retrograph.sql.loader import migrations, queries
from tests.tsql.tree import Statement

_SEPARATOR = re.compile(r"^GO$", re.MULTILINE)


def migration_texts() -> list[Statement]:
    """Each migration whole; the parser knows the separator GO."""
    return [
        Statement(f"{step.number:03}_{step.name}.sql", step.text) for step in migrations("mssql")
    ]


def batches(migration: Statement) -> list[Statement]:
    """The batches of a migration, as they are sent one by one."""
    parts = _SEPARATOR.split(migration.text)
    return [Statement(f"{migration.name} batch {n}", part) for n, part in enumerate(parts, 1)]


def query_texts() -> list[Statement]:
    """The named queries."""
    return [Statement(name, text) for name, text in queries("mssql").items()]

"""MariaDB databases, users and refusals, for the tests of what only a server can do wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from retrograph.rules.errors import (
    StorageError,
)
from retrograph.storage.mariadb.profile import MariadbProfile
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.servers import MariaDBServer

PASSWORD = "s3cret;{}'"
WORDS = "s3cret%3B%7B%7D%27"
"""The password as a URL spells it."""


@contextmanager
def opened(url: str, lock_wait_seconds: int = 10) -> Iterator[Store]:
    """A store with the fleet 1 of tenant 1."""
    profile = MariadbProfile(url, lock_wait_seconds)
    profile.prepare(migrate=True)
    store = Store(profile, ManualClock())
    try:
        store.write_all(1, [1], lambda _: None)
        yield store
    finally:
        store.close()


@contextmanager
def user(server: MariaDBServer, database: str, *privileges: str) -> Iterator[str]:
    """The address of a database for a user who has these privileges on it, and no others."""
    admin = server.connect("mysql")
    name = f"'somebody'@'%' IDENTIFIED BY '{PASSWORD.replace(chr(39), chr(39) * 2)}'"
    admin.execute(f"CREATE USER {name}")
    for privilege in privileges:
        admin.execute(f"GRANT {privilege} ON {database}.* TO 'somebody'@'%'")
    try:
        yield f"mariadb+pyodbc://somebody:{WORDS}@127.0.0.1:{server.port}/{database}"
    finally:
        admin.execute("DROP USER 'somebody'@'%'")
        admin.close()


def refused(kind: type[StorageError], act: Callable[[], object], *words: str) -> None:
    """The act fails with exactly this error, which says these words and tells no password."""
    with pytest.raises(StorageError) as caught:
        act()
    assert type(caught.value) is kind
    for word in words:
        assert word in caught.value.message
    error: BaseException | None = caught.value
    while error is not None:
        assert PASSWORD not in str(error)
        assert WORDS not in str(error)
        error = error.__cause__ or error.__context__


def schema_of(server: MariaDBServer, database: str) -> dict[str, list[tuple[object, ...]]]:
    """What the catalogue says of a database's columns, indexes, views and procedures."""
    connection = server.connect("information_schema")
    asked = {
        "columns": "SELECT table_name, column_name, column_type, collation_name, is_nullable, "
        "extra FROM columns WHERE table_schema = ? ORDER BY table_name, ordinal_position",
        "indexes": "SELECT table_name, index_name, seq_in_index, column_name, non_unique "
        "FROM statistics WHERE table_schema = ? ORDER BY 1, 2, 3",
        "views": "SELECT table_name, REPLACE(view_definition, table_schema, '') FROM views "
        "WHERE table_schema = ? ORDER BY 1",
        "routines": "SELECT routine_name, MD5(routine_definition) FROM routines "
        "WHERE routine_schema = ? ORDER BY 1",
        "tables": "SELECT table_name, table_type, table_collation, engine FROM tables "
        "WHERE table_schema = ? ORDER BY 1",
    }
    found = {
        name: [tuple(row) for row in connection.execute(query, database)]
        for name, query in asked.items()
    }
    connection.close()
    return found


def change(server: MariaDBServer, database: str, statement: str) -> None:
    connection = server.connect(database)
    connection.execute(statement)
    connection.close()

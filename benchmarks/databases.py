"""Databases to measure on: fresh copies, stores, and bare connections with the same pragmas."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.graphs import FLEET, TENANT
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.sqlite.profile import SqliteProfile
from retrograph.storage.store import open_store


def fresh(template: Path) -> Path:
    """A copy of the database beside it; the copy that was made before is gone."""
    copy = template.with_suffix(".copy")
    for old in template.parent.glob(f"{copy.name}*"):
        old.unlink()
    return Path(shutil.copyfile(template, copy))


@contextmanager
def opened(path: Path, *, warm: bool = False) -> Iterator[Scope]:
    """A caller's scope in a store that has its connections; `warm` has the graph at hand, too."""
    store = open_store(str(path))
    try:
        store.write(TENANT, FLEET, lambda _: None)
        if warm:
            with store.read(TENANT, FLEET) as snapshot:
                store.graph(snapshot)
        yield Scope(store, TENANT, None, frozenset(Role))
    finally:
        store.close()


@contextmanager
def bare(path: Path) -> Iterator[sqlite3.Connection]:
    """The driver's connection with the pragmas of the store's writer, and nothing around it."""
    profile = SqliteProfile(path)
    try:
        with profile.writer().connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.execute("BEGIN IMMEDIATE")
            driver.execute("UPDATE fleet SET clock = clock + 1")
            driver.execute("COMMIT")
            yield driver
    finally:
        profile.close()

"""Troubles with SQL Server: each a typed error, nothing half-written, no lasting harm.

What only a server can say comes from a script; what it keeps or loses is seen on the stand-in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import (
    AccessDenied,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    SchemaTooNew,
    StorageError,
)
from retrograph.rules.validity import Validity
from retrograph.storage.mssql import clock as mssql_clock
from retrograph.storage.mssql import profile as mssql_profile
from retrograph.storage.node_writes import create_nodes
from retrograph.storage.odbc import loaded_manager
from retrograph.storage.store import Store, open_store
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.dump import dump
from tests.memory import Memory
from tests.mssql import HOST, StandIn
from tests.planting import new_node, plant_nodes
from tests.storage.odbc_script import ScriptedDriver, failure
from tests.storage.stalling import Stalled

URL = "mssql+pyodbc://writer:geheim@db.example:1444/memory"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> ScriptedDriver:
    """What `open_store` connects through."""
    found = ScriptedDriver()
    monkeypatch.setattr(mssql_profile, "loaded_manager", lambda packages: found)
    return found


@pytest.fixture
def scripted(driver: ScriptedDriver) -> Iterator[Store]:
    """A store whose server says what the script holds."""
    opened = Store(mssql_profile.MssqlProfile(URL, driver), ManualClock())
    yield opened
    opened.close()


@pytest.fixture
def address(stand_in: StandIn, clock: ManualClock) -> str:
    """An empty database of the stand-in."""
    return stand_in.fresh_url(clock)


@pytest.fixture
def store(address: str, clock: ManualClock) -> Iterator[Store]:
    """A store on it with the empty fleet 1 of tenant 1."""
    opened = open_store(address, clock=clock)
    opened.write_all(1, [1], lambda _: None)
    yield opened
    opened.close()


REFUSALS = [
    ("08001", 10061, DatabaseUnavailable, "start it, or check host and port"),
    ("HYT00", 0, DatabaseUnavailable, "start it, or check host and port"),
    ("28000", 18456, AccessDenied, "check the user's name and password"),
    ("42000", 4060, DatabaseUnavailable, "create it first"),
    ("01000", 0, DriverMissing, "'.[mssql]'"),
]


@pytest.mark.parametrize(("state", "number", "kind", "said"), REFUSALS)
def test_who_is_not_let_in_is_told_why(
    driver: ScriptedDriver, state: str, number: int, kind: type[StorageError], said: str
) -> None:
    driver.answer("connect", failure(state, number))
    with pytest.raises(StorageError) as caught:
        open_store(URL)
    assert type(caught.value) is kind
    assert said in caught.value.message
    assert "geheim" not in caught.value.message
    assert driver.said() == []


def test_a_missing_driver_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyodbc", None)
    monkeypatch.setattr(mssql_profile, "loaded_manager", loaded_manager)
    with pytest.raises(DriverMissing, match="install unixodbc"):
        open_store(URL)


@pytest.mark.parametrize("at", ["set tenant", "lock", "move clocks", "take ids", "invalidate"])
@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (229, AccessDenied, "sql/mssql/grants.sql"),
        (3906, DatabaseReadOnly, "its primary"),
        (9002, DatabaseUnavailable, "no room left"),
    ],
)
def test_what_the_server_refuses_in_a_write_is_told_and_rolled_back(
    scripted: Store,
    driver: ScriptedDriver,
    at: str,
    number: int,
    kind: type[StorageError],
    said: str,
) -> None:
    driver.answer(at, failure("42000", number))
    with pytest.raises(kind, match=said):
        scripted.write(1, 1, cascade_by_name)
    assert "commit" not in driver.said()
    assert driver.said().count("begin") == driver.said().count("rollback")
    scripted.write(1, 1, cascade_by_name)
    assert driver.said().count("commit") == 1


def cascade_by_name(write: Write) -> None:
    """Sends what a cascade sends."""
    write.snapshot.profile.take_ids(write.snapshot.connection, "node", 1)
    write.snapshot.profile.cascade(write, Seeds(roots={10: Validity.INVALID}), 1_000)


def test_a_server_that_goes_in_mid_transaction_takes_all_of_it_along(
    store: Store, stand_in: StandIn
) -> None:
    """It refuses connections until it is back; the pools notice both."""
    plant_nodes(store, [new_node("before")])
    before, memory = dump(store), Memory(Scope(store, 1, None, frozenset(Role)))

    def interrupted(write: Write) -> None:
        create_nodes(write, [new_node("half")])
        stand_in.server.running = False
        create_nodes(write, [new_node("whole")])

    try:
        with pytest.raises(DatabaseUnavailable, match=rf"{HOST} is gone.*start it"):
            store.write(1, 1, interrupted)
        for act in (lambda: store.clock(1, 1), store.poll, lambda: memory.fell("before")):
            with pytest.raises(DatabaseUnavailable, match="start it"):
                act()
    finally:
        stand_in.server.running = True
    assert dump(store) == before
    assert plant_nodes(store, [new_node("half")])
    assert memory.fell("before").impact_count == 1
    assert_consistent(store)


def test_a_fleet_that_is_held_for_too_long(
    store: Store, address: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mssql_clock, "LOCK_TIMEOUT_MS", 1)
    before, other = dump(store), open_store(address, clock=clock)
    with Stalled(other) as stalled:
        with pytest.raises(DatabaseLocked, match="fleet 1 for too long; try again"):
            plant_nodes(store, [new_node("late")])
        assert dump(store) == before
        stalled.go_on()
    other.close()
    plant_nodes(store, [new_node("in time")])
    assert_consistent(store)


def test_a_schema_of_a_newer_release_is_left_alone(store: Store, address: str) -> None:
    with store._profile.writer().connect() as connection:
        connection.exec_driver_sql(
            "INSERT INTO Memory.SchemaMigration (Number, Name, Checksum, AppliedAt) "
            "VALUES (99, N'later', N'x', SYSUTCDATETIME())"
        )
    before = dump(store)
    with pytest.raises(SchemaTooNew, match="by a later version"):
        open_store(address)
    assert dump(store) == before

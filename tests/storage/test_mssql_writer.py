"""The clock recipe of SQL Server, driven by a scripted driver: order, failures, nothing leaked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.rules.errors import (
    ClockBehind,
    DatabaseLocked,
    DatabaseUnavailable,
    NotFound,
)
from retrograph.storage.mssql.profile import MssqlProfile
from retrograph.storage.periods import micros_of
from retrograph.storage.store import Store
from retrograph.storage.write import Write
from retrograph.storage.writer import MOST_TRIES
from tests.clock import ManualClock
from tests.storage.odbc_script import (
    DEADLOCK,
    LOST,
    NOW,
    STEP,
    TOO_EARLY,
    ScriptedDriver,
    failure,
    moved,
)

URL = "mssql+pyodbc://writer:geheim@db.example:1444/memory"
BEFORE = ["set tenant", "lock"]
TRY = ["wait", "begin", "move clocks"]
AFTER = ["unlock", "clear tenant"]


@pytest.fixture
def driver() -> ScriptedDriver:
    return ScriptedDriver()


@pytest.fixture
def store(driver: ScriptedDriver) -> Iterator[Store]:
    opened = Store(MssqlProfile(URL, driver), ManualClock())
    yield opened
    opened.close()


def instant_of(write: Write) -> int:
    return write.instant


def leaked(driver: ScriptedDriver) -> list[str]:
    """Open connections that still hold a lock, a transaction or a tenant."""
    found = []
    for connection in driver.connections:
        said = [name for number, name in driver.calls if number == connection.number]
        held = said.count("lock") - said.count("unlock")
        tenant = [name for name in said if name in {"set tenant", "clear tenant"}]
        open_now = [
            name for name in said if name in {"begin", "commit", "rollback", "clear tenant"}
        ]
        if connection.closed:
            continue
        if held or tenant[-1:] == ["set tenant"] or open_now[-1:] == ["begin"]:
            found.append(f"connection {connection.number}")
    return found


def test_a_write_follows_the_recipe(store: Store, driver: ScriptedDriver) -> None:
    assert store.write(1, 1, instant_of) == micros_of(NOW + STEP)
    assert driver.said() == [*BEFORE, *TRY, "commit", *AFTER]
    assert leaked(driver) == []


def test_several_fleets_are_locked_in_the_order_of_their_ids(
    store: Store, driver: ScriptedDriver
) -> None:
    names, rows = moved(NOW, NOW + STEP, 1)
    driver.answer("move clocks", (names, [*rows, (3, NOW, NOW + STEP, NOW)]))
    instants = store.write_all(
        7, [3, 1, 3], lambda writes: {f: w.instant for f, w in writes.items()}
    )
    assert instants == dict.fromkeys([1, 3], micros_of(NOW + STEP))
    locks = [given for name, given in driver.parameters if name in {"lock", "unlock"}]
    assert [given[:2] for given in locks] == [(7, 1), (7, 3), (7, 3), (7, 1)]


def test_fleets_that_are_missing_are_made_where_they_may_be(
    store: Store, driver: ScriptedDriver
) -> None:
    with pytest.raises(NotFound):
        store.write(1, 2, instant_of)
    assert driver.said() == [*BEFORE, *TRY, "rollback", *AFTER]
    driver.forget()
    began = store.write_all(1, [1, 2], lambda writes: writes[2].snapshot.began)
    assert began == micros_of(NOW + STEP)
    assert driver.said() == [*BEFORE, "lock", *TRY, "create fleets", "commit", "unlock", *AFTER]
    assert ("create fleets", (1, 1, "[2]", 1, "[2]")) in driver.parameters


def test_what_a_job_raises_leaves_nothing(store: Store, driver: ScriptedDriver) -> None:
    def fail(write: Write) -> None:
        raise KeyError(write.instant)

    with pytest.raises(KeyError):
        store.write(1, 1, fail)
    assert driver.said() == [*BEFORE, *TRY, "rollback", *AFTER]
    assert leaked(driver) == []


@pytest.mark.parametrize("error", [DEADLOCK, TOO_EARLY], ids=["1205", "13535"])
@pytest.mark.parametrize("at", ["move clocks", "take ids", "commit"])
def test_what_the_server_gave_up_is_tried_again_from_the_start(
    store: Store, driver: ScriptedDriver, error: Exception, at: str
) -> None:
    driver.answer(at, error)
    told: list[int] = []
    store.listen(lambda _, __, instant: told.append(instant))
    jobs: list[int] = []

    def job(write: Write) -> int:
        jobs.append(write.snapshot.profile.take_ids(write.snapshot.connection, "node", 1))
        return len(jobs)

    assert store.write(1, 1, job) == len(jobs)
    assert driver.said().count("begin") == driver.said().count("rollback") + 1 == 2
    assert driver.said("take ids")[-3:] == ["commit", *AFTER]
    assert driver.said().count("wait") == 2
    assert driver.said().count("lock") == 1
    assert told == [micros_of(NOW + STEP)]
    assert leaked(driver) == []


@pytest.mark.parametrize(("error", "kind"), [(DEADLOCK, DatabaseLocked), (TOO_EARLY, ClockBehind)])
def test_trying_again_has_an_end(
    store: Store, driver: ScriptedDriver, error: Exception, kind: type[Exception]
) -> None:
    driver.answer("move clocks", *[error] * MOST_TRIES)
    with pytest.raises(kind):
        store.write(1, 1, instant_of)
    assert driver.said().count("begin") == MOST_TRIES
    assert driver.said()[-2:] == AFTER
    assert leaked(driver) == []


def test_an_instant_that_is_not_later_is_never_used(store: Store, driver: ScriptedDriver) -> None:
    driver.answer("move clocks", moved(NOW, NOW), moved(NOW, NOW - STEP))
    assert store.write(1, 1, instant_of) == micros_of(NOW + STEP)
    assert driver.said() == [*BEFORE, *TRY, "rollback", *TRY, "rollback", *TRY, "commit", *AFTER]


def test_a_clock_that_stays_behind_is_told(store: Store, driver: ScriptedDriver) -> None:
    driver.answer("move clocks", *[moved(NOW, NOW)] * MOST_TRIES)
    with pytest.raises(ClockBehind, match=r"2026-05-01T12:00:00\.123456Z") as caught:
        store.write(1, 1, instant_of)
    assert caught.value.code == "CLOCK_BEHIND"
    assert leaked(driver) == []


def test_who_waits_in_vain_for_the_clock_begins_nothing(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("wait", (("Clock", "Passed"), [(NOW, 0)]))
    with pytest.raises(ClockBehind):
        store.write(1, 1, instant_of)
    assert driver.said() == [*BEFORE, "wait", *AFTER]


@pytest.mark.parametrize("granted", [-1, -2, -3, -999])
def test_a_lock_that_is_not_granted_is_told_and_not_released(
    store: Store, driver: ScriptedDriver, granted: int
) -> None:
    driver.answer("lock", None, (("Granted",), [(granted,)]))
    with pytest.raises(DatabaseLocked, match="fleet 2"):
        store.write_all(1, [1, 2], lambda _: None)
    assert driver.said() == [*BEFORE, "lock", *AFTER]


@pytest.mark.parametrize("at", ["set tenant", "lock", "wait", "begin", "move clocks", "commit"])
def test_a_lost_connection_is_told_and_another_one_is_made(
    store: Store, driver: ScriptedDriver, at: str
) -> None:
    driver.answer(at, LOST)
    with pytest.raises(DatabaseUnavailable, match=r"db\.example is gone"):
        store.write(1, 1, instant_of)
    assert driver.calls[-1] == (0, at)
    assert driver.connections[0].closed
    assert store.write(1, 1, instant_of) == micros_of(NOW + STEP)
    assert leaked(driver) == []


@pytest.mark.parametrize("at", ["rollback", "unlock", "clear tenant"])
def test_a_connection_that_does_not_come_clean_is_thrown_away(
    store: Store, driver: ScriptedDriver, at: str
) -> None:
    def fail(write: Write) -> None:
        raise KeyError(write.instant)

    driver.answer(at, failure("42000", 3621))
    with pytest.raises(KeyError):
        store.write(1, 1, fail)
    assert driver.connections[0].closed
    assert store.write(1, 1, instant_of) == micros_of(NOW + STEP)
    assert driver.connections[1].number == 1
    assert leaked(driver) == []


def test_a_lock_that_was_not_released_costs_the_connection_and_not_the_commit(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("unlock", (("Released",), [(-999,)]))
    assert store.write(1, 1, instant_of) == micros_of(NOW + STEP)
    assert driver.connections[0].closed


@pytest.mark.parametrize("error", [failure("42000", 9002), failure("42000", 3906)])
def test_a_commit_that_fails_is_told_once(
    store: Store, driver: ScriptedDriver, error: Exception
) -> None:
    driver.answer("commit", error)
    with pytest.raises(Exception, match=r"db\.example"):
        store.write(1, 1, instant_of)
    assert driver.said() == [*BEFORE, *TRY, "commit", "rollback", *AFTER]


def test_a_closed_store_writes_nothing(driver: ScriptedDriver) -> None:
    store = Store(MssqlProfile(URL, driver), ManualClock())
    store.close()
    with pytest.raises(DatabaseUnavailable):
        store.write(1, 1, instant_of)
    assert driver.calls == []


def test_writers_log_no_noise(
    store: Store, driver: ScriptedDriver, caplog: pytest.LogCaptureFixture
) -> None:
    store.write(1, 1, instant_of)
    assert caplog.records == []
    noted: Any = driver.parameters
    assert all("geheim" not in str(each) for each in noted)

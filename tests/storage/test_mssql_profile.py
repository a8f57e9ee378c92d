"""The profile of SQL Server, driven by a scripted driver: tenants, ids, cascades, migrations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import (
    DatabaseLocked,
    DatabaseUnavailable,
    InstantInFuture,
    NotADatabase,
    NotFound,
    OperationTimedOut,
    RunTooLarge,
    SchemaTooNew,
    SchemaTooOld,
)
from retrograph.rules.plan import plan_hash
from retrograph.rules.validity import Validity
from retrograph.sql.loader import migrations
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.deadline import working_for
from retrograph.storage.mssql.cascade import Written
from retrograph.storage.mssql.migrations import batches
from retrograph.storage.mssql.profile import MssqlProfile
from retrograph.storage.periods import micros_of
from retrograph.storage.records import RunRecord, RunStatus
from retrograph.storage.store import Store
from retrograph.storage.tables import metadata
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.storage.odbc_script import ANSWERS, LOST, NOW, ScriptedDriver, failure

URL = "mssql+pyodbc://writer:geheim@db.example:1444/memory"
APPLIED = (("Number", "Checksum"), [(step.number, step.checksum) for step in migrations("mssql")])
IMPACTS = [(0, 10, 1, 1, 4, None, None, 0), (1, 12, 1, 1, 3, 0, None, 1)]
SEEDS = Seeds(roots={10: Validity.INVALID}, passing=[(1, 2, 3)], touched=[4])


@pytest.fixture
def driver() -> ScriptedDriver:
    return ScriptedDriver()


@pytest.fixture
def profile(driver: ScriptedDriver) -> Iterator[MssqlProfile]:
    made = MssqlProfile(URL, driver)
    yield made
    made.close()


@pytest.fixture
def store(profile: MssqlProfile) -> Store:
    return Store(profile, ManualClock())


def test_a_read_names_its_tenant_and_is_one_transaction(
    store: Store, driver: ScriptedDriver
) -> None:
    assert store.clock(7, 1) == micros_of(NOW)
    assert [name for _, name in driver.calls[:3]] == ["connect", "settle", "snapshot"]
    assert driver.said() == ["set tenant", "begin", "read clocks", "commit", "clear tenant"]
    assert ("set tenant", (7,)) in driver.parameters


def test_a_connection_is_used_again_and_readied_once(store: Store, driver: ScriptedDriver) -> None:
    for tenant in (7, 8):
        store.clock(tenant, 1)
    names = [name for _, name in driver.calls]
    assert names.count("connect") == names.count("snapshot") == 1
    assert [given for name, given in driver.parameters if name == "set tenant"] == [(7,), (8,)]
    assert driver.pooling is False


def test_a_read_that_is_refused_is_rolled_back(store: Store, driver: ScriptedDriver) -> None:
    with pytest.raises(InstantInFuture), store.read(1, 1, 2**62):
        pass
    driver.answer("read clocks", (("ValidFrom", "CreatedAt"), []))
    with pytest.raises(NotFound):
        store.clock(1, 2)
    assert driver.said().count("rollback") == 2
    assert "commit" not in driver.said()


@pytest.mark.parametrize("at", ["connect", "settle", "set tenant", "begin", "read clocks"])
def test_a_server_that_is_gone_is_told_and_asked_again(
    store: Store, driver: ScriptedDriver, at: str
) -> None:
    driver.answer(at, LOST)
    with pytest.raises(DatabaseUnavailable, match="start it"):
        store.clock(1, 1)
    assert all(connection.closed for connection in driver.connections)
    assert store.clock(1, 1) == micros_of(NOW)


def test_a_read_that_nobody_waits_for_begins_nothing(store: Store, driver: ScriptedDriver) -> None:
    with working_for(30):
        store.clock(1, 1)
    assert driver.connections[0].timeout == 30
    driver.forget()
    with working_for(-1), pytest.raises(OperationTimedOut):
        store.clock(1, 1)
    assert driver.said() == ["set tenant", "clear tenant"]
    store.clock(1, 1)
    assert driver.connections[0].timeout == 0


def test_a_connection_that_can_name_no_tenant_is_thrown_away(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("set tenant", failure("42000", 15665))
    with pytest.raises(Exception, match="15665"):
        store.clock(1, 1)
    assert driver.connections[0].closed


def test_a_lock_that_is_waited_for_too_long_costs_no_connection(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("read clocks", failure("HYT00", 1222))
    with pytest.raises(DatabaseLocked):
        store.clock(1, 1)
    assert not driver.connections[0].closed


def test_ids_come_from_sequences(store: Store, driver: ScriptedDriver) -> None:
    def draw(write: Write) -> list[int]:
        profile, connection = write.snapshot.profile, write.snapshot.connection
        return [profile.take_ids(connection, name, 3) for name in ("node", "run")] + [
            profile.take_ids(connection, "edge", 0)
        ]

    assert store.write(1, 1, draw) == [5, 5, 0]
    drawn = [given for name, given in driver.parameters if name == "take ids"]
    assert drawn == [("Memory.NodeIds", 3), ("Memory.RunIds", 3)]


def fell(write: Write) -> tuple[RunRecord, str]:
    verdict = write.cascade(SEEDS)
    run = record_run(write, RunOrder(10, Validity.INVALID, "wrong"), verdict)
    return run, verdict.plan_hash()


def test_a_cascade_is_one_call_and_its_run_is_written_once(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("invalidate", (ANSWERS["invalidate"][0], IMPACTS))
    run, plan = store.write(1, 1, fell)
    assert (run.id, run.status, run.impact_count) == (5, RunStatus.APPLIED, 2)
    assert plan == plan_hash(Written(5, (12, 10), (1, 1), (3, 4)))
    (given,) = (given for name, given in driver.parameters if name == "invalidate")
    assert given == (1, 1, 5, "[[10,4]]", "[[1,2,3]]", "[[4]]", 0, 1_000_000)
    said = driver.said()
    assert said.count("take ids") == 1
    (inserted,) = (name for name in said if name.startswith("insert into memory"))
    assert "memory.invalidationrun " in inserted


def test_events_of_a_write_go_on_behind_those_of_a_cascade(
    store: Store, driver: ScriptedDriver
) -> None:
    driver.answer("invalidate", (ANSWERS["invalidate"][0], IMPACTS))

    def job(write: Write) -> int:
        fell(write)
        return write.next_event

    assert store.write(1, 1, job) == len(IMPACTS)


def test_a_cascade_that_raises_nothing_is_recorded_as_no_change(store: Store) -> None:
    run, plan = store.write(1, 1, fell)
    assert (run.id, run.status) == (5, RunStatus.NO_CHANGE)
    assert plan == plan_hash(Written(5, (), (), ()))


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after rows"])
def test_a_run_that_is_too_large_is_refused_whole(
    store: Store, driver: ScriptedDriver, late: bool
) -> None:
    error = failure("42000", 51001, "RUN_TOO_LARGE")
    if late:
        driver.late["invalidate"] = error
    else:
        driver.answer("invalidate", error)
    with pytest.raises(RunTooLarge):
        store.write(1, 1, fell)
    assert driver.said()[-3:] == ["rollback", "unlock", "clear tenant"]


def test_a_deadlock_in_a_cascade_is_tried_again(store: Store, driver: ScriptedDriver) -> None:
    driver.late["invalidate"] = failure("40001", 1205)
    tries: list[int] = []

    def job(write: Write) -> None:
        tries.append(1)
        if len(tries) == 2:
            driver.late.clear()
        fell(write)

    store.write(1, 1, job)
    assert len(tries) == 2


def test_news_are_told_by_row_tokens(store: Store, driver: ScriptedDriver) -> None:
    told: list[bool] = []
    for last, least in [(7, 8), (7, 8), (9, 8), (9, 8), (9, 10), (9, 10), (11, 12)]:
        driver.answer("last change", (("LastToken", "LeastActive"), [(last, least)]))
        told.append(store.poll())
    assert told == [True, False, True, True, True, False, True]


def test_the_widest_row_fits_into_a_statement(profile: MssqlProfile) -> None:
    names = ("impact", "node", "node_state", "node_content", "edge", "evidence")
    widest = max(len({*metadata.tables[name].c.keys()} - {"valid_from"}) for name in names)
    assert profile.rows_per_insert * widest <= 2_090


def test_a_database_that_is_up_to_date_is_only_looked_at(
    profile: MssqlProfile, driver: ScriptedDriver
) -> None:
    driver.answer("applied", APPLIED)
    assert profile.prepare(migrate=True) == []
    assert driver.said() == ["has ledger", "applied", "options", "clear tenant"]


def test_an_empty_database_gets_its_options_and_migrations(
    profile: MssqlProfile, driver: ScriptedDriver
) -> None:
    nothing = (("HasLedger", "Tables"), [(0, 0)])
    driver.answer("has ledger", nothing, nothing)
    options = (ANSWERS["options"][0], [(False, 0, True, 160)])
    driver.answer("options", options, options)
    assert profile.prepare(migrate=True) == [
        "Switched on row versions for readers (READ_COMMITTED_SNAPSHOT).",
        "Switched on snapshots (ALLOW_SNAPSHOT_ISOLATION).",
        *(f"Applied migration {step.number:03} ({step.name})." for step in migrations("mssql")),
    ]
    said = driver.said("has ledger", "options")
    assert said[:3] == ["lock", "alter database", "alter database"]
    assert said[3:5] == ["begin", "create schema"]
    assert said.count("begin") == said.count("commit") == len(migrations("mssql"))
    sent = sum(len(batches(step.text)) for step in migrations("mssql"))
    assert len(said) == 3 + sent + 3 * len(migrations("mssql")) + 2
    assert said[-4:] == ["record", "commit", "unlock", "clear tenant"]


def test_a_migration_that_fails_leaves_nothing(
    profile: MssqlProfile, driver: ScriptedDriver
) -> None:
    nothing = (("HasLedger", "Tables"), [(0, 0)])
    driver.answer("has ledger", nothing, nothing)
    driver.answer("create schema", failure("42000", 2760))
    with pytest.raises(Exception, match="2760"):
        profile.prepare(migrate=True)
    assert driver.said()[-3:] == ["rollback", "unlock", "clear tenant"]


def test_another_process_that_migrates_is_waited_for(
    profile: MssqlProfile, driver: ScriptedDriver
) -> None:
    driver.answer("lock", (("Granted",), [(-1,)]))
    with pytest.raises(DatabaseLocked, match="is migrating memory"):
        profile.prepare(migrate=True)
    assert "unlock" not in driver.said()


def test_a_schema_that_is_not_up_to_date_is_told(
    profile: MssqlProfile, driver: ScriptedDriver
) -> None:
    with pytest.raises(SchemaTooOld, match="retrograph migrate"):
        profile.prepare(migrate=False)
    driver.answer("applied", APPLIED)
    driver.answer("options", (ANSWERS["options"][0], [(True, 0, True, 160)]))
    with pytest.raises(SchemaTooOld, match="retrograph migrate"):
        profile.prepare(migrate=False)
    driver.answer("applied", (APPLIED[0], [*APPLIED[1], (99, "later")]))
    with pytest.raises(SchemaTooNew):
        profile.prepare(migrate=True)
    driver.answer("has ledger", (("HasLedger", "Tables"), [(0, 3)]))
    with pytest.raises(NotADatabase, match="another program"):
        profile.prepare(migrate=True)

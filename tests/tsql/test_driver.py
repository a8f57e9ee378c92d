"""The stand-in does what it says of itself; each of these is a trap that it is there to show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.instant import format_instant
from tests.endless import ENDLESS
from tests.odbc import pyodbc
from tests.tsql.catalogue import Catalogue
from tests.tsql.sessions import (
    FLEET,
    FLEETS,
    NODE,
    Sessions,
    begin,
    named,
    number,
    refused,
    rows,
)
from tests.tsql.values import as_instant, bound, fetched

CLOCKS = "SELECT f.ValidFrom, f.ValidTo FROM Memory.FleetsHistory AS f WHERE f.TenantId = ?"
THEN = (
    "DECLARE @At DATETIME2(6) = ?;"
    "SELECT f.ValidFrom FROM Memory.Fleets FOR SYSTEM_TIME AS OF @At AS f WHERE f.TenantId = ?"
)
FAR = datetime(9999, 1, 1)  # noqa: DTZ001 (DATETIME2 knows no zone)
SECOND = timedelta(seconds=1)


def now(sessions: Sessions) -> datetime:
    return datetime.fromtimestamp(sessions.database.clock.now() // 1_000_000, UTC).replace(
        tzinfo=None
    )


def test_versions_carry_the_instant_at_which_their_transaction_began(sessions: Sessions) -> None:
    first = now(sessions)
    connection = begin(sessions)
    sessions.clock.advance()
    named(connection, "commit")
    assert named(connection, "wait_for_clock", tenant_id=1, fleet_ids="[1]", steps=1) == [
        (first, 1)
    ]
    named(connection, "begin")
    sessions.clock.advance()
    (moved,) = named(connection, "move_clocks", tenant_id=1, fleet_ids="[1]")
    named(connection, "commit")

    assert (moved.FleetId, moved.Previous, moved.Instant) == (1, first, first + SECOND)
    # The fleet was written twice by its first transaction: that version has no length.
    assert rows(connection, CLOCKS, 1) == [(first, first), (first, first + SECOND)]
    for instant, found in {
        first - SECOND: [],
        first: [(first,)],
        first + SECOND / 2: [(first,)],
        first + SECOND: [(first + SECOND,)],
        FAR - SECOND: [(first + SECOND,)],
    }.items():
        assert rows(connection, THEN, instant, 1) == found


def test_a_transaction_older_than_a_row_cannot_change_it(sessions: Sessions) -> None:
    late, early = sessions.open(1), sessions.open(1)
    named(early, "begin")
    sessions.clock.advance()
    named(late, "create_fleets", tenant_id=1, fleet_ids="[1]")
    error = refused(
        13535, early, "UPDATE Memory.Fleets SET CreatedAt = CreatedAt WHERE TenantId = ?", 1
    )
    assert "transaction time was earlier" in str(error)
    assert len(rows(late, CLOCKS, 1)) == 1


def test_a_wait_lets_time_pass_in_steps_and_is_bounded(sessions: Sessions) -> None:
    named(begin(sessions), "commit")
    sessions.clock.advance(-5_000)
    connection, answer = sessions.open(1), {"tenant_id": 1, "fleet_ids": "[1]"}
    assert named(connection, "wait_for_clock", **answer, steps=3)[0].Passed == 0
    assert named(connection, "wait_for_clock", **answer, steps=3)[0].Passed == 1


def test_stamps_come_in_steps(sessions: Sessions) -> None:
    sessions.database.clock.step = 15_000
    sessions.clock.now = sessions.clock.now // 15_000 * 15_000 + 14_000
    named(begin(sessions), "commit")
    connection = sessions.open(1)
    named(connection, "wait_for_clock", tenant_id=1, fleet_ids="[1]", steps=9)
    named(connection, "begin")
    (moved,) = named(connection, "move_clocks", tenant_id=1, fleet_ids="[1]")
    assert moved.Previous == moved.Instant


def test_who_has_named_no_tenant_sees_nothing_present_or_past(sessions: Sessions) -> None:
    connection = begin(sessions)
    named(connection, "commit")
    sessions.clock.advance()
    named(connection, "move_clocks", tenant_id=1, fleet_ids="[1]")
    before = now(sessions) - SECOND / 2
    for other in (sessions.open(2), sessions.open()):
        for text in (FLEETS, CLOCKS):
            assert rows(other, text, 1) == []
        assert rows(other, THEN, before, 1) == []
        gone = other.execute("DELETE FROM Memory.Fleets WHERE TenantId = ?", 1)
        assert gone.rowcount == 0
    named(connection, "clear_tenant")
    assert rows(connection, FLEETS, 1) == []
    named(connection, "set_tenant", tenant_id=1)
    assert rows(connection, FLEETS, 1) == [(1,)]


@pytest.mark.parametrize("tenant", [2, None])
def test_code_that_forgets_the_tenant_meets_nobody_elses_rows(
    sessions: Sessions, schema: Catalogue, tenant: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = begin(sessions)
    owner.execute(NODE, 1, "a")
    state = "(Id, TenantId, FleetId, Validity, Projected, Pinned) VALUES (1, ?, 1, 1, 1, 0)"
    owner.execute(f"INSERT INTO Memory.Nodes {state}", 1)
    owner.execute("UPDATE Memory.Nodes SET Pinned = 1 WHERE TenantId = ?", 1)
    named(owner, "commit")
    filled = {"Fleets", "FleetsHistory", "NodeIdentities", "Nodes", "NodesHistory"}

    monkeypatch.setattr(sessions.server.recorder, "judging", False)
    other = sessions.open(tenant)
    for name in sorted(schema.filtered):
        count = f"SELECT COUNT(*) FROM Memory.{name} AS t"
        assert rows(owner, count)[0][0] >= (name in filled)
        assert rows(other, count) == [(0,)]
        if name not in schema.histories():
            assert other.execute(f"DELETE FROM Memory.{name}").rowcount == 0
    for text in ("UPDATE Memory.Nodes SET Pinned = 0", "UPDATE Memory.Fleets SET FleetId = 7"):
        assert other.execute(text).rowcount == 0
    for name in sorted(filled):
        assert rows(owner, f"SELECT COUNT(*) FROM Memory.{name} AS t")[0][0] > 0


@pytest.mark.parametrize("tenant", [2, None])
def test_rows_of_another_tenant_cannot_be_written(sessions: Sessions, tenant: int | None) -> None:
    connection = sessions.open(tenant)
    refused(33504, connection, FLEET, 1)
    if tenant is not None:
        connection.execute(FLEET, tenant)
        refused(33504, connection, "UPDATE Memory.Fleets SET TenantId = 1 WHERE TenantId = ?", 2)


def test_a_lock_is_its_sessions_until_released_or_closed(sessions: Sessions) -> None:
    holder, other = sessions.open(), sessions.open()
    lock = {"tenant_id": 1, "fleet_id": 1}
    assert named(holder, "lock_fleet", **lock, timeout_ms=0) == [(0,)]
    assert named(holder, "lock_fleet", **lock, timeout_ms=0) == [(0,)]
    assert named(other, "lock_fleet", **lock, timeout_ms=0) == [(-1,)]
    assert named(other, "lock_fleet", tenant_id=1, fleet_id=2, timeout_ms=0) == [(0,)]
    named(holder, "unlock_fleet", **lock)
    assert named(other, "lock_fleet", **lock, timeout_ms=0) == [(-1,)]
    with pytest.raises(pyodbc.Error) as caught:
        named(other, "unlock_fleet", **lock)
    assert number(caught) == "1223"

    granted: list[Any] = []
    waiter = Thread(
        target=lambda: granted.extend(named(other, "lock_fleet", **lock, timeout_ms=60_000))
    )
    waiter.start()
    holder.close()
    waiter.join()
    assert granted in ([(1,)], [(0,)])
    assert sessions.database.locks.held() == ["Memory.Fleets/1/1", "Memory.Fleets/1/2"]


def test_the_driver_ends_what_takes_longer_than_its_connection_allows(sessions: Sessions) -> None:
    connection = sessions.open()
    before = connection.cursor()
    connection.timeout = 1
    with pytest.raises(pyodbc.OperationalError, match="Query timeout expired") as caught:
        connection.execute(ENDLESS)
    assert caught.value.args[0] == "HYT00"
    assert rows(connection, "SELECT 1 AS one") == [(1,)]
    assert before.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_a_rollback_undoes_all_and_a_call_must_end_as_it_began(sessions: Sessions) -> None:
    connection = begin(sessions)
    assert rows(connection, "SELECT @@TRANCOUNT") == [(1,)]
    named(connection, "rollback")
    assert rows(connection, "SELECT @@TRANCOUNT") == [(0,)]
    assert rows(connection, FLEETS, 1) == []
    refused(3902, connection, "COMMIT TRANSACTION")
    refused(3903, connection, "ROLLBACK TRANSACTION")
    refused(266, connection, "IF ? = 1 BEGIN TRANSACTION", 1)


def test_without_autocommit_a_transaction_begins_by_itself(sessions: Sessions) -> None:
    connection = sessions.open(1, autocommit=False)
    rows(connection, "SELECT @@SPID")
    assert rows(connection, "SELECT @@TRANCOUNT") == [(0,)]
    rows(connection, FLEETS, 1)
    assert rows(connection, "SELECT @@TRANCOUNT") == [(1,)]
    named(connection, "create_fleets", tenant_id=1, fleet_ids="[1]")
    connection.rollback()
    assert rows(connection, FLEETS, 1) == []
    named(connection, "create_fleets", tenant_id=1, fleet_ids="[1]")
    connection.commit()
    assert rows(sessions.open(1), FLEETS, 1) == [(1,)]


def test_a_snapshot_stays_and_read_committed_does_not(sessions: Sessions) -> None:
    writer, reader = sessions.open(1), sessions.open(1)
    for level, seen in {"SNAPSHOT": [], "READ COMMITTED": [(1,)]}.items():
        reader.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        named(reader, "begin")
        before = rows(reader, FLEETS, 1)
        named(writer, "create_fleets", tenant_id=1, fleet_ids="[1]")
        assert rows(reader, FLEETS, 1) == seen
        named(reader, "commit")
        assert before == []
        writer.execute("DELETE FROM Memory.Fleets WHERE TenantId = ?", 1)


def test_a_session_that_waits_for_a_lock_too_long_is_told(sessions: Sessions) -> None:
    begin(sessions)
    other = sessions.open(1)
    other.execute("SET LOCK_TIMEOUT 0")
    with pytest.raises(pyodbc.Error) as caught:
        named(other, "create_fleets", tenant_id=1, fleet_ids="[2]")
    assert number(caught) == "1222"


def test_numbers_of_a_sequence_are_never_given_twice(sessions: Sessions) -> None:
    connection, take = begin(sessions), {"sequence": "Memory.NodeIds"}
    assert named(connection, "take_ids", **take, count=3) == [(1,)]
    named(connection, "rollback")
    assert named(sessions.open(), "take_ids", **take, count=1) == [(4,)]
    with pytest.raises(pyodbc.Error) as caught:
        named(connection, "take_ids", sequence="Memory.Nothing", count=1)
    assert number(caught) == "208"


def test_a_token_is_the_next_one_and_tells_of_what_is_open(sessions: Sessions) -> None:
    asked = "SELECT CAST(@@DBTS AS BIGINT), CAST(MIN_ACTIVE_ROWVERSION() AS BIGINT)"
    other = sessions.open()
    ((last, least),) = rows(other, asked)
    assert least == last + 1
    connection = begin(sessions)
    run = (
        "INSERT INTO Memory.InvalidationRun (Id, TenantId, FleetId, Status, RootId, Effect, Reason,"
        " EffectiveAt, ExecutedAt, ImpactCount) VALUES (?, 1, 1, 1, 1, 4, 'a', '2026', '2026', 0)"
    ).replace("'2026'", "'2026-03-01'")
    ((begun, least),) = rows(other, asked)  # the fleet has tokens, too
    assert least == last + 1 < begun
    for id in (1, 2):
        connection.execute(run, id)
    assert rows(other, asked) == [(begun + 2, last + 1)]
    named(connection, "commit")
    assert rows(other, asked) == [(begun + 2, begun + 3)]


def test_texts_are_equal_but_for_spaces_at_their_ends(sessions: Sessions) -> None:
    connection = begin(sessions)
    for id, key in enumerate(("a", "a ", "A", "ä"), 1):
        connection.execute(NODE, id, key)
    found = "SELECT n.Id FROM Memory.NodeIdentities AS n WHERE n.TenantId = ? AND "
    assert rows(connection, f"{found} n.[Key] = ? ORDER BY n.Id", 1, "a") == [(1,), (2,)]
    exact = f"{found} n.[Key] = ? AND DATALENGTH(n.[Key]) = DATALENGTH(?)"
    assert rows(connection, exact, 1, "a ", "a ") == [(2,)]
    hashed = f"{found} n.KeyHash = CAST(HASHBYTES('SHA2_256', ?) AS BINARY(32))"
    assert rows(connection, hashed, 1, "a ") == [(2,)]
    refused(2627, connection, NODE, 5, "a")
    order = f"{found} n.[Key] < ? ORDER BY n.[Key]"
    assert rows(connection, order, 1, "a\t") == [(3,)]


@given(st.datetimes())
def test_instants_go_in_and_out_exactly(moment: datetime) -> None:
    micros = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001
    assert fetched(bound(moment)) == moment
    assert as_instant(moment.isoformat(sep=" ")) == bound(moment)
    if moment.year < 9999:
        assert as_instant(format_instant(micros).removesuffix("Z")) == bound(moment)
    assert (as_instant("2026-03-01 00:00:00.0000015")) == as_instant("2026-03-01T00:00:00.000002")


def test_a_claim_reads_with_its_locks(sessions: Sessions) -> None:
    locks = "WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK)"
    text = f"SELECT t.Id FROM Memory.Tasks AS t {locks} WHERE t.TenantId = ?"
    assert rows(sessions.open(1), text, 1) == []


def test_the_gate_judges_what_is_sent(sessions: Sessions) -> None:
    text, recorder = "SELECT n.Id FROM Memory.Nodes AS n", sessions.server.recorder
    with pytest.raises(AssertionError, match="tenant predicate"):
        sessions.open().execute(text)
    sessions.open().execute("SELECT ?, ?", 1, "a")
    assert recorder.sent["SELECT ?, ?"] == {("int", "str")}
    assert "tenant predicate" in {finding.rule for finding in recorder.findings}


def test_an_error_behind_rows_is_told_when_they_are_left(sessions: Sessions) -> None:
    cursor = sessions.open().execute("SELECT 1 AS One; THROW 50001, N'too late', 1")
    (row,) = cursor.fetchall()
    assert (row.One, cursor.description[0][0]) == (1, "One")  # type: ignore[index]
    with pytest.raises(pyodbc.ProgrammingError, match="too late"):
        cursor.nextset()
    assert cursor.nextset() is False


def test_counts_are_results_unless_they_are_switched_off(sessions: Sessions) -> None:
    connection = begin(sessions)
    move = "UPDATE Memory.Fleets SET CreatedAt = CreatedAt WHERE TenantId = ?"
    cursor = connection.execute(f"{move}; SELECT @@ROWCOUNT", 1)
    assert (cursor.rowcount, cursor.description) == (1, None)
    with pytest.raises(pyodbc.ProgrammingError, match="No results"):
        cursor.fetchall()
    assert (cursor.nextset(), cursor.fetchval()) == (True, 1)
    assert rows(connection, f"SET NOCOUNT ON; {move}; SELECT @@ROWCOUNT", 1) == [(1,)]


def test_what_a_procedure_refuses_rolls_all_back(sessions: Sessions) -> None:
    connection = begin(sessions)
    with pytest.raises(pyodbc.Error, match="NOT_FOUND") as caught:
        named(
            connection, "invalidate", tenant_id=1, fleet_id=1, run_id=1, roots="[[9, 4]]",
            passing="[]", touched="[]", first_ordinal=0, limit=9, expected_plan=None,
        )  # fmt: skip
    assert number(caught) == "51004"
    assert rows(connection, "SELECT @@TRANCOUNT") == [(0,)]
    assert rows(connection, FLEETS, 1) == []


def test_a_server_that_is_gone_answers_nothing(sessions: Sessions) -> None:
    connection = begin(sessions)
    sessions.server.running = False
    with pytest.raises(pyodbc.OperationalError, match="08S01"):
        connection.execute("SELECT 1")
    with pytest.raises(pyodbc.OperationalError, match="08001"):
        sessions.open()


def test_an_unknown_database_is_told(sessions: Sessions) -> None:
    with pytest.raises(pyodbc.Error) as caught:
        sessions.driver.connect("Server=stand-in;Database=nothing")
    assert number(caught) == "4060"

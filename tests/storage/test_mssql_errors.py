"""What each error of SQL Server or its drivers means to a caller, without a server."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph.rules.errors import (
    AccessDenied,
    ClockBehind,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DriverMissing,
    OperationTimedOut,
    SchemaTooOld,
    StorageError,
)
from retrograph.storage.mssql.errors import is_gone, is_passing, meaning_of, numbers_of
from tests.odbc import pyodbc
from tests.storage.odbc_script import failure

URL = make_url("mssql+pyodbc://reader:geheim@db.example:1444/memory")


def wrapped(state: str, number: int, said: str = "Something (7) went wrong.") -> DBAPIError:
    """An error as SQLAlchemy wraps it."""
    return DBAPIError("SELECT 1", None, failure(state, number, said))


@pytest.mark.parametrize(
    ("state", "number", "kind", "said"),
    [
        ("08S01", 104, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("08001", 0, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("HYT00", 0, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("HY000", 596, DatabaseUnavailable, "db.example is gone or refuses connections"),
        ("42000", 4060, DatabaseUnavailable, "no database memory at db.example"),
        ("28000", 18456, AccessDenied, "refuses the user reader"),
        ("42000", 229, AccessDenied, "reader lacks a privilege on memory"),
        ("42000", 262, AccessDenied, "sql/mssql/grants.sql"),
        ("40001", 1205, DatabaseLocked, "try again"),
        ("HYT00", 1222, DatabaseLocked, "try again"),
        ("42000", 3906, DatabaseReadOnly, "its primary"),
        ("42000", 1105, DatabaseUnavailable, "no room left"),
        ("42000", 9002, DatabaseUnavailable, "no room left"),
        ("42000", 3967, DatabaseUnavailable, "no room left"),
        ("08004", 17809, DatabaseUnavailable, "no connection left"),
        ("42000", 13535, ClockBehind, "clock of the server at db.example"),
        ("42000", 3952, SchemaTooOld, "retrograph migrate"),
        ("IM002", 0, DriverMissing, "'.[mssql]'"),
        ("01000", 0, DriverMissing, "'.[mssql]'"),
    ],
)
def test_a_failure_that_a_caller_can_act_on(
    state: str, number: int, kind: type[StorageError], said: str
) -> None:
    for error in (failure(state, number), wrapped(state, number)):
        meaning = meaning_of(error, URL)
        assert type(meaning) is kind
        assert said in meaning.message
        assert "geheim" not in meaning.message


@pytest.mark.parametrize("order", [(18456, 4060), (4060, 18456)])
def test_a_database_that_is_not_there_is_no_wrong_password(order: tuple[int, int]) -> None:
    first, second = (f"[28000] [Microsoft]Login failed. ({number})" for number in order)
    error = pyodbc.InterfaceError("28000", f"{first} (SQLDriverConnect); {second}")
    assert numbers_of(error) == [*order]
    assert type(meaning_of(error, URL)) is DatabaseUnavailable


def test_a_certificate_that_is_not_trusted_is_told() -> None:
    said = "SSL Provider: certificate verify failed:self-signed certificate"
    meaning = meaning_of(wrapped("08001", -1, said), URL)
    assert meaning is not None
    assert "TrustServerCertificate=yes" in meaning.message


def test_a_statement_that_nobody_waits_for_is_ended_and_its_connection_is_kept() -> None:
    error = wrapped("HYT00", 0, "Query timeout expired")
    assert type(meaning_of(error, URL)) is OperationTimedOut
    assert not is_gone(error)


def test_a_pool_that_is_used_up() -> None:
    assert type(meaning_of(PoolTimeout("QueuePool limit reached"), URL)) is DatabaseLocked


@pytest.mark.parametrize(
    "error",
    [
        wrapped("42000", 102),
        wrapped("42000", 33504),
        ValueError("(18456) (SQLExecDirectW)"),
        ValueError("no state", "(18456) (SQLExecDirectW)"),
        KeyError(1),
    ],
)
def test_a_fault_of_ours_has_no_meaning_to_a_caller(error: Exception) -> None:
    assert meaning_of(error, URL) is None
    assert not is_gone(error)


def test_what_is_worth_another_try_and_what_a_new_connection() -> None:
    errors = [failure("HYT00", number) for number in (1205, 1222, 13535, 596, 0)]
    assert [is_passing(error) for error in errors] == [True, False, True, False, False]
    assert [is_gone(error) for error in errors] == [False, False, False, True, True]
    assert is_passing(ClockBehind("not yet"))

"""How values and statements are spelt for SQL Server; `tests/tsql` judges the spelling."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    bindparam,
    create_engine,
    insert,
    literal,
    select,
    update,
)

from retrograph.rules.instant import EARLIEST, LATEST
from retrograph.storage.as_of import AsOf
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import JsonInstants, id_set, instant_rows
from retrograph.storage.mssql.dialect import URL
from retrograph.storage.periods import bare_place
from retrograph.storage.prepared import INSTANT
from retrograph.storage.same_text import has_prefix, same_text
from retrograph.storage.tables import Moment, Period, evidence, fleet, node, node_state
from tests.odbc import pyodbc

DIALECT = create_engine(URL, module=pyodbc).dialect


def spelt(statement: Any) -> str:
    return " ".join(str(statement.compile(dialect=DIALECT)).split())


@given(st.integers(EARLIEST, LATEST))
@pytest.mark.parametrize("kind", [Moment, Period])
def test_an_instant_comes_back_to_the_microsecond(kind: Any, instant: int) -> None:
    bind = kind.dialect_impl(DIALECT).bind_processor(DIALECT)
    result = kind.dialect_impl(DIALECT).result_processor(DIALECT, None)
    bound = bind(instant)
    assert len(bound) == len("2024-05-01T09:30:00.123456")
    assert result(datetime.fromisoformat(bound)) == instant


@pytest.mark.parametrize("kind", [Moment, Period])
def test_what_no_instant_can_be_is_compared_like_the_nearest_one(kind: Any) -> None:
    bind = kind.dialect_impl(DIALECT).bind_processor(DIALECT)
    assert bind(2**63 - 1) == "9999-12-31T23:59:59.999999"
    assert bind(-(2**63)) == "0001-01-01T00:00:00.000000"
    assert bind(None) is None


def test_a_bare_statement_takes_instants_as_any_other_does() -> None:
    place, convert = bare_place(node.c.created_at.type, DIALECT)
    assert place == "CAST(? AS DATETIME2(6))"
    assert convert is not None
    assert convert(1) == "1970-01-01T00:00:00.000001"
    assert bare_place(node.c.id.type, DIALECT) == ("?", None)


def test_names_are_those_of_the_schema() -> None:
    clock = select(fleet.c.fleet_id, fleet.c.clock, fleet.c.created_at)
    assert (
        spelt(clock)
        == "SELECT Fleets.FleetId, Fleets.ValidFrom, Fleets.CreatedAt FROM Memory.Fleets"
    )
    former = node_state.history.alias("former")
    assert spelt(select(former.c.pin_reason)) == (
        "SELECT Former.PinReason FROM Memory.NodesHistory AS Former"
    )
    key = update(node).where(node.c.id == 1).values(key="a")
    assert spelt(key) == "UPDATE Memory.NodeIdentities SET [Key]=? WHERE NodeIdentities.Id = ?"
    made = insert(node).values(id=1, created_at=1)
    assert spelt(made) == (
        "INSERT INTO Memory.NodeIdentities (Id, CreatedAt) VALUES (?, CAST(? AS DATETIME2(6)))"
    )


def test_the_past_is_asked_for_by_a_variable_and_the_alias_follows() -> None:
    then = AsOf(node_state.current, INSTANT)
    built = select(then.c.id).where(then.c.valid_to > INSTANT).limit(bindparam("rows"))
    assert spelt(built.order_by(then.c.id)) == (
        "DECLARE @Instant1 DATETIME2(6) = CAST(? AS DATETIME2(6)); SELECT NodeStateThen.Id "
        "FROM Memory.Nodes FOR SYSTEM_TIME AS OF @Instant1 AS NodeStateThen "
        "WHERE NodeStateThen.ValidTo > CAST(? AS DATETIME2(6)) ORDER BY NodeStateThen.Id "
        "OFFSET 0 ROWS FETCH FIRST ? ROWS ONLY"
    )


def test_two_instants_have_two_variables_and_one_has_one() -> None:
    one, other = bindparam("one", type_=BigInteger), bindparam("other", type_=BigInteger)
    first, again, second = (AsOf(node_state.current, instant) for instant in (one, one, other))
    text = spelt(select(first.c.id).union_all(select(again.c.id), select(second.c.id)))
    assert text.count("DECLARE") == 2
    assert text.count("AS OF @Instant1") == 2
    assert text.count("AS OF @Instant2") == 1


def test_the_parameters_follow_the_order_of_the_text() -> None:
    then = AsOf(node_state.current, INSTANT)
    compiled = select(then.c.id).where(then.c.id == bindparam("id")).compile(dialect=DIALECT)
    assert compiled.positiontup == ["instant", "id"]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (
            has_key(node.c.key, "a"),
            (
                "(NodeIdentities.KeyHash = CAST(HASHBYTES('SHA2_256', ?) AS BINARY(32)) "
                "AND NodeIdentities.[Key] IS NOT NULL)"
            ),
        ),
        (
            same_text(evidence.current.c.uri, "urn:a"),
            "(Evidence.Uri = ? AND DATALENGTH(Evidence.Uri) = DATALENGTH(?))",
        ),
        (
            has_prefix(node.c.key, bindparam("p"), bindparam("q")),
            (
                "(LEFT(NodeIdentities.[Key], DATALENGTH(?) / 2) = ? AND "
                "DATALENGTH(LEFT(NodeIdentities.[Key], DATALENGTH(?) / 2)) = DATALENGTH(?))"
            ),
        ),
        (
            node.c.id.in_(id_set([1])),
            (
                "NodeIdentities.Id IN (SELECT Anon1.Value FROM "
                "OPENJSON(?) WITH (Value BIGINT '$') AS Anon1)"
            ),
        ),
    ],
)
def test_texts_and_sets_are_compared_in_the_words_of_the_engine(
    condition: ColumnElement[bool], text: str
) -> None:
    assert spelt(condition) == text


def test_texts_are_bound_as_what_loses_no_character() -> None:
    columns = (node.c.key, evidence.current.c.uri)
    bound = [c.type.dialect_impl(DIALECT).get_dbapi_type(pyodbc) for c in columns]
    assert bound == [(pyodbc.SQL_WVARCHAR, 0, 0)] * 2
    plain = literal("a").type.dialect_impl(DIALECT).get_dbapi_type(pyodbc)
    assert plain == (pyodbc.SQL_WVARCHAR, 0, 0)


def test_instants_by_id_travel_as_texts() -> None:
    since = instant_rows()
    assert spelt(select(since.c.id)) == (
        "SELECT Since.Id FROM OPENJSON(?) WITH (Id BIGINT '$[0]', Moment DATETIME2(6) '$[1]', "
        "Period DATETIME2(6) '$[1]') AS Since"
    )
    assert JsonInstants().process_bind_param([(7, 1)], DIALECT) == (
        '[[7,"1970-01-01T00:00:00.000001"]]'
    )

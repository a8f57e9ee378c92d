"""Bad input to queries is refused with a code; faults of ours are masked and logged."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import DatabaseLocked
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Served, listening

NODE = """query ($f: ID! = 1, $by: NodeRef!, $at: DateTime) {
    node(fleetId: $f, by: $by, asOf: $at) { id } }"""


@pytest.mark.parametrize(
    ("variables", "code", "path"),
    [
        ({"f": "9", "by": {"key": "a"}}, "NOT_FOUND", ["fleetId"]),
        ({"f": "", "by": {"key": "a"}}, "BAD_USER_INPUT", ["fleetId"]),
        ({"f": "+1", "by": {"key": "a"}}, "BAD_USER_INPUT", ["fleetId"]),
        ({"f": "١", "by": {"key": "a"}}, "BAD_USER_INPUT", ["fleetId"]),
        ({"f": str(2**63), "by": {"key": "a"}}, "BAD_USER_INPUT", ["fleetId"]),
        ({"by": {"id": "1.0"}}, "BAD_USER_INPUT", ["by", "id"]),
        ({"by": {"key": "\0"}}, "BAD_USER_INPUT", ["by", "key"]),
        ({"by": {}}, "BAD_USER_INPUT", None),
        ({"by": {"id": "1", "key": "a"}}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": "2026-01-01"}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": "2026-01-01T00:00:00"}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": "2026-01-01T00:00:00.1234567Z"}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": "2026-01-01T00:00:00+00:00"}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": 5}, "BAD_USER_INPUT", None),
        ({"by": {"key": "a"}, "at": "9999-01-01T00:00:00Z"}, "INSTANT_IN_FUTURE", ["asOf"]),
    ],
    ids=range(15),
)
def test_bad_arguments_are_refused(
    served: Served, variables: Any, code: str, path: list[str] | None
) -> None:
    answer = served.ask(NODE, **variables)
    assert (answer.code, answer.error["extensions"].get("path")) == (code, path)
    assert "Error" not in answer.error["message"]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ('paths(fleetId: 1, from: {key: "x"}, to: {key: "a"}) { truncated }', "NOT_FOUND"),
        ('neighbourhood(fleetId: 1, roots: [{key: "x"}]) { truncated }', "NOT_FOUND"),
        ("neighbourhood(fleetId: 1, roots: []) { truncated }", "BAD_USER_INPUT"),
        ('edges(fleetId: 1, filter: {source: {key: "x"}}) { asOf }', "NOT_FOUND"),
        ('nodes(fleetId: 1, filter: {ids: ["x"]}) { asOf }', "BAD_USER_INPUT"),
        ('nodes(fleetId: 1, filter: {keyPrefix: "\\u0000"}) { asOf }', "BAD_USER_INPUT"),
        ('previewInvalidation(fleetId: 1, root: {key: "x"}) { planHash }', "NOT_FOUND"),
        (
            'previewInvalidation(fleetId: 1, root: {key: "a"}, effect: REVALIDATED) { planHash }',
            "BAD_USER_INPUT",
        ),
        ('invalidationRun(fleetId: 1, id: "x") { id }', "BAD_USER_INPUT"),
        ('invalidationRuns(fleetId: 1, filter: {root: "x"}) { asOf }', "BAD_USER_INPUT"),
        ('events(fleetId: 1, after: "x") { asOf }', "INVALID_CURSOR"),
        ('changes(fleetId: 1, from: "9999-01-01T00:00:00Z") { asOf }', "INSTANT_IN_FUTURE"),
        (
            'changes(fleetId: 1, from: "2026-03-01T00:00:00Z", to: "2026-02-01T00:00:00Z"){ asOf }',
            "BAD_USER_INPUT",
        ),
        ("nodes(fleetId: 1, first: 99999999999) { asOf }", "GRAPHQL_VALIDATION_FAILED"),
    ],
    ids=range(14),
)
def test_bad_fields_are_refused(served: Served, chain: Memory, field: str, code: str) -> None:
    answer = served.ask("{ " + field + " }")
    assert answer.code == code


def test_a_filter_names_a_bounded_number(served: Served) -> None:
    asked = "query ($f: NodeFilter) { nodes(fleetId: 1, filter: $f) { asOf } }"
    for name in ("ids", "keys"):
        answer = served.ask(asked, f={name: ["1"] * 1001})
        assert (answer.code, answer.error["extensions"]["path"]) == (
            "BAD_USER_INPUT", ["filter", name],
        )  # fmt: skip


def test_one_bad_field_leaves_the_others(served: Served, chain: Memory) -> None:
    answer = served.ask(
        "{ a: node(fleetId: 9, by: {id: 1}) { id } b: node(fleetId: 1, by: {id: 1}) { id } }"
    )
    assert answer.body["data"] == {"a": None, "b": {"id": "1"}}
    assert answer.error["path"] == ["a"]


def test_a_fault_of_ours_is_masked_and_logged(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(scope: Scope, fleet_id: int) -> int:
        raise KeyError("a secret of ours")

    monkeypatch.setattr(Scope, "clock", broken)
    answer = served.ask("{ nodes(fleetId: 1) { asOf } }")
    assert answer.code == "INTERNAL_ERROR"
    assert "secret" not in str(answer.body)
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert answer.error["extensions"]["id"] in record.getMessage()
    assert record.exc_info is not None
    assert "secret" in str(record.exc_info[1])


def test_a_fault_of_storage_is_typed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(scope: Scope, fleet_id: int) -> int:
        raise DatabaseLocked("Try again.")

    monkeypatch.setattr(Scope, "clock", locked)
    assert served.ask("{ nodes(fleetId: 1) { asOf } }").code == "DATABASE_LOCKED"


def test_a_refusal_is_no_error_of_the_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    for query in ("{", "{ nope }", "{ nodes(fleetId: 9) { asOf } }"):
        served.ask(query)
    assert [each for each in caplog.records if each.levelno > 20] == []


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"query": "fragment F on Query { viewer { roles } }"}, "give it a query, a mutation or"),
        ({"query": "", "extensions": {"persistedQuery": None}}, "Give a GraphQL document"),
        ({"query": "query A { viewer { roles } }", "operationName": "B"}, 'operation named "B"'),
    ],
)
def test_where_nothing_is_to_be_executed_every_transport_tells_what_to_give(
    store: Store, asked: dict[str, object], hint: str
) -> None:
    with listening(create_app(store)) as server, server.socket() as socket:
        url = "http://{}:{}/graphql".format(*server.address)
        assert hint in httpx.post(url, json=asked).json()["errors"][0]["message"]
        socket.say({"type": "subscribe", "id": "1", "payload": asked})
        assert hint in socket.hear()["payload"][0]["message"]

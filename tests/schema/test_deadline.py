"""What takes too long is given up: a query whole, a mutation before it begins, never in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from retrograph.app import create_app
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import OperationTimedOut
from retrograph.schema import context
from retrograph.schema.protection import Protection
from retrograph.storage.deadline import is_late, seconds_left, working_for
from retrograph.storage.store import Store
from tests.endless import ENDLESS
from tests.memory import Memory
from tests.schema.serving import PATIENCE, Served, listening, serving

AT_ONCE = 0.25
"""Seconds that a query may take: more than any that isn't stuck, on a machine that is busy."""


@contextmanager
def quick(store: Store, seconds: float = AT_ONCE) -> Iterator[Served]:
    with serving(create_app(store, protection=Protection(seconds=seconds))) as running:
        yield running


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets no field read a clock before the event is set."""
    let_go = threading.Event()

    def clock(scope: Scope, fleet_id: int) -> int:
        let_go.wait(PATIENCE)
        return scope.store.clock(scope.tenant_id, fleet_id)

    monkeypatch.setattr(Scope, "clock", clock)
    yield let_go
    let_go.set()


def test_a_query_has_so_much_time(store: Store, stuck: threading.Event) -> None:
    with quick(store) as served:
        answer = served.ask("{ nodes(fleetId: 1) { asOf } viewer { tenantId } }")
        assert answer.code == "OPERATION_TIMED_OUT"
        assert "data" not in answer.body
        stuck.set()
        assert served.ask("{ viewer { tenantId } }").data


def test_a_query_on_a_socket_has_so_much_time(store: Store, stuck: threading.Event) -> None:
    app = create_app(store, protection=Protection(seconds=AT_ONCE))
    with listening(app) as server, server.socket() as socket:
        socket.subscribe("q", "{ nodes(fleetId: 1) { asOf } }")
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "q")
        assert message["payload"][0]["extensions"]["code"] == "OPERATION_TIMED_OUT"
        stuck.set()
        socket.sync()


def test_a_statement_that_nobody_waits_for_ends(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it not to, the server couldn't stop: it waits for its threads."""
    ended: list[BaseException] = []

    def clock(scope: Scope, fleet_id: int) -> int:
        try:
            with scope.store.read(scope.tenant_id, fleet_id) as snapshot:
                snapshot.connection.execute(text(ENDLESS)).all()
        except BaseException as error:
            ended.append(error)
            raise
        raise AssertionError("it has no end")

    monkeypatch.setattr(Scope, "clock", clock)
    with quick(store) as served:
        assert served.ask("{ nodes(fleetId: 1) { asOf } }").code == "OPERATION_TIMED_OUT"
    (error,) = ended
    assert isinstance(error, OperationTimedOut)


PUT = """mutation {
    a: putNodes(input: {fleetId: 1, nodes: [{key: "a", kind: RULE}]}) { ...told }
    b: putNodes(input: {fleetId: 1, nodes: [{key: "b", kind: RULE}]}) { ...told }
}
fragment told on PutNodesResult {
    ... on NodesPut { nodes { key evidence { uri } } } ... on UserError { code message } }"""


def test_a_mutation_that_has_begun_is_told_to_its_end(
    store: Store, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first field takes all the time: it is told, and the second is not begun."""
    now = [100.0]
    monkeypatch.setattr(context, "monotonic", lambda: now[0])
    write = Store.write

    def slow(*args: Any) -> Any:
        now[0] += 60
        return write(*args)

    monkeypatch.setattr(Store, "write", slow)
    with quick(store, 30) as served:
        told = served.ask(PUT).data
    assert told["a"] == {"nodes": [{"key": "a", "evidence": []}]}
    assert told["b"]["code"] == "OPERATION_TIMED_OUT"
    assert told["b"]["message"].startswith("Nothing of this was done")
    assert Memory(scope).nodes().keys() == {"a"}


def test_time_is_left_only_within_an_operation() -> None:
    assert (seconds_left(), is_late()) == (None, False)
    with working_for(60):
        assert 0 < (seconds_left() or 0) <= 60
        with working_for(-1):
            assert is_late()
        assert not is_late()
    assert seconds_left() is None


def test_without_introspection_nothing_tells_a_name(store: Store) -> None:
    closed = replace(Protection(), introspection=False)
    with serving(create_app(store)) as opened, serving(create_app(store, protection=closed)) as app:
        ask = partial(app.ask)
        for query in (
            "{ __schema { description } }",
            '{ __type(name: "Query") { name } }',
            "{ viewer { tenantId } ...t } fragment t on Query { __schema { description } }",
        ):
            assert opened.ask(query).data
            assert ask(query).code == "INTROSPECTION_DISABLED"
        assert ask("{ __typename viewer { __typename } }").data
        for query in (
            "{ viewerr { x } }",
            "{ viewer { tenantID } }",
            "{ nodes(fleetID: 1) { x } }",
        ):
            assert "Did you mean" in str(opened.ask(query).body)
            assert "Did you mean" not in str(ask(query).body)

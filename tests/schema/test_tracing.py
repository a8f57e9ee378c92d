"""What is traced, and as a part of what; and that nothing which was asked or told leaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from retrograph import tracing
from retrograph.app import create_app
from retrograph.resolvers.relay import Relay
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.sweep import Sweeper
from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.schema.webhook import Webhook
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Listening, Served, listening, serving, sqlite_store
from tests.schema.test_event_stream import streaming
from tests.schema.test_subscription import await_subscribed
from tests.schema.test_webhook import receiving, status
from tests.tracing import Traces, ids, tracing_here

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
NODE = "query One($key: String!) { node(fleetId: 1, by: {key: $key}) { validity } }"
FELL = """mutation Fell { invalidate(input: {fleetId: 1, root: {key: "secret"}, reason: "secret"}) {
    __typename } }"""
EVENTS = 'subscription Told { events(fleetId: 1, after: "0-0") { cursor } }'
SECRET = b"s" * 32


@pytest.fixture
def traces() -> Iterator[Traces]:
    with tracing_here() as found:
        yield found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with sqlite_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def memory(store: Store) -> Memory:
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    memory.plant("secret", "other")
    memory.link("secret REQUIRES other")
    return memory


@pytest.fixture
def served(traces: Traces, store: Store) -> Iterator[Served]:
    with serving(create_app(store)) as found:
        yield found


@pytest.fixture
def server(traces: Traces, store: Store) -> Iterator[Listening]:
    with listening(create_app(store)) as found:
        yield found


def ask(served: Served, query: str, **variables: Any) -> None:
    asked = {"query": query, "variables": variables}
    served.client.post("/graphql", json=asked, headers=TRACEPARENT)


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes)


def test_a_query_is_a_part_of_what_its_client_traces(
    served: Served, memory: Memory, traces: Traces
) -> None:
    ask(served, NODE, key="secret")
    request, operation = traces.one("POST /graphql"), traces.one("query One")
    assert request.kind is SpanKind.SERVER
    assert traces.parent(request) == PARENT
    assert attributes(request)["http.response.status_code"] == 200
    assert traces.parent(operation) == "POST /graphql"
    assert attributes(operation)["graphql.operation.type"] == "query"
    assert attributes(operation)["retrograph.cost"] > 0
    assert {traces.parent(each) for each in traces.named("read")} == {"query One"}
    assert {ids(each)[0] for each in traces.spans} == {TRACE}


def test_a_write_tells_of_its_cascades(served: Served, memory: Memory, traces: Traces) -> None:
    ask(served, FELL)
    cascade = traces.one("cascade")
    assert traces.parent(cascade) == "write"
    assert traces.parent(traces.one("write")) == "mutation Fell"
    assert attributes(cascade) == {"retrograph.impacts": 2}


def test_nothing_that_was_asked_or_told_is_traced(
    served: Served, memory: Memory, traces: Traces
) -> None:
    ask(served, NODE, key="secret")
    ask(served, FELL)
    served.client.get(
        "/graphql", params={"query": '{ node(fleetId: 1, by: {key: "secret"}) { x } }'}
    )
    assert "secret" not in " ".join(each.to_json() for each in traces.spans)


@pytest.mark.parametrize(
    ("query", "name", "code"),
    [
        ("{ nothing }", "GraphQL operation", "GRAPHQL_VALIDATION_FAILED"),
        ("query Far { node(fleetId: 99, by: {id: 1}) { id } }", "query Far", "NOT_FOUND"),
    ],
)
def test_what_fails_is_told_by_its_code(
    served: Served, traces: Traces, query: str, name: str, code: str
) -> None:
    ask(served, query)
    operation = traces.one(name)
    assert operation.status.status_code is StatusCode.ERROR
    assert attributes(operation)["error.type"] == code
    assert operation.events == ()


def test_monitors_are_not_traced(served: Served, traces: Traces) -> None:
    for path in ("/health/live", "/health/ready", "/metrics"):
        served.client.get(path)
    assert traces.spans == ()


def test_a_subscription_is_traced_until_it_has_begun(
    server: Listening, memory: Memory, traces: Traces
) -> None:
    memory.fell("other")
    with streaming(server, EVENTS, headers=TRACEPARENT) as stream:
        stream.next()
        assert traces.parent(traces.one("POST /graphql")) == PARENT
        assert traces.parent(traces.one("subscription Told")) == "POST /graphql"
        before = len(traces.spans)
        memory.fell("secret")
        stream.next()
        assert len(traces.spans) == before


def test_over_a_socket_each_operation_is_a_part_of_what_opened_it(
    server: Listening, memory: Memory, traces: Traces
) -> None:
    with server.socket(additional_headers=TRACEPARENT) as socket:
        socket.subscribe("q", NODE, key="secret")
        assert [socket.hear()["type"] for _ in range(2)] == ["next", "complete"]
        socket.subscribe("s", "subscription Told { events(fleetId: 1) { cursor } }")
        await_subscribed(socket)
    assert {traces.parent(traces.one(each)) for each in ("query One", "subscription Told")} == {
        PARENT
    }
    assert traces.named("POST /graphql") == []


def test_work_in_another_thread_is_a_part_of_what_asked_for_it(traces: Traces) -> None:
    """As a write is that shares a transaction."""

    def work() -> None:
        with tracing.part("work"):
            pass

    with tracing.span("mine"):
        thread = Thread(target=tracing.carried(work))
        thread.start()
        thread.join()
        Thread(target=work).start()
    assert traces.parent(traces.one("work")) == "mine"


def test_a_webhook_is_told_what_it_is_a_part_of(memory: Memory, traces: Traces) -> None:
    memory.fell("other")
    with receiving(status(204)) as (url, seen):
        Relay(memory.store, "webhook:r", Webhook(url, SECRET)).step()
    post, batch = traces.one("POST"), traces.one("relay batch")
    assert traces.parent(post) == "relay batch"
    assert attributes(batch) == {"retrograph.relay": "webhook:r", "retrograph.events": 1}
    assert attributes(post)["http.response.status_code"] == 204
    assert tuple(seen[0][1]["traceparent"].split("-")[1:3]) == ids(post)
    assert {traces.parent(each) for each in traces.named("write")} == {"relay batch"}


def test_a_delivery_that_fails_is_told(memory: Memory, traces: Traces) -> None:
    memory.fell("other")
    with receiving(status(503)) as (url, _), pytest.raises(DeliveryFailed):
        Relay(memory.store, "webhook:r", Webhook(url, SECRET)).step()
    for each in (traces.one("POST"), traces.one("relay batch")):
        assert attributes(each)["error.type"] == "DELIVERY_FAILED"


def test_a_sweep_is_told(memory: Memory, traces: Traces) -> None:
    first, second = Sweeper(memory.store), Sweeper(memory.store)
    first.step()
    assert second.step() is None
    assert attributes(traces.one("sweep"))["retrograph.expired"] == 0
    assert {traces.parent(each) for each in traces.named("read")} == {"sweep"}


def test_without_tracing_a_webhook_is_told_nothing(memory: Memory) -> None:
    memory.fell("other")
    with receiving(status(204)) as (url, seen):
        Relay(memory.store, "webhook:r", Webhook(url, SECRET)).step()
    assert "traceparent" not in seen[0][1]

"""graphql-sse in distinct connections mode: one request, one operation, its results as events."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Send
from strawberry.types import ExecutionResult

from retrograph.app import create_app
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.scope import Role
from retrograph.rules.errors import Unauthenticated
from retrograph.schema.bell import Bell
from retrograph.schema.event_stream import EventStream
from retrograph.schema.identity import Identity
from retrograph.schema.stream_limits import StreamLimits
from retrograph.storage.records import NodeKind
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import PATIENCE, Listening, listening

EVENTS = "subscription ($after: String) { events(fleetId: 1, after: $after) { cursor } }"
VIEWER = "{ viewer { tenantId } }"
STREAM = {"accept": "text/event-stream"}


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what streams do."""
    return str(tmp_path / "memory.db")


class Stream:
    """The events of a response, read one after another."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments = 0
        self.lines = response.iter_lines()

    def event(self) -> tuple[str, Any]:
        """The name of the next event, and its data."""
        found: dict[str, str] = {}
        for line in self.lines:
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(":")
                found[name] = value.strip()
            elif found:
                return found["event"], json.loads(found["data"]) if found["data"] else None
        return "", None

    def next(self) -> Any:
        name, data = self.event()
        assert name == "next"
        return data

    def cursor(self) -> str:
        cursor: str = self.next()["data"]["events"]["cursor"]
        return cursor

    def ends(self) -> None:
        assert self.event() == ("complete", None)
        assert self.event() == ("", None)


@contextmanager
def streaming(
    server: Listening, query: str, *, method: str = "POST", headers: Any = None, **variables: Any
) -> Iterator[Stream]:
    asked: dict[str, Any] = {"query": query, "variables": variables}
    sent: Any = {"json": asked}
    if method == "GET":
        sent = {"params": {"query": query, "variables": json.dumps(variables)}}
    url, headers = f"http://localhost:{server.address[1]}/graphql", {**STREAM, **(headers or {})}
    with (
        httpx.Client(timeout=PATIENCE) as client,
        client.stream(method, url, headers=headers, **sent) as response,
    ):
        yield Stream(response)


def outbox(memory: Memory) -> list[str]:
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def code(data: Any) -> str:
    (error,) = data["errors"]
    return str(error["extensions"]["code"])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_query_is_one_event_and_the_end(server: Listening, method: str) -> None:
    with streaming(server, VIEWER, method=method) as stream:
        assert stream.response.status_code == 200
        headers = stream.response.headers
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "no-cache" in headers["cache-control"]
        assert headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in headers
        assert stream.next()["data"] == {"viewer": {"tenantId": "1"}}
        stream.ends()


def test_a_mutation_takes_post(server: Listening) -> None:
    put = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"
    with streaming(server, put) as stream:
        assert stream.next()["data"] == {"putNodes": {"__typename": "NodesPut"}}
        stream.ends()
    with streaming(server, put, method="GET") as stream:
        assert code(stream.next()) == "METHOD_NOT_ALLOWED"
        stream.ends()
    assert len(server.ask("{ nodes(fleetId: 1) { edges { cursor } } }").data["nodes"]["edges"]) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_subscription_scans_follows_and_resumes(
    server: Listening, chain: Memory, method: str
) -> None:
    chain.fell("c")
    with streaming(server, EVENTS, method=method, after="0-0") as stream:
        seen = [stream.cursor() for _ in outbox(chain)]
        chain.fell("b")
        seen.append(stream.cursor())
    chain.fell("a")
    with streaming(server, EVENTS, method=method, after=seen[-1]) as stream:
        seen += [stream.cursor() for _ in range(len(outbox(chain)) - len(seen))]
    assert seen == outbox(chain)


@pytest.mark.parametrize(
    ("query", "variables", "expected"),
    [
        ("{", {}, "GRAPHQL_PARSE_FAILED"),
        ("{ nope }", {}, "GRAPHQL_VALIDATION_FAILED"),
        ("{ a " * 2000, {}, "OPERATION_TOO_COMPLEX"),
        ("query A { __typename } query B { __typename }", {}, "BAD_USER_INPUT"),
        ("fragment F on Query { __typename }", {}, "BAD_USER_INPUT"),
        (EVENTS, {"after": 5}, "BAD_USER_INPUT"),
        (EVENTS, {"after": "garbage"}, "INVALID_CURSOR"),
        (EVENTS.replace("fleetId: 1", "fleetId: 9"), {}, "NOT_FOUND"),
    ],
    ids=range(8),
)
def test_what_is_wrong_with_an_operation_is_its_event(
    server: Listening, query: str, variables: Any, expected: str
) -> None:
    with streaming(server, query, **variables) as stream:
        data = stream.next()
        assert code(data) == expected
        assert data.get("data") is None
        stream.ends()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"{bad", "headers": {"content-type": "application/json"}}, 400),
        ({"json": [VIEWER]}, 400),
        ({"json": {"query": 5}}, 400),
        ({"data": {"query": VIEWER}}, 415),
    ],
    ids=range(4),
)
def test_what_is_no_request_is_refused_in_json(server: Listening, sent: Any, status: int) -> None:
    headers = {**STREAM, **sent.pop("headers", {})}
    response = server.client.post("/graphql", headers=headers, **sent)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json()["errors"]


@pytest.mark.parametrize(
    ("accept", "query", "subscription"),
    [
        ("text/event-stream", True, True),
        ("text/*", True, True),
        ("text/event-stream, application/json;q=0.5", True, True),
        ("text/event-stream, */*", True, True),
        ("application/json, text/event-stream", False, True),
        (
            "application/graphql-response+json, application/json, text/event-stream;q=0.1",
            False,
            True,
        ),
        ("*/*", False, False),
        ("application/json, text/event-stream;q=0", False, False),
    ],
)
def test_a_stream_is_for_who_accepts_it(
    server: Listening, accept: str, query: bool, subscription: bool
) -> None:
    wrong = EVENTS.replace("fleetId: 1", "fleetId: 9")
    for asked, expected in ((VIEWER, query), (wrong, subscription)):
        response = server.client.post("/graphql", json={"query": asked}, headers={"accept": accept})
        content_type = response.headers["content-type"]
        assert content_type.startswith("text/event-stream") == expected
        if not expected and asked is wrong:
            assert response.status_code == 400


def test_head_is_answered_without_events(server: Listening) -> None:
    response = server.client.request("HEAD", "/graphql", params={"query": EVENTS}, headers=STREAM)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.content == b""


def test_comments_keep_a_stream_alive(store: Store) -> None:
    limits = StreamLimits(keep_alive=0.01)
    with (
        listening(create_app(store, stream_limits=limits)) as server,
        streaming(server, EVENTS) as stream,
    ):
        lines = stream.lines
        assert [next(lines) for _ in range(10)] == [":", ""] * 5


def test_a_server_that_stops_completes_streams(store: Store) -> None:
    with listening(create_app(store)) as server:
        open_stream = streaming(server, EVENTS)
        stream = open_stream.__enter__()
        assert stream.response.status_code == 200
    stream.ends()
    open_stream.__exit__(None, None, None)


@pytest.fixture
def served_to_the_end(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Is set when a stream serves no more."""
    ended, serve = Event(), EventStream._serve

    async def served(self: EventStream, receive: Receive, send: Send) -> None:
        try:
            await serve(self, receive, send)
        finally:
            ended.set()

    monkeypatch.setattr(EventStream, "_serve", served)
    return ended


def test_a_client_that_leaves_ends_the_work(
    store: Store, served_to_the_end: Event, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(store)
    with listening(app) as server:
        with streaming(server, EVENTS) as stream:
            next(stream.lines)
            assert not served_to_the_end.is_set()
        assert served_to_the_end.wait(PATIENCE)
        assert not app.state.bell.heard
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_nothing_piles_up_for_a_client_that_reads_nothing(
    store: Store, memory: Memory, served_to_the_end: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, sent = 200, list[bytes]()
    payload = {"x": "x" * 60_000}
    memory.put(*(NodeInput(f"n{i}", kind=NodeKind.RULE, payload=payload) for i in range(count)))
    memory.link(*(f"n0 REQUIRES n{i}" for i in range(1, count)))
    memory.fell("n0")
    write = EventStream._write

    async def written(self: EventStream, send: Send, chunk: bytes, *, more: bool = True) -> None:
        await write(self, send, chunk, more=more)
        sent.append(chunk)

    monkeypatch.setattr(EventStream, "_write", written)
    query = EVENTS.replace("cursor", "cursor node { payload }")
    limits = StreamLimits(reader=0.5)
    with listening(create_app(store, stream_limits=limits)) as server, socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(server.address)
        body = json.dumps({"query": query, "variables": {"after": "0-0"}})
        peer.sendall(
            "POST /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert served_to_the_end.wait(PATIENCE)
        assert server.ask(VIEWER).data
    assert 0 < len(sent) < count


def test_a_stream_by_hand(server: Listening, chain: Memory) -> None:
    """As a browser's EventSource or curl would see it."""
    run = chain.fell("d")
    with socket.create_connection(server.address, PATIENCE) as peer:
        query = 'subscription{events(fleetId:1,after:"0-0"){cursor}}'
        peer.sendall(
            f"GET /graphql?query={query.replace('{', '%7B').replace('}', '%7D')} HTTP/1.1\r\n"
            "Host: localhost\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n".encode()
        )
        heard = b""
        while b"}}\n\n" not in heard:
            heard += peer.recv(4096)
    head, _, body = heard.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'event: next\ndata: {"data":{"events":{"cursor":"' in body
    assert f"{run.as_of}-0".encode() in body


def test_streams_need_proof_and_end_with_it(store: Store, clock: ManualClock) -> None:
    async def identify(token: str | None) -> Identity:
        if token is None:
            raise Unauthenticated("Send a token.")
        return Identity(1, None, frozenset(Role), expires_at=clock.now + 1)

    with listening(create_app(store, identify=identify)) as server:
        with streaming(server, EVENTS) as stream:
            assert stream.response.status_code == 401
            assert stream.response.headers["content-type"] == "application/json; charset=utf-8"
            assert stream.response.headers["www-authenticate"].startswith("Bearer")
        with streaming(server, EVENTS, headers={"authorization": "Bearer x"}) as stream:
            assert next(stream.lines) == ":"
            clock.advance()
            assert code(stream.next()) == "UNAUTHENTICATED"
            stream.ends()


async def answered(stream: EventStream, send: Send) -> None:
    """Calls a response as a server does, for a client that stays."""

    async def stay() -> Any:
        await asyncio.Event().wait()

    await stream({"type": "http", "method": "GET"}, stay, send)


def stream_of(results: Any, bell: Bell) -> EventStream:
    return EventStream(results, bell, StreamLimits(reader=0.01))


def test_a_client_that_reads_nothing_is_no_fault(store: Store) -> None:
    async def serve() -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        async def results() -> Any:
            yield ExecutionResult(data={}, errors=None)

        bell = Bell(store.listen)
        await answered(stream_of(results(), bell), send)
        bell.close()

    asyncio.run(serve())


def test_a_fault_of_ours_is_not_hidden(store: Store) -> None:
    """The server logs it and cuts the stream off, so that nobody takes it for complete."""
    sent = b""

    async def serve() -> None:
        async def send(message: Message) -> None:
            nonlocal sent
            sent += message.get("body", b"")

        async def results() -> Any:
            yield ExecutionResult(data={}, errors=None)
            raise KeyError("ours")

        bell = Bell(store.listen)
        with pytest.raises(KeyError):
            await answered(stream_of(results(), bell), send)
        bell.close()

    asyncio.run(serve())
    assert b"event: next" in sent
    assert b"event: complete" not in sent

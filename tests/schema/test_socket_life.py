"""A socket from its first message to its end: who asks, how long it waits, how much it carries."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.websockets import WebSocket
from strawberry.http.exceptions import WebSocketDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from retrograph.app import create_app
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.updates import list_matching_events
from retrograph.rules.errors import DatabaseUnavailable, Unauthenticated
from retrograph.schema import batch, sources
from retrograph.schema.bell import Bell
from retrograph.schema.context import EXPIRED
from retrograph.schema.identity import Identity
from retrograph.schema.socket_adapter import SocketAdapter
from retrograph.schema.stream_limits import StreamLimits
from retrograph.storage.records import NodeKind
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.raw_socket import CLOSE, PING, PONG, Raw
from tests.schema.serving import PATIENCE, Listening, listening

EVENTS = "subscription ($after: String) { events(fleetId: 1, after: $after) { cursor } }"
VIEWER = "{ viewer { tenantId } }"
SECOND = 1_000_000


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what sockets do."""
    return str(tmp_path / "memory.db")


@contextmanager
def limited(store: Store, **limits: Any) -> Iterator[Listening]:
    """A server with limits of its own."""
    bounds = StreamLimits(**limits)
    with listening(create_app(store, stream_limits=bounds), bounds) as server:
        yield server


@contextmanager
def proving(store: Store, clock: ManualClock) -> Iterator[Listening]:
    """A server that takes the token `good`, which lasts for a second, and explains every other."""

    async def identify(token: str | None) -> Identity:
        if token != "good":
            raise Unauthenticated(f"No: {token}" + "!" * 200)
        return Identity(1, None, frozenset(Role), expires_at=clock.now + SECOND)

    with listening(create_app(store, identify=identify)) as server:
        yield server


def first(payload: Any = None) -> dict[str, Any]:
    return {"type": "connection_init", "payload": payload}


@pytest.mark.parametrize(
    ("payload", "header"),
    [
        ({"Authorization": "Bearer good"}, None),
        ({"authorization": "bearer good"}, None),
        ({}, "Bearer good"),
        (None, "Bearer good"),
        ({"authorization": "Bearer good"}, "Bearer bad"),
    ],
)
def test_proof_comes_in_the_first_message_or_in_headers(
    store: Store, clock: ManualClock, payload: Any, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header}
    with (
        proving(store, clock) as server,
        server.socket(begun=False, additional_headers=headers) as socket,
    ):
        socket.say(first(payload))
        assert socket.hear() == {"type": "connection_ack"}
        socket.subscribe("1", VIEWER)
        assert socket.next("1")["data"] == {"viewer": {"tenantId": "1"}}


@pytest.mark.parametrize(
    ("payload", "header", "reason"),
    [
        (None, None, "No: None!"),
        ({"Authorization": "Bearer bad"}, None, "No: bad!"),
        ({"Authorization": "Bearer bad"}, "Bearer good", "No: bad!"),
        ({}, "Bearer bad", "No: bad!"),
        ({"Authorization": 5}, "Bearer good", "Send `Authorization: Bearer`"),
        ({"Authorization": "good"}, None, "Send `Authorization: Bearer`"),
    ],
)
def test_without_proof_nothing_is_served(
    store: Store, clock: ManualClock, payload: Any, header: str | None, reason: str
) -> None:
    headers = {} if header is None else {"Authorization": header}
    with (
        proving(store, clock) as server,
        server.socket(begun=False, additional_headers=headers) as socket,
    ):
        socket.say(first(payload))
        closed = socket.closed()
        assert closed.code == 4403
        assert closed.reason.startswith(reason)


def test_proof_that_expires_ends_operations_and_the_socket(
    store: Store, clock: ManualClock, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing else wakes them."""
    monkeypatch.setattr(Store, "poll", lambda _: False)
    with proving(store, clock) as server, server.socket(begun=False) as socket:
        socket.say(first({"Authorization": "Bearer good"}))
        socket.hear()
        memory.plant("a")
        memory.fell("a")
        for id in "12":
            socket.subscribe(id, EVENTS, after="0-0")
            socket.next(id)
        clock.advance(SECOND)
        ends = [socket.hear() for _ in "12"]
        assert {(each["type"], each["id"]) for each in ends} == {("error", "1"), ("error", "2")}
        assert {each["payload"][0]["extensions"]["code"] for each in ends} == {"UNAUTHENTICATED"}
        closed = socket.closed()
        assert (closed.code, closed.reason) == (4403, EXPIRED)


@pytest.mark.parametrize("inside", ["node { key }", "node { task { id } }"], ids=["batch", "items"])
def test_no_event_is_told_after_proof_has_expired(
    store: Store,
    clock: ManualClock,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    inside: str,
) -> None:
    """Not even one of a page that was read before, whether it is executed as a whole or not."""
    monkeypatch.setattr("retrograph.app.POLL_SECONDS", 100 * PATIENCE)
    monkeypatch.setattr(batch, "BATCH_BYTES", 1)
    memory.plant("a", "b")
    memory.fell("a")
    memory.fell("b")
    take, settled = batch.Batch.take, sources.Source._settled

    async def take_and_expire(self: Any) -> Any:
        taken = await take(self)
        clock.advance(SECOND if taken else 0)
        return taken

    def settle_and_expire(*args: Any) -> Any:
        found = settled(*args)
        clock.advance(SECOND)
        return found

    monkeypatch.setattr(batch.Batch, "take", take_and_expire)
    monkeypatch.setattr(sources.Source, "_settled", settle_and_expire)
    query = f'subscription {{ events(fleetId: 1, after: "0-0") {{ cursor {inside} }} }}'
    with proving(store, clock) as server, server.socket(begun=False) as socket:
        socket.say(first({"Authorization": "Bearer good"}))
        socket.hear()
        socket.subscribe("1", query)
        socket.next("1")
        message = socket.hear()
        assert message["type"] == "error"
        assert message["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        socket.subscribe("2", VIEWER)
        assert socket.closed().code == 4403


def test_a_silent_handshake_is_ended(store: Store) -> None:
    with limited(store, handshake=0.01) as server:
        with server.socket(begun=False) as socket:
            assert socket.closed().code == 4408
        with server.socket(begun=False) as socket:
            socket.say({"type": "ping"})
            assert socket.closed().code == 4408


def test_a_peer_that_answers_no_ping_is_ended(store: Store) -> None:
    with limited(store, keep_alive=0.05) as server, Raw(server) as peer:
        for _ in range(3):
            opcode, payload = peer.frame()
            assert opcode == PING
            peer.say(PONG, payload)
        assert peer.frame()[0] == PING
        opcode, payload = peer.frame()
        assert (opcode, struct.unpack("!H", payload[:2])) == (CLOSE, (1011,))
        assert peer.received(1) == b""


def test_a_socket_runs_so_many_operations_at_once(store: Store) -> None:
    with limited(store, operations=2) as server, server.socket() as socket:
        for id in "ab":
            socket.subscribe(id, EVENTS)
        socket.subscribe("c", VIEWER)
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "c")
        assert message["payload"][0]["extensions"]["code"] == "TOO_MANY_OPERATIONS"
        socket.say({"type": "complete", "id": "a"})
        while message["type"] == "error":
            socket.subscribe("c", VIEWER)
            message = socket.hear()
        assert (message["type"], message["id"]) == ("next", "c")
        assert socket.hear() == {"type": "complete", "id": "c"}
        socket.subscribe("b", EVENTS)
        assert socket.closed().code == 4409


def test_an_operation_counts_until_it_has_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client may want no answer any more; its work is going on."""
    go_on, clock = Event(), Scope.clock

    def slow(self: Scope, fleet_id: int) -> int:
        assert go_on.wait(PATIENCE)
        return clock(self, fleet_id)

    monkeypatch.setattr(Scope, "clock", slow)
    with limited(store, operations=1) as server, server.socket() as socket:
        socket.subscribe("a", "{ nodes(fleetId: 1) { asOf } }")
        socket.say({"type": "complete", "id": "a"})
        socket.subscribe("a", VIEWER)
        assert socket.hear()["type"] == "error"
        go_on.set()


def test_a_stream_that_fails_ends_with_an_error(
    store: Store, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A completion would say that there is nothing more to come."""
    read = list_matching_events

    def failing(*args: Any) -> Any:
        if args[4] == (0, 0):
            return read(*args)
        raise DatabaseUnavailable("Start the database.")

    monkeypatch.setattr(sources, "list_matching_events", failing)
    memory.plant("a")
    memory.fell("a")
    with limited(store) as server, server.socket() as socket:
        socket.subscribe("1", EVENTS, after="0-0")
        socket.next("1")
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "1")
        assert message["payload"][0]["extensions"]["code"] == "DATABASE_UNAVAILABLE"
        socket.sync()


def test_a_server_that_stops_completes_subscriptions_and_says_goodbye(store: Store) -> None:
    with ExitStack() as clients:
        with limited(store) as server:
            socket, silent = (clients.enter_context(server.socket(begun=b)) for b in (True, False))
            for id in "ab":
                socket.subscribe(id, EVENTS)
            socket.sync()
            silent.sync()
        ends = [socket.hear() for _ in "ab"]
        assert sorted(each["id"] for each in ends) == ["a", "b"]
        assert {each["type"] for each in ends} == {"complete"}
        assert socket.closed().code == silent.closed().code == 1001


def test_a_server_that_stops_lets_operations_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, clock, close = Event(), Event(), Scope.clock, Bell.close

    def slow(self: Scope, fleet_id: int) -> int:
        began.set()
        assert go_on.wait(PATIENCE)
        return clock(self, fleet_id)

    def closing(self: Bell) -> None:
        close(self)
        go_on.set()

    monkeypatch.setattr(Scope, "clock", slow)
    monkeypatch.setattr(Bell, "close", closing)
    with ExitStack() as clients:
        with limited(store, goodbye=PATIENCE) as server:
            socket = clients.enter_context(server.socket())
            socket.subscribe("a", "{ nodes(fleetId: 1) { asOf } }")
            assert began.wait(PATIENCE)
        assert socket.next("a")["data"]
        assert socket.hear() == {"type": "complete", "id": "a"}
        assert socket.closed().code == 1001


def test_nothing_piles_up_for_a_peer_that_reads_nothing(
    store: Store, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its subscription rests in the midst of its events, and is given up in the end."""
    count, sent, given_up = 200, list[Any](), Event()
    payload = {"x": "x" * 60_000}
    memory.put(*(NodeInput(f"n{i}", kind=NodeKind.RULE, payload=payload) for i in range(count)))
    memory.link(*(f"n0 REQUIRES n{i}" for i in range(1, count)))
    memory.fell("n0")
    send = SocketAdapter.send_json

    async def spied(self: SocketAdapter, message: Any) -> None:
        try:
            await send(self, message)
        except WebSocketDisconnected:
            given_up.set()
            raise
        sent.append(message)

    def lost(self: WebSocketsSansIOProtocol, error: Exception | None) -> None:
        lose(self, error)
        dropped.set()

    lose, dropped = WebSocketsSansIOProtocol.connection_lost, Event()
    monkeypatch.setattr(WebSocketsSansIOProtocol, "connection_lost", lost)
    monkeypatch.setattr(SocketAdapter, "send_json", spied)
    query = EVENTS.replace("cursor", "cursor node { payload }")
    with limited(store, reader=0.5) as server, Raw(server) as peer:
        peer.say_json({"type": "connection_init"})
        subscribe = {"query": query, "variables": {"after": "0-0"}}
        peer.say_json({"type": "subscribe", "id": "1", "payload": subscribe})
        assert given_up.wait(PATIENCE)
        assert dropped.wait(PATIENCE)
        with server.socket() as other:
            other.sync()
    assert 0 < len(sent) < count


def test_a_socket_that_is_closed_takes_nothing_more() -> None:
    """Operations may still be about to speak, and several may find a reason to close it."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def speak() -> None:
        socket = WebSocket({"type": "websocket"}, receive, send)
        await socket.accept()
        view = SimpleNamespace(limits=StreamLimits(), encode_json=json.dumps)
        adapter = SocketAdapter(view, socket, socket)
        await adapter.send_json({})
        for _ in range(2):
            await adapter.close(4400, "no")
        with pytest.raises(WebSocketDisconnected):
            await adapter.send_json({})

    asyncio.run(speak())
    assert sent == ["websocket.accept", "websocket.send", "websocket.close"]

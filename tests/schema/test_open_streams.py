"""How many subscriptions and sockets one caller may have open, by whatever transport."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from retrograph.app import create_app
from retrograph.resolvers.scope import Role
from retrograph.rules.stream_errors import TooManyStreams
from retrograph.schema.identity import Identity
from retrograph.schema.open_streams import OpenStreams
from retrograph.schema.stream_limits import StreamLimits
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Listening, Socket, listening
from tests.schema.test_event_stream import EVENTS, VIEWER, Stream, code, streaming

MOST = 2


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what streams do."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def app(store: Store) -> Starlette:
    """It takes `tenant subject` for a token, with or without a subject."""

    async def identify(token: str | None) -> Identity:
        tenant, _, subject = (token or "1").partition(" ")
        return Identity(int(tenant), None, frozenset(Role), subject=subject or None)

    store.write_all(2, [1], lambda _: None)
    return create_app(store, identify=identify, stream_limits=StreamLimits(streams=MOST))


@pytest.fixture
def server(app: Starlette) -> Iterator[Listening]:
    with listening(app) as running:
        yield running


def proof(who: str) -> dict[str, str]:
    return {"authorization": f"Bearer {who}"}


@contextmanager
def socket_of(server: Listening, who: str) -> Iterator[Socket]:
    with server.socket(begun=False) as socket:
        socket.say({"type": "connection_init", "payload": proof(who)})
        assert socket.hear() == {"type": "connection_ack"}
        yield socket


def subscribed(socket: Socket, id: str) -> Any:
    """What a subscription to what happened already is told first."""
    socket.subscribe(id, EVENTS, after="0-0")
    return socket.hear()


def refused(message: Any) -> bool:
    if message["type"] == "next":
        return False
    (error,) = message["payload"]
    assert error["extensions"]["code"] == "TOO_MANY_STREAMS"
    assert f"{MOST} subscriptions" in error["message"]
    return True


def test_sockets_and_event_streams_count_together(server: Listening, memory: Memory) -> None:
    memory.plant("a")
    memory.fell("a")
    with ExitStack() as open_:
        socket = open_.enter_context(socket_of(server, "1 me"))
        assert not refused(subscribed(socket, "a"))
        stream: Stream = open_.enter_context(
            streaming(server, EVENTS, headers=proof("1 me"), after="0-0")
        )
        assert stream.cursor()
        assert refused(subscribed(socket, "b"))
        with streaming(server, EVENTS, headers=proof("1 me"), after="0-0") as more:
            assert code(more.next()) == "TOO_MANY_STREAMS"
            more.ends()
        socket.subscribe("c", VIEWER)
        assert socket.next("c")["data"]
        assert socket.hear()["type"] == "complete"
        socket.say({"type": "complete", "id": "a"})
        while refused(subscribed(socket, "d")):
            pass


def test_what_has_ended_or_lost_its_client_counts_no_more(app: Starlette, memory: Memory) -> None:
    memory.plant("a")
    memory.fell("a")
    with listening(app) as server, ExitStack() as clients:
        streams = [
            clients.enter_context(streaming(server, EVENTS, headers=proof(who), after="0-0"))
            for who in ("1 me", "1 you")
        ]
        assert all(each.cursor() for each in streams)
        socket = clients.enter_context(socket_of(server, "1 me"))
        assert not refused(subscribed(socket, "a"))
        assert len(app.state.streams) == 4
    assert len(app.state.streams) == 0


def test_each_subject_of_each_tenant_counts_alone(server: Listening, memory: Memory) -> None:
    memory.plant("a")
    memory.fell("a")
    with ExitStack() as open_:
        first = open_.enter_context(socket_of(server, "1 me"))
        for id in "ab":
            assert not refused(subscribed(first, id))
        for other in ("1 you", "1"):
            assert not refused(subscribed(open_.enter_context(socket_of(server, other)), "a"))
        foreign = open_.enter_context(socket_of(server, "2 me"))
        foreign.subscribe("a", EVENTS)
        foreign.sync()
        assert refused(subscribed(first, "c"))


def test_a_caller_has_so_many_sockets(server: Listening) -> None:
    with ExitStack() as open_:
        for _ in range(MOST):
            open_.enter_context(socket_of(server, "1 me"))
        with server.socket(begun=False) as socket:
            socket.say({"type": "connection_init", "payload": proof("1 me")})
            closed = socket.closed()
        assert closed.code == 1013
        assert f"{MOST} sockets" in closed.reason
        with socket_of(server, "1 you") as socket:
            socket.sync()


def test_what_was_open_counts_no_more() -> None:
    streams = OpenStreams(1)
    with streams.one_more("sockets", (1, None)):
        assert len(streams) == 1
        with (
            pytest.raises(TooManyStreams, match="1 sockets"),
            streams.one_more("sockets", (1, None)),
        ):
            pass
        with streams.one_more("subscriptions", (1, None)):
            assert len(streams) == 2
    assert len(streams) == 0
    with streams.one_more("sockets", (1, None)):
        pass

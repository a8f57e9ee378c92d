"""Many WebSockets that only count what they are told: a client that costs next to nothing."""

from __future__ import annotations

import json
import os
import resource
import selectors
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic

MARK = b'"type":"next"'
"""What each delivery has once."""

_SPARE = 200
_HANDSHAKE = (
    b"GET /graphql HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
)


class Listeners:
    """Subscribers on sockets of their own; what they hear is counted, and the last of it kept."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._selector = selectors.DefaultSelector()
        self._rest = dict.fromkeys(sockets, b"")
        for each in sockets:
            self._selector.register(each, selectors.EVENT_READ)

    def hear(self, deliveries: int, patience: float = 600) -> None:
        """Returns when so many deliveries have come, all sockets together."""
        end = monotonic() + patience
        while deliveries > 0:
            if monotonic() > end:
                raise TimeoutError(f"{deliveries} deliveries are missing")
            for key, _ in self._selector.select(1):
                deliveries -= self._heard(key.fileobj)

    def last(self) -> bytes:
        """The end of what the first socket has heard."""
        return next(iter(self._rest.values()))

    def _heard(self, place: object) -> int:
        assert isinstance(place, socket.socket)
        data = place.recv(1 << 18)
        if not data:
            raise ConnectionError("the server has closed a socket")
        before = self._rest[place]
        count = (before + data).count(MARK) - before.count(MARK)
        self._rest[place] = (before + data)[-1_000:]
        return count


@contextmanager
def listening(port: int, count: int, query: str) -> Iterator[Listeners]:
    """So many subscribers of a query, each of which has been heard."""
    allow_files(count)
    with ExitStack() as opened:
        sockets = [opened.enter_context(_connected(port)) for _ in range(count)]
        for number, each in enumerate(sockets):
            subscribe = {"id": f"{number:032x}", "type": "subscribe", "payload": {"query": query}}
            each.sendall(_frame(subscribe))
        yield Listeners(sockets)


def allow_files(count: int) -> None:
    """Lets this process, and those it starts, open so many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + _SPARE:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + _SPARE), hard))


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 60)
    connection.sendall(_HANDSHAKE)
    _await(connection, b"\r\n\r\n")
    connection.sendall(_frame({"type": "connection_init"}))
    _await(connection, b"connection_ack")
    return connection


def _await(connection: socket.socket, text: bytes) -> None:
    heard = b""
    while text not in heard:
        more = connection.recv(4_096)
        if not more:
            raise ConnectionError(f"{text!r} never came: {heard!r}")
        heard += more


def _frame(message: object) -> bytes:
    data, mask = json.dumps(message).encode(), os.urandom(4)
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
    size = bytes([128 | len(data)]) if len(data) < 126 else struct.pack("!BH", 254, len(data))
    return b"\x81" + size + mask + masked

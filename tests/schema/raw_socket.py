"""A WebSocket's client by hand: it reads, and answers, only what the test tells it to."""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Self

from tests.schema.serving import PATIENCE, Listening

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
"""Kinds of frames (RFC 6455, 5.2)."""


class Raw:
    """A socket that has shaken hands."""

    def __init__(self, server: Listening) -> None:
        self._socket = socket.socket()
        self._socket.settimeout(PATIENCE)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.connect(server.address)
        self._socket.sendall(
            b"GET /graphql HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
        )
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.received(1)
        assert head.startswith(b"HTTP/1.1 101 ")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def received(self, count: int) -> bytes:
        """The next bytes; fewer where the server ends."""
        data = b""
        while len(data) < count and (more := self._socket.recv(count - len(data))):
            data += more
        return data

    def frame(self) -> tuple[int, bytes]:
        """The kind and the content of the next frame."""
        head, size = self.received(2)
        if size == 126:
            (size,) = struct.unpack("!H", self.received(2))
        return head & 15, self.received(size)

    def say(self, opcode: int, payload: bytes) -> None:
        """Sends one frame."""
        mask = os.urandom(4)
        size = (
            bytes([128 | len(payload)])
            if len(payload) < 126
            else struct.pack("!BH", 254, len(payload))
        )
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self._socket.sendall(bytes([128 | opcode]) + size + mask + masked)

    def say_json(self, message: object) -> None:
        """Sends one message."""
        self.say(TEXT, json.dumps(message).encode())

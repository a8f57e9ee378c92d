"""A relay between a client and a server that cuts each connection after so many bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread


class Relay:
    """Listens at `port`; `cuts` counts the connections that it has cut."""

    def __init__(self, target: tuple[str, int], most: int) -> None:
        self._target, self._most = target, most
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._sockets: list[socket.socket] = []
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        # To close it wakes nobody who waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += near, far
                for work in (self._send, self._give):
                    thread = Thread(target=work, args=(near, far))
                    self._threads.append(thread)
                    thread.start()

    def _send(self, near: socket.socket, far: socket.socket) -> None:
        """What the client says reaches the server whole."""
        with suppress(OSError):
            while said := near.recv(65_536):
                far.sendall(said)
        _hang_up(near, far)

    def _give(self, near: socket.socket, far: socket.socket) -> None:
        """What the server says is cut, in the middle of a message or not."""
        left = self._most
        with suppress(OSError):
            while left and (said := far.recv(min(left, 65_536))):
                near.sendall(said)
                left -= len(said)
            self.cuts += left == 0
        _hang_up(near, far)


def _hang_up(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relaying(target: tuple[str, int], most: int) -> Iterator[Relay]:
    """A relay to `target` that lets `most` bytes through to each connection."""
    relay = Relay(target, most)
    try:
        yield relay
    finally:
        relay.close()

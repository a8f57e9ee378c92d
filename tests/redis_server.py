"""A Redis that the tests start for themselves: private, and gone at the end."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis, RedisError

from tests.missing import program
from tests.servers import SECONDS_TO_START, SECONDS_TO_STOP, free_port

PACKAGE = "redis-server"
"""What brings the server's program on Debian."""


@dataclass
class RedisServer:
    """A running server that listens on 127.0.0.1 only and keeps nothing on the disk."""

    port: int
    command: list[str]
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self) -> Redis:
        return Redis.from_url(self.url)

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """Start the server that ended on its port, and wait until it answers."""
        self.process = _spawned(self.command)
        _await(self)


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """Start a Redis of our own, stop it at the end, and leave nothing behind.

    Where it is not installed the test is skipped, but fails under CI.
    """
    daemon = program("redis-server", PACKAGE)
    with tempfile.TemporaryDirectory(prefix="redis-") as name:
        port = free_port()
        command = [daemon, "--port", str(port), "--bind", "127.0.0.1", "--dir", name]
        command += ["--save", "", "--appendonly", "no", "--logfile", str(Path(name) / "log")]
        server = RedisServer(port, command, _spawned(command))
        try:
            _await(server)
            yield server
        finally:
            server.process.terminate()
            server.process.wait(SECONDS_TO_STOP)


def _spawned(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _await(server: RedisServer) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while server.process.poll() is None:
        try:
            with server.client() as client:
                client.ping()
            return
        except RedisError as refusal:
            if time.monotonic() > end:
                raise TimeoutError("redis-server does not answer") from refusal
            time.sleep(0.05)
    pytest.fail("redis-server ended before it answered")

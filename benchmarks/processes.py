"""Servers as processes of their own, so that their CPU time can be read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PYTHON = (sys.executable, "-m")


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers GraphQL on a port of this machine."""

    pid: int
    port: int

    def cpu(self) -> float:
        """The seconds of CPU that the process has used, all its threads together.

        By the clock that Linux keeps for it (CPUCLOCK_SCHED): /proc counts in ticks of 10 ms.
        """
        return time.clock_gettime((~self.pid << 3) | 2)

    def resident(self) -> int:
        """The bytes of memory that the process holds."""
        told = Path(f"/proc/{self.pid}/status").read_text()
        return int(told.partition("VmRSS:")[2].split()[0]) * 1024

    def seconds_each(self, query: str, count: int) -> float:
        """The CPU time of a request, the average of `count` on one connection."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as client:
            _ask(client, query)
            before = self.cpu()
            for _ in range(count):
                _ask(client, query)
            return (self.cpu() - before) / count

    def answer(self, query: str) -> bytes:
        """The body of a response."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as client:
            return _ask(client, query)


def ours(database: Path, *more: str) -> list[str]:
    """The command that serves a database, without a line in the log for each request.

    Nor with signs of life, which listeners that only count don't answer.
    """
    silent = ("--log-level", "warning", "--keep-alive", "3600")
    place = ("--port", "0", "--database", str(database))
    return [*_PYTHON, "retrograph.cli", "serve", *silent, *place, *more]


def redis_peer(url: str) -> list[str]:
    """The command that hears what is published at a Redis, by `benchmarks.redis_peers`."""
    return [*_PYTHON, "benchmarks.redis_peers", url]


def peer(name: str, what: object) -> list[str]:
    """The command that serves a number of things, or a database, by one of `benchmarks.peers`."""
    return [*_PYTHON, "benchmarks.peers", name, str(what)]


def yoga(count: int) -> list[str]:
    """The command that serves a number of nodes by graphql-yoga."""
    return ["node", str(ROOT / "tests" / "node" / "yoga.mjs"), str(count)]


@contextmanager
def running(command: Sequence[str]) -> Iterator[Server]:
    """A server for as long as the context lasts; it says its port in its first line."""
    environment = os.environ | {"NODE_ENV": "production", "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"(\d+)(/graphql)?$", said.rstrip())
            if found is None:
                raise AssertionError(f"{command} says no port: {said!r}")
            yield Server(process.pid, int(found[1]))
        finally:
            process.kill()


def _ask(client: HTTPConnection, query: str) -> bytes:
    kind = {"Content-Type": "application/json"}
    client.request("POST", "/graphql", json.dumps({"query": query}), kind)
    answer = client.getresponse().read()
    if b'"errors"' in answer[:4_000]:
        raise AssertionError(answer[:4_000])
    return answer

"""Servers, writers, subscribers and Redis as processes that come and go: the outbox stays whole.

Every subscriber drops out and comes back at random, to whichever server there is; servers and Redis
are killed and started again. In the end each has heard exactly the outbox.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Semaphore
from typing import Any

import httpx
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from retrograph.resolvers.events import list_events
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.store import open_store
from tests.command import COMMAND, PATIENCE, environment, next_line, start
from tests.redis_server import RedisServer, running_redis
from tests.schema.serving import Socket

EVENTS = "subscription ($after: String) { events(fleetId: 1, after: $after) { cursor type } }"
ROUNDS = 1
"""How often at least a server and Redis are killed."""
PUT = """mutation ($key: String!) {
    putNodes(input: {fleetId: 1, nodes: [{key: $key, kind: RULE}]}) { __typename } }"""
FELL = """mutation ($key: String!) {
    invalidate(input: {fleetId: 1, root: {key: $key}, reason: "soak"}) { __typename } }"""


@dataclass
class Servers:
    """Some servers on one database; each may be killed, and is started again on its port."""

    database: str
    redis: RedisServer
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    def begin(self, port: int = 0) -> None:
        words = ["--port", str(port), "--database", self.database, "--redis", self.redis.url]
        command = [*COMMAND, "serve", *words, "--log-level", "error", "--sweep-every", "0"]
        server = start(command, None, environment())
        found = re.search(r":(\d+)/graphql$", next_line(server).rstrip())
        assert found is not None
        self.running[int(found[1])] = server

    def kill(self, port: int, how: signal.Signals) -> None:
        server = self.running[port]
        server.send_signal(how)
        server.communicate(timeout=PATIENCE)
        self.begin(port)

    def close(self) -> None:
        for server in self.running.values():
            server.kill()
            server.communicate()


@contextmanager
def serving(database: str, count: int) -> Iterator[Servers]:
    with running_redis() as redis:
        servers = Servers(database, redis)
        try:
            for _ in range(count):
                servers.begin()
            yield servers
        finally:
            servers.close()


def write(servers: Servers, name: int, over: Event, chance: random.Random) -> None:
    """Makes nodes and fells them; what a killed server may or may not have done is left so."""
    number = 0
    while not over.is_set():
        number += 1
        port = chance.choice(list(servers.running))
        for query in (PUT, FELL):
            asked = {"query": query, "variables": {"key": f"{name}:{number}"}}
            with suppress(httpx.TransportError):
                httpx.post(f"http://127.0.0.1:{port}/graphql", json=asked, timeout=PATIENCE)


def listen(
    servers: Servers, over: Event, last: list[str], news: Semaphore, chance: random.Random
) -> list[str]:
    """Every cursor heard, over many connections, until the last one of the outbox has come."""
    heard: list[str] = []
    while not (over.is_set() and (heard[-1:] == last or not last)):
        port, before = chance.choice(list(servers.running)), len(heard)
        with suppress(OSError, WebSocketException, TimeoutError):
            hear(port, heard, chance.randrange(1, 60), over, last)
        if len(heard) > before:
            news.release(len(heard) - before)
    return heard


def hear(port: int, heard: list[str], count: int, over: Event, last: list[str]) -> None:
    """Goes on behind what was heard for so many events, then drops out."""
    protocol = [Subprotocol("graphql-transport-ws")]
    with connect(f"ws://127.0.0.1:{port}/graphql", subprotocols=protocol) as connection:
        socket = Socket(connection)
        socket.begin()
        socket.subscribe("s", EVENTS, after=heard[-1] if heard else "0-0")
        for _ in range(count):
            if over.is_set() and heard[-1:] == last:
                return
            message = told(socket)
            if message is None or message["type"] != "next":
                return
            heard.append(message["payload"]["data"]["events"]["cursor"])


def told(socket: Socket) -> Any:
    """What comes next; nothing where it doesn't come soon."""
    try:
        return json.loads(socket.connection.recv(timeout=1))
    except TimeoutError:
        return None


def await_news(news: Semaphore, count: int) -> None:
    """Returns when so many more events have been heard."""
    for _ in range(count):
        assert news.acquire(timeout=PATIENCE)


def outbox(database: str) -> list[str]:
    store = open_store(database)
    scope, found, after = Scope(store, 1, None, frozenset(Role)), list[str](), None
    while True:
        page = list_events(scope, 1, None, after, MAX_FIRST)
        found += [f"{event.at}-{event.ordinal}" for event in page.rows]
        if not page.has_next:
            store.close()
            return found
        after = page.rows[-1].at, page.rows[-1].ordinal


def same(heard: list[str], expected: list[str]) -> None:
    """Fails with what was heard twice, never, or though nobody told it."""
    counts = Counter(heard)
    assert [each for each in heard if counts[each] > 1] == []
    assert [each for each in expected if each not in counts] == []
    assert [each for each in heard if each not in set(expected)] == []
    assert heard == expected


def soak(database: str, seconds: float, *, servers: int, subscribers: int, writers: int) -> None:
    store = open_store(database)
    store.write_all(1, [1], lambda _: None)
    store.close()
    chance, written, over, last = random.Random(8), Event(), Event(), list[str]()
    news = Semaphore(0)
    with ExitStack() as things:
        group = things.enter_context(serving(database, servers))
        pool = things.enter_context(ThreadPoolExecutor(subscribers + writers))
        things.callback(over.set)
        things.callback(written.set)
        writing = [
            pool.submit(write, group, name, written, random.Random(name)) for name in range(writers)
        ]
        hearing = [
            pool.submit(listen, group, over, last, news, random.Random(-name))
            for name in range(1, subscribers + 1)
        ]
        end = time.monotonic() + seconds
        for number in itertools.count():
            await_news(news, 10 * subscribers)
            if number >= ROUNDS and time.monotonic() > end:
                break
            how = chance.choice((signal.SIGKILL, signal.SIGTERM))
            group.kill(chance.choice(list(group.running)), how)
            await_news(news, subscribers)
            group.redis.kill()
            await_news(news, subscribers)
            group.redis.start_again()
        written.set()
        for each in writing:
            each.result(PATIENCE)
        expected = outbox(database)
        assert expected
        last.append(expected[-1])
        over.set()
        for heard in hearing:
            same(heard.result(PATIENCE), expected)


@pytest.mark.needs("file")
def test_every_subscriber_hears_the_outbox_whatever_is_killed(database: str) -> None:
    soak(database, 0, servers=2, subscribers=3, writers=1)


@pytest.mark.long
def test_for_ten_minutes(database: str) -> None:
    soak(database, 600, servers=3, subscribers=30, writers=4)

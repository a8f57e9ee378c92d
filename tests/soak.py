"""Servers and Redis that are killed and started again while writers write and subscribers listen.

Every subscriber drops out and comes back at random, to whichever server there is, over a WebSocket
or by server-sent events. In the end each must have heard exactly the outbox.
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
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Semaphore
from typing import Any

import httpx
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
PUT = """mutation ($key: String!) {
    putNodes(input: {fleetId: 1, nodes: [{key: $key, kind: RULE}]}) { __typename } }"""
FELL = """mutation ($key: String!) {
    invalidate(input: {fleetId: 1, root: {key: $key}, reason: "soak"}) { __typename } }"""
SILENCE = 1.0
"""Seconds after which who hears nothing tries another server."""


class Tally:
    """What happened, counted from any thread; and what must not have happened."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._lock = Lock()

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1


@dataclass
class Servers:
    """Some servers on one database; each may be killed, and is started again on its port."""

    database: str
    redis: RedisServer
    folder: Path
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    logs: list[Path] = field(default_factory=list)

    def begin(self, port: int = 0) -> None:
        words = ["--port", str(port), "--database", self.database, "--redis", self.redis.url]
        command = [*COMMAND, "serve", *words, "--log-level", "error", "--sweep-every", "0"]
        self.logs.append(self.folder / f"server-{len(self.logs)}.log")
        with self.logs[-1].open("w") as log:
            server = start(command, None, environment(), stderr=log)
        found = re.search(r":(\d+)/graphql$", next_line(server).rstrip())
        assert found is not None, self.logs[-1].read_text()
        self.running[int(found[1])] = server

    def restart(self, port: int, how: signal.Signals) -> None:
        server = self.running[port]
        server.send_signal(how)
        server.communicate(timeout=PATIENCE)
        self.begin(port)

    def any_url(self, chance: random.Random) -> str:
        return f"127.0.0.1:{chance.choice(list(self.running))}/graphql"

    def close(self) -> None:
        for server in self.running.values():
            server.kill()
            server.communicate()

    def complaints(self) -> list[str]:
        """What servers have logged as errors."""
        return [text for log in self.logs if (text := log.read_text())]


@contextmanager
def serving(database: str, count: int, folder: Path) -> Iterator[Servers]:
    with running_redis() as redis, closing(Servers(database, redis, folder)) as servers:
        for _ in range(count):
            servers.begin()
        yield servers


@dataclass
class Writer:
    """Makes nodes and fells them; what a killed server may or may not have done is left so."""

    servers: Servers
    tally: Tally
    name: int
    chance: random.Random

    def run(self, over: Event) -> None:
        with httpx.Client(timeout=PATIENCE) as client:
            for number in itertools.count():
                if over.is_set():
                    return
                url = self.servers.any_url(self.chance)
                for query in (PUT, FELL):
                    asked = {"query": query, "variables": {"key": f"{self.name}:{number}"}}
                    self._ask(client, f"http://{url}", asked)

    def _ask(self, client: httpx.Client, url: str, asked: Any) -> None:
        try:
            answer = client.post(url, json=asked)
        except httpx.TransportError:
            self.tally.count("writes cut off")
            return
        told = answer.text
        if answer.status_code == 200 and "errors" not in told:
            self.tally.count("writes")
        elif "DATABASE_LOCKED" in told:  # where the machine is too busy
            self.tally.count("writes that waited too long")
        elif "NOT_FOUND" not in told:  # what makes the node may have been cut off
            self.tally.wrong.append(f"{answer.status_code} {told}")


@dataclass
class Subscriber:
    """Hears the outbox over many connections, each gone on with behind the last cursor heard."""

    servers: Servers
    tally: Tally
    news: Semaphore
    chance: random.Random
    heard: list[str] = field(default_factory=list)

    def run(self, over: Event, last: list[str]) -> list[str]:
        """Every cursor heard until the last one of the outbox, which is known when it is over."""
        while not (over.is_set() and (self.heard[-1:] == last or not last)):
            before = len(self.heard)
            listen = self.chance.choice((self._over_socket, self._as_events))
            count = self.chance.randrange(1, 60)
            self.tally.count("connections")
            try:
                listen(self.servers.any_url(self.chance), count)
            except (TimeoutError, httpx.ReadTimeout):
                self.tally.count("silences")
            except (OSError, WebSocketException, httpx.TransportError):
                self.tally.count("connections that broke")
            if len(self.heard) > before:
                self.news.release(len(self.heard) - before)
        return self.heard

    def _over_socket(self, url: str, count: int) -> None:
        protocol = [Subprotocol("graphql-transport-ws")]
        with connect(f"ws://{url}", subprotocols=protocol, open_timeout=PATIENCE) as connection:
            socket = Socket(connection)
            socket.begin()
            socket.subscribe("s", EVENTS, after=self._after)
            for _ in range(count):
                message = json.loads(connection.recv(timeout=SILENCE))
                if not self._takes(message["type"], message.get("payload")):
                    return
            if self.chance.random() < 0.5:
                self.tally.count("drops without goodbye")
                connection.socket.close()

    def _as_events(self, url: str, count: int) -> None:
        asked = {"query": EVENTS, "variables": {"after": self._after}}
        headers, limit = {"accept": "text/event-stream"}, httpx.Timeout(PATIENCE, read=SILENCE)
        with httpx.stream(
            "POST", f"http://{url}", json=asked, headers=headers, timeout=limit
        ) as response:
            name = ""
            for line in response.iter_lines():
                kind, _, value = line.partition(": ")
                if kind == "event":
                    name = value
                elif kind == "data" and name:
                    if not self._takes(name, json.loads(value or "null")):
                        return
                    count -= 1
                if not count:
                    return

    @property
    def _after(self) -> str:
        return self.heard[-1] if self.heard else "0-0"

    def _takes(self, kind: str, payload: Any) -> bool:
        """Whether it goes on behind a message; an event is taken down."""
        if kind == "next" and "errors" not in payload:
            self.heard.append(payload["data"]["events"]["cursor"])
            return True
        if kind == "complete":
            self.tally.count("streams that a server completed")
        elif "LAGGED" in json.dumps(payload):
            self.tally.count("streams that lagged")
        else:
            self.tally.wrong.append(f"{kind} {payload}")
        return False


@dataclass(frozen=True, slots=True)
class Size:
    """How many there are of each, and how many seconds at least servers and Redis are killed."""

    servers: int
    writers: int
    subscribers: int
    seconds: float


def soak(database: str, folder: Path, size: Size, seed: int) -> Tally:
    """Fails unless each subscriber hears the outbox once and in order, and no server complains."""
    store = open_store(database)
    store.write_all(1, [1], lambda _: None)
    store.close()
    tally, news, written, over, last = Tally(), Semaphore(0), Event(), Event(), list[str]()
    with ExitStack() as things:
        servers = things.enter_context(serving(database, size.servers, folder))
        pool = things.enter_context(ThreadPoolExecutor(size.subscribers + size.writers))
        things.callback(over.set)
        things.callback(written.set)
        writing = [
            pool.submit(Writer(servers, tally, name, random.Random(seed + name)).run, written)
            for name in range(size.writers)
        ]
        hearing = [
            pool.submit(
                Subscriber(servers, tally, news, random.Random(~seed - name)).run, over, last
            )
            for name in range(size.subscribers)
        ]
        disturb(servers, tally, news, size, random.Random(seed))
        written.set()
        for each in writing:
            each.result(PATIENCE)
        expected = outbox(database)
        last.append(expected[-1])
        over.set()
        for heard in hearing:
            same(heard.result(PATIENCE), expected)
    tally.counts["events"] = len(expected)
    wrong = tally.wrong + servers.complaints()
    assert not wrong, "\n".join((f"{len(wrong)} complaints, {tally.counts}", *wrong[:20]))
    return tally


def disturb(
    servers: Servers, tally: Tally, news: Semaphore, size: Size, chance: random.Random
) -> None:
    """Kills servers and Redis in turn, once at least, while events are heard in between."""
    end = time.monotonic() + size.seconds
    while True:
        await_news(news, 10 * size.subscribers)
        how = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        servers.restart(chance.choice(list(servers.running)), how)
        tally.count(f"servers ended by {how.name}")
        await_news(news, size.subscribers)
        servers.redis.kill()
        tally.count("kills of Redis")
        await_news(news, chance.randrange(1, 3) * size.subscribers)
        servers.redis.start_again()
        if time.monotonic() > end:
            return


def await_news(news: Semaphore, count: int) -> None:
    """Returns when so many more events have been heard."""
    for _ in range(count):
        assert news.acquire(timeout=PATIENCE)


def outbox(database: str) -> list[str]:
    with closing(open_store(database)) as store:
        scope, found, after = Scope(store, 1, None, frozenset(Role)), list[str](), None
        while True:
            page = list_events(scope, 1, None, after, MAX_FIRST)
            found += [f"{event.at}-{event.ordinal}" for event in page.rows]
            if not page.has_next:
                return found
            after = page.rows[-1].at, page.rows[-1].ordinal


def same(heard: list[str], expected: list[str]) -> None:
    """Fails with what was heard twice, never, or though nobody told it."""
    counts, told = Counter(heard), set(expected)
    twice = [each for each in heard if counts[each] > 1]
    missing = [each for each in expected if each not in counts]
    unknown = [each for each in heard if each not in told]
    wrong = {"twice": twice[:9], "missing": missing[:9], "unknown": unknown[:9]}
    assert not any(wrong.values()), wrong
    assert heard == expected, "out of order"

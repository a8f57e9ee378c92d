"""The time from a commit to its delivery: in one process, and from one to another over Redis."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles

from benchmarks.fan_out import QUERY, settle
from benchmarks.graphs import ROOT, Shape, plant
from benchmarks.listeners import Listeners, listening
from benchmarks.measure import Row, as_time
from benchmarks.own import own
from benchmarks.processes import Server, ours, running
from benchmarks.sizes import Sizes
from retrograph.rules.instant import parse_instant
from tests.redis_server import running_redis

ONE, TWO = "one process", "two processes with Redis"
_FELL = """mutation ($id: ID!) {
    invalidate(input: {fleetId: 1, root: {id: $id}, reason: "measured"}) { __typename } }"""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that one server writes and whose events subscribers hear, perhaps of another one."""

    telling: Server
    listeners: Listeners
    count: int
    _client: HTTPConnection

    def told(self, node_id: int) -> float:
        """Seconds from an event's instant to when the last subscriber has it."""
        body = json.dumps({"query": _FELL, "variables": {"id": str(node_id)}})
        self._client.request("POST", "/graphql", body, {"content-type": "application/json"})
        self.listeners.hear(self.count)
        now = time.time()
        self._client.getresponse().read()
        at = self.listeners.last().rpartition(b'"at":"')[2].partition(b'"')[0].decode()
        return max(now - parse_instant(at) / 1e6, 1e-6)


@contextmanager
def fleet(database: Path, count: int, query: str, *servers: Sequence[str]) -> Iterator[Fleet]:
    """So many subscribers to the last of the servers, each of which is given its options."""
    with ExitStack() as stack:
        started = [stack.enter_context(running(ours(database, *each))) for each in servers]
        listeners = stack.enter_context(listening(started[-1].port, count, query))
        for each in started:
            settle(each.port)
        client = HTTPConnection("127.0.0.1", started[0].port, timeout=600)
        yield Fleet(started[-1], listeners, count, stack.enter_context(closing(client)))


def delivery_times(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """One commit after another, in turn on one server and on two."""
    count, commits = sizes.subscribers[0], sizes.told
    with ExitStack() as stack:
        redis = stack.enter_context(own(running_redis()))
        places: dict[str, list[tuple[str, ...]]] = {ONE: [()]}
        if redis is not None:
            places[TWO] = [("--redis", redis.url)] * 2
        fleets = {}
        for name, servers in places.items():
            database = plant(folder / f"{len(servers)}.db", Shape(commits, []))
            fleets[name] = stack.enter_context(fleet(database, count, QUERY, *servers))
        taken = alternately(fleets, range(ROOT, ROOT + commits))
    what = f"from a commit to its delivery to the last of {count} WebSockets"
    ratio = p99(taken[ONE]) / median(taken[ONE])
    yield Row(f"{what}, {ONE}: p99 against p50", (ratio,), None, as_times(taken[ONE]))
    if TWO in taken:
        ratio = median(taken[TWO]) / median(taken[ONE])
        note = f"{as_times(taken[TWO])} {TWO} / {as_times(taken[ONE])} {ONE}"
        yield Row(f"{what}, {TWO} against {ONE}: p50", (ratio,), None, note)


def alternately(fleets: Mapping[str, Fleet], nodes: Iterable[int]) -> dict[str, list[float]]:
    """The times of commits, each in every fleet before the next one."""
    taken: dict[str, list[float]] = {name: [] for name in fleets}
    for node_id in nodes:
        for name, each in fleets.items():
            taken[name].append(each.told(node_id))
    return taken


def p99(taken: Sequence[float]) -> float:
    """The time that one in a hundred exceeds."""
    return quantiles(taken, n=100, method="inclusive")[98]


def as_times(taken: Sequence[float]) -> str:
    """The median and the 99th percentile, as a row tells them."""
    return f"{as_time(median(taken))} p50, {as_time(p99(taken))} p99"

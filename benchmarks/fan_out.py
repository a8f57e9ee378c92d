"""Events told to many subscribers, against sending each of them to each subscriber."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from benchmarks.databases import fresh, opened
from benchmarks.graphs import FLEET, ROOT, Shape, plant
from benchmarks.listeners import Listeners, allow_files, listening
from benchmarks.measure import Row
from benchmarks.own import own
from benchmarks.peers import response_of
from benchmarks.processes import Server, ours, peer, redis_peer, running
from benchmarks.redis_peers import CHANNEL
from benchmarks.sizes import Sizes
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef
from tests.redis_server import RedisServer, running_redis

QUERY = (
    "subscription { events(fleetId: 1, types: [NODE_STALE]) "
    "{ cursor type at node { id key validity } detail } }"
)
MANY = 1_000
"""Subscribers from which on a lower aim holds."""

OURS, SINGLY, THEIRS = "ours", "each sent by itself", "`send_json`"
FORWARDED, HEARD = "redis-py and `send_text`", "redis-py alone"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a delivery: of CPU, of the server's processes, and by the clock."""

    cpu: float
    wall: float


@contextmanager
def counted(deliveries: int, *clocks: Callable[[], float]) -> Iterator[Callable[[], Cost]]:
    """What the deliveries of the context cost, by clocks of CPU; to be asked for at its end."""
    found: list[Cost] = []
    cpu, wall = sum(clock() for clock in clocks), time.perf_counter()
    yield lambda: found[0]
    cpu, wall = sum(clock() for clock in clocks) - cpu, time.perf_counter() - wall
    found.append(Cost(cpu / deliveries, wall / deliveries))


def fan_out(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """CPU time of the servers for each delivery, of ours and of others."""
    with own(running_redis()) as redis:
        for count in sizes.subscribers:
            events = max(2, min(sizes.deliveries // count, 4_000))
            template = plant(folder / f"star{count}.db", _star(events))
            sides = _sides(template, redis, count, events)
            costs: dict[str, list[Cost]] = {name: [] for name in sides}
            for _ in range(sizes.server_rounds):
                for name, measure in sides.items():
                    costs[name].append(measure())
            yield from _rows(count, costs)


def _sides(
    template: Path, redis: RedisServer | None, count: int, events: int
) -> Mapping[str, Callable[[], Cost]]:
    sides = {
        OURS: partial(_cascade, ours, template, count, events),
        SINGLY: partial(_cascade, partial(peer, "singly"), template, count, events),
        THEIRS: partial(_told, peer("broadcast", events), count, events),
    }
    if redis is not None:
        sides[FORWARDED] = partial(_forwarded, redis, count, events)
        sides[HEARD] = partial(_heard, redis, count, events)
    return sides


def _rows(count: int, costs: Mapping[str, list[Cost]]) -> Iterator[Row]:
    yield _row(OURS, THEIRS, 2.5 if count < MANY else 1.8, count, costs)
    yield _row(SINGLY, THEIRS, None, count, costs)
    for name in (FORWARDED, HEARD):
        if name in costs:
            yield _row(OURS, name, 5, count, costs)


def _row(
    name: str, other: str, aim: float | None, count: int, costs: Mapping[str, list[Cost]]
) -> Row:
    rates = (f"{_rates(costs[each])} {each}" for each in (name, other))
    pairs = zip(costs[other], costs[name], strict=True)
    what = f"deliveries to {count:,} WebSockets, {name}, against {other}"
    return Row(what, tuple(one.cpu / two.cpu for one, two in pairs), aim, " / ".join(rates), True)


def _rates(costs: list[Cost]) -> str:
    cpu, wall = median(each.cpu for each in costs), median(each.wall for each in costs)
    return f"{1 / cpu:,.0f} a second of CPU ({1 / wall:,.0f} by the clock)"


def _star(events: int) -> Shape:
    """A root that fells all others at once, but the last one, which stands by itself."""
    others = range(ROOT + 1, events + 1)
    return Shape(events + 1, [(ROOT, each, EdgeType.REQUIRES) for each in others])


def _cascade(command: Callable[[Path], list[str]], template: Path, count: int, events: int) -> Cost:
    """Another process writes the events in one commit."""
    allow_files(count)
    database = fresh(template)
    with (
        running(command(database)) as server,
        listening(server.port, count, QUERY) as listeners,
        opened(database) as scope,
    ):
        _begin(server, scope, listeners, count, events + 1)
        with counted(count * events, server.cpu) as cost:
            fell(scope, ROOT)
            listeners.hear(count * events)
    return cost()


def _begin(server: Server, scope: Scope, listeners: Listeners, count: int, node_id: int) -> None:
    """Returns when every subscriber has heard of a node that falls."""
    settle(server.port)
    fell(scope, node_id)
    listeners.hear(count)


def fell(scope: Scope, node_id: int) -> None:
    """Invalidates a node."""
    order = Invalidation(NodeRef(id=node_id), "measured", Validity.INVALID)
    invalidate(scope, FLEET, order)


def _told(command: list[str], count: int, events: int) -> Cost:
    """The server has the events at hand, and sends each to each subscriber when it is asked to."""
    allow_files(count)
    with (
        running(command) as server,
        listening(server.port, count, QUERY) as listeners,
        _client(server) as client,
    ):
        _await(client, "/ready", count)
        with counted(count * events, server.cpu) as cost:
            client.request("GET", "/tell")
            listeners.hear(count * events)
    return cost()


def _forwarded(redis: RedisServer, count: int, events: int) -> Cost:
    """Each subscriber has a subscription at Redis; the CPU of Redis counts, too."""
    allow_files(2 * count)
    with (
        running(redis_peer(redis.url)) as server,
        listening(server.port, count, QUERY) as listeners,
        _client(server) as client,
    ):
        _await(client, "/ready", count)
        with counted(count * events, server.cpu, Server(redis.process.pid, redis.port).cpu) as cost:
            _publish(redis, events)
            listeners.hear(count * events)
    return cost()


def _heard(redis: RedisServer, count: int, events: int) -> Cost:
    """The same without WebSockets; of the CPU, that of the subscribers alone counts."""
    allow_files(2 * count)
    with running(redis_peer(redis.url)) as server, _client(server) as client:
        client.request("GET", f"/hear/{count}")
        client.getresponse().read()
        _await(client, "/ready", count)
        with counted(count * events, server.cpu) as cost:
            _publish(redis, events)
            _await(client, "/told", count * events)
    return cost()


def _publish(redis: RedisServer, events: int) -> None:
    with redis.client() as client, client.pipeline(transaction=False) as pipeline:
        for place in range(events):
            pipeline.publish(CHANNEL, json.dumps(response_of(place)))
        pipeline.execute()


@contextmanager
def _client(server: Server) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=600)) as client:
        yield client


def _await(client: HTTPConnection, path: str, count: int) -> None:
    """Returns when a peer counts so many."""
    while True:
        client.request("GET", path)
        if int(client.getresponse().read()) >= count:
            return
        time.sleep(0.05)


def settle(port: int) -> None:
    """Returns when subscriptions that were asked for before have begun, as far as can be told."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=600)) as client:
        for _ in range(5):
            client.request("GET", "/graphql?query=%7Bnodes(fleetId:1)%7BasOf%7D%7D")
            client.getresponse().read()
            time.sleep(0.2)

"""Events told to many subscribers, against sending each of them to each subscriber."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles

from benchmarks.databases import fresh, opened
from benchmarks.graphs import FLEET, ROOT, Shape, plant
from benchmarks.listeners import Listeners, allow_files, listening
from benchmarks.measure import Row, as_time
from benchmarks.processes import Server, ours, peer, running
from benchmarks.sizes import Sizes
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.instant import parse_instant
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef

QUERY = (
    "subscription { events(fleetId: 1, types: [NODE_STALE]) "
    "{ cursor type at node { id key validity } detail } }"
)
MANY = 1_000
"""Subscribers from which on a lower aim holds."""

OURS, SINGLY, THEIRS = "ours", "each sent by itself", "`send_json`"
_FELL = """mutation ($id: ID!) {
    invalidate(input: {fleetId: 1, root: {id: $id}, reason: "measured"}) { __typename } }"""


def fan_out(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """CPU time of the server for each delivery; then the time from a commit to its delivery."""
    for count in sizes.subscribers:
        events = max(2, min(sizes.deliveries // count, 4_000))
        template = plant(folder / f"star{count}.db", _star(events))
        seconds: dict[str, list[float]] = {OURS: [], SINGLY: [], THEIRS: []}
        for _ in range(sizes.server_rounds):
            copy = fresh(template)
            seconds[OURS].append(_cascade(ours(copy), copy, count, events))
            copy = fresh(template)
            seconds[SINGLY].append(_cascade(peer("singly", copy), copy, count, events))
            seconds[THEIRS].append(_broadcast(count, events))
        for name in (OURS, SINGLY):
            yield _row(name, count, seconds)
    yield _latency(folder, sizes)


def _row(name: str, count: int, seconds: dict[str, list[float]]) -> Row:
    aim = {OURS: 2.5 if count < MANY else 1.8}.get(name)
    rates = (f"{1 / median(seconds[each]):,.0f}/s {each}" for each in (name, THEIRS))
    pairs = zip(seconds[THEIRS], seconds[name], strict=True)
    what = f"deliveries to {count:,} WebSockets, {name}, against Starlette's {THEIRS}"
    return Row(what, tuple(one / other for one, other in pairs), aim, " / ".join(rates), True)


def _star(events: int) -> Shape:
    """A root that fells all others at once, but the last one, which stands by itself."""
    others = range(ROOT + 1, events + 1)
    return Shape(events + 1, [(ROOT, each, EdgeType.REQUIRES) for each in others])


def _cascade(command: list[str], database: Path, count: int, events: int) -> float:
    """The CPU seconds of a delivery, where another process writes the events in one commit."""
    allow_files(count)
    with (
        running(command) as server,
        listening(server.port, count, QUERY) as listeners,
        opened(database) as scope,
    ):
        _begin(server, scope, listeners, count, events + 1)
        before = server.cpu()
        _fell(scope, ROOT)
        listeners.hear(count * events)
        return max(server.cpu() - before, 0.01) / (count * events)


def _begin(server: Server, scope: Scope, listeners: Listeners, count: int, node_id: int) -> None:
    """Returns when every subscriber has heard of a node that falls."""
    _settle(server.port)
    _fell(scope, node_id)
    listeners.hear(count)


def _fell(scope: Scope, node_id: int) -> None:
    order = Invalidation(NodeRef(id=node_id), "measured", Validity.INVALID)
    invalidate(scope, FLEET, order)


def _broadcast(count: int, events: int) -> float:
    """The same of a server that has the events at hand, and sends each to each subscriber."""
    allow_files(count)
    command = peer("broadcast", events)
    with (
        running(command) as server,
        listening(server.port, count, QUERY) as listeners,
        closing(HTTPConnection("127.0.0.1", server.port, timeout=600)) as client,
    ):
        client.request("GET", "/ready")
        while client.getresponse().read() != str(count).encode():
            client.request("GET", "/ready")
        before = server.cpu()
        client.request("GET", "/tell")
        listeners.hear(count * events)
        return max(server.cpu() - before, 0.01) / (count * events)


def _settle(port: int) -> None:
    """Returns when subscriptions that were asked for before have begun, as far as can be told."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=600)) as client:
        for _ in range(5):
            client.request("GET", "/graphql?query=%7Bnodes(fleetId:1)%7BasOf%7D%7D")
            client.getresponse().read()
            time.sleep(0.2)


def _latency(folder: Path, sizes: Sizes) -> Row:
    """From an event's instant to when a subscriber has it: one commit after another."""
    count, events = sizes.subscribers[0], sizes.requests
    database = plant(folder / "latency.db", Shape(events, []))
    with running(ours(database)) as server, listening(server.port, count, QUERY) as listeners:
        _settle(server.port)
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=600)) as client:
            taken = [_told(client, listeners, count, ROOT + each) for each in range(events)]
    p99 = quantiles(taken, n=100)[98]
    note = f"{as_time(median(taken))} p50 / {as_time(p99)} p99"
    what = f"from a commit to its delivery to the last of {count} WebSockets: p99 against p50"
    return Row(what, (p99 / median(taken),), None, note)


def _told(client: HTTPConnection, listeners: Listeners, count: int, node_id: int) -> float:
    body = json.dumps({"query": _FELL, "variables": {"id": str(node_id)}})
    client.request("POST", "/graphql", body, {"content-type": "application/json"})
    listeners.hear(count)
    now = time.time()
    client.getresponse().read()
    at = listeners.last().rpartition(b'"at":"')[2].partition(b'"')[0].decode()
    return max(now - parse_instant(at) / 1e6, 1e-6)

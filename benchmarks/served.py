"""An invalidation over HTTP against the same in storage."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.cascades import WARM, time_cascade
from benchmarks.databases import fresh, opened
from benchmarks.graphs import FLEET, ROOT, layered, plant
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.sizes import Sizes
from retrograph.app import create_app
from retrograph.server import Server
from retrograph.storage.store import Store

FIRST = 100

_MUTATION = """
mutation Fell($input: InvalidateInput!, $first: Int!) {
  invalidate(input: $input) {
    __typename
    ... on InvalidationRun {
      id
      status
      impactCount
      impacts(first: $first) {
        edges { cursor node { node { id key validity } kind from to depth path } }
        pageInfo { hasNextPage endCursor }
      }
    }
    ... on UserError { code message }
  }
}
"""


def served(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The answer over HTTP brings the first page of impacts; the run in storage doesn't."""
    count = sizes.served
    template = plant(folder / "served.db", layered(count, sizes.depth))
    over_http = "over HTTP, with its first page"
    seconds = interleaved(
        sizes.rounds,
        {
            over_http: lambda: _time_over_http(template, count),
            WARM: lambda: time_cascade(template, count),
        },
    )
    what = f"`invalidate` over HTTP, first {FIRST} of {count:,} impacts included, against storage"
    yield compare(what, 1.2, seconds, over_http, WARM)


def _time_over_http(template: Path, count: int) -> float:
    with (
        opened(fresh(template), warm=True) as scope,
        _server(scope.store) as port,
        closing(HTTPConnection("127.0.0.1", port, timeout=600)) as client,
    ):
        _expect(_invalidate(client, "no such belief"), "__typename", "NotFound")
        answers: list[dict[str, Any]] = []
        seconds = timed(lambda: answers.append(_invalidate(client, f"belief:{ROOT - 1}")))
        _expect(answers[0], "impactCount", count)
        return seconds


def _invalidate(client: HTTPConnection, key: str) -> dict[str, Any]:
    asked = {"fleetId": str(FLEET), "root": {"key": key}, "reason": "measured"}
    body = {"query": _MUTATION, "variables": {"input": asked, "first": FIRST}}
    client.request("POST", "/graphql", json.dumps(body), {"Content-Type": "application/json"})
    answer: dict[str, Any] = json.loads(client.getresponse().read())
    if "errors" in answer:
        raise AssertionError(answer["errors"])
    told: dict[str, Any] = answer["data"]["invalidate"]
    return told


def _expect(answer: dict[str, Any], field: str, value: object) -> None:
    if answer.get(field) != value:
        raise AssertionError(f"{field} is not {value!r}: {answer}")


@contextmanager
def _server(store: Store) -> Iterator[int]:
    """A server in a thread of its own; gives its port."""
    server = Server(create_app(store))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]  # it queues who connects until the server is up
        finally:
            server.should_exit = True
            thread.join()

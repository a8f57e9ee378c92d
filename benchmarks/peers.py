"""Servers to compare with: `python -m benchmarks.peers NAME WHAT` serves, and says its port.

`memory` is our application whole, but what its threads are asked they know by heart. `stock` is
Strawberry as it comes out of the box, over objects of the shape of the answer. Both serve a number
of nodes. `broadcast` sends a number of events to each WebSocket, `singly` is our application over a
database, but it sends every event by itself.
"""

from __future__ import annotations

import gc
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import strawberry
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig

from retrograph.app import create_app
from retrograph.cli_serve import GC_THRESHOLDS
from retrograph.resolvers.scope import Scope
from retrograph.rules.instant import format_instant
from retrograph.rules.validity import Validity
from retrograph.schema import enums, feed
from retrograph.server import Server
from retrograph.storage.records import NodeKind, NodeRecord, Page
from retrograph.storage.store import open_store

MADE = 1_777_627_800_123_456
"""2026-05-01T09:30:00.123456Z."""


def main(name: str, what: str) -> None:
    """Serves until the process is ended."""
    serve(_singly(what) if name == "singly" else plain(PEERS[name](int(what))))


def serve(server: uvicorn.Server) -> None:
    """Serves on a free port, which it says, with our settings of the garbage collector."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        server.run(sockets=[listener])


def plain(app: Starlette) -> uvicorn.Server:
    """A server for an application as it is, but without signs of life."""
    protocol = "websockets-sansio"
    return uvicorn.Server(
        uvicorn.Config(app, log_level="warning", ws=protocol, ws_ping_interval=None)
    )


def _singly(database: str) -> uvicorn.Server:
    feed.BATCH_BYTES = 1
    return Server(create_app(open_store(database)), ws_ping_interval=None)


class _Knowing(ThreadPoolExecutor):
    """Threads that know the answer to what a page of nodes asks: a clock, and the page."""

    def __init__(self, page: Page[NodeRecord]) -> None:
        super().__init__(16)
        self._page = page

    def submit(self, fn: Callable[..., Any], /, *_: Any, **__: Any) -> Future[Any]:
        """The answer, by way of a thread."""
        assert isinstance(fn, partial)
        answer = MADE if Scope.clock in fn.args else self._page
        return super().submit(lambda: answer)


def _memory(count: int) -> Starlette:
    app = create_app(open_store(str(Path(tempfile.mkdtemp()) / "empty.db")))
    begin = app.router.lifespan_context
    page = Page([_record(place) for place in range(count)], False, MADE)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with begin(app):
            app.state.workers = _Knowing(page)
            yield

    app.router.lifespan_context = lifespan
    return app


def _record(place: int) -> NodeRecord:
    return NodeRecord(
        tenant_id=1,
        fleet_id=1,
        id=place + 1,
        key=f"belief:{place}",
        kind=NodeKind.ASSERTION,
        created_at=MADE,
        validity=Validity.CURRENTLY_VALID,
        projected=Validity.CURRENTLY_VALID,
        pinned=False,
        pin_reason=None,
        confidence=0.9,
        base_confidence=0.9,
        payload='{"claim":"the invoice agrees with the metered hours"}',
        contract_hash=None,
        expires_at=None,
        run_id=None,
        run_ordinal=None,
        valid_from=MADE,
        valid_to=None,
        as_of=MADE,
    )


@strawberry.type
class _Node:
    id: strawberry.ID
    key: str | None
    kind: enums.NodeKind
    validity: enums.Validity
    projected_validity: enums.Validity
    confidence: float
    pinned: bool
    payload: JSON | None
    valid_from: str
    version_id: strawberry.ID


@strawberry.type
class _Nodes:
    nodes: list[_Node]


@strawberry.type
class _Query:
    @strawberry.field
    def nodes(self, info: strawberry.Info, fleet_id: strawberry.ID, first: int) -> _Nodes:  # noqa: ARG002
        return _Nodes(nodes=info.root_value[:first])


def _stock(count: int) -> Starlette:
    nodes = [_node(place) for place in range(count)]

    class Served(GraphQL[None, list[_Node]]):
        async def get_root_value(self, request: Any) -> list[_Node]:  # noqa: ARG002
            return nodes

    schema = strawberry.Schema(_Query, config=StrawberryConfig(auto_camel_case=True))
    return Starlette(routes=[Route("/graphql", Served(schema, graphql_ide=None))])


def _node(place: int) -> _Node:
    return _Node(
        id=strawberry.ID(str(place + 1)),
        key=f"belief:{place}",
        kind=NodeKind.ASSERTION,
        validity=Validity.CURRENTLY_VALID,
        projected_validity=Validity.CURRENTLY_VALID,
        confidence=0.9,
        pinned=False,
        payload=JSON({"claim": "the invoice agrees with the metered hours"}),
        valid_from=format_instant(MADE),
        version_id=strawberry.ID(f"{place + 1}@{MADE}"),
    )


def _broadcast(count: int) -> Starlette:
    """Speaks as much of the protocol as a subscriber needs; events have the size of ours."""
    sockets: dict[WebSocket, str] = {}

    async def serve(socket: WebSocket) -> None:
        await socket.accept(subprotocol="graphql-transport-ws")
        await socket.receive_json()
        await socket.send_json({"type": "connection_ack"})
        sockets[socket] = (await socket.receive_json())["id"]
        await socket.receive()

    async def ready(_: Request) -> Response:
        return Response(str(len(sockets)))

    async def tell(_: Request) -> Response:
        for place in range(count):
            payload = response_of(place)
            for each, id in sockets.items():
                await each.send_json({"id": id, "type": "next", "payload": payload})
        return Response()

    return Starlette(
        routes=[
            WebSocketRoute("/graphql", serve),
            Route("/ready", ready),
            Route("/tell", tell),
        ]
    )


_EXTENSIONS = {
    "cost": {"requested": 7, "limit": 10_000},
    "asOf": {"1": format_instant(MADE)},
}


def response_of(place: int) -> dict[str, Any]:
    """A response to an event, of the size of ours."""
    return {"data": {"events": _event(place)}, "extensions": _EXTENSIONS}


def _event(place: int) -> dict[str, Any]:
    return {
        "cursor": f"{MADE}-{place}",
        "type": "NODE_STALE",
        "at": format_instant(MADE),
        "node": {"id": str(place), "key": f"belief:{place}", "validity": "INVALID"},
        "detail": {"depth": 1, "from": "CURRENTLY_VALID", "to": "INVALID"},
    }


PEERS: Mapping[str, Callable[[int], Starlette]] = {
    "memory": _memory,
    "stock": _stock,
    "broadcast": _broadcast,
}

if __name__ == "__main__":
    main(*sys.argv[1:])

"""Servers to compare with: `python -m benchmarks.peers NAME COUNT` serves nodes, and says its port.

`memory` is our application whole, but what its threads are asked they know by heart. `stock` is
Strawberry as it comes out of the box, over objects of the shape of the answer.
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
from starlette.routing import Route
from strawberry.asgi import GraphQL
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig

from retrograph.app import create_app
from retrograph.cli_serve import GC_THRESHOLDS
from retrograph.resolvers.scope import Scope
from retrograph.rules.instant import format_instant
from retrograph.rules.validity import Validity
from retrograph.schema import enums
from retrograph.storage.records import NodeKind, NodeRecord, Page
from retrograph.storage.store import open_store

MADE = 1_777_627_800_123_456
"""2026-05-01T09:30:00.123456Z."""


def main(name: str, count: str) -> None:
    """Serves until the process is ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = PEERS[name](int(count))
        print(listener.getsockname()[1], flush=True)
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


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


PEERS: Mapping[str, Callable[[int], Starlette]] = {"memory": _memory, "stock": _stock}

if __name__ == "__main__":
    main(*sys.argv[1:])

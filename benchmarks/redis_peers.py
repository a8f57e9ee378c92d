"""Redis's publish and subscribe through redis-py: `python -m benchmarks.redis_peers URL` serves.

Each subscriber has a subscription of its own at Redis, as it has where each iterates over a
channel. What comes is sent to its WebSocket; for as many as `/hear/COUNT` asks for it is only
counted.
"""

from __future__ import annotations

import asyncio
import sys

from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from benchmarks.peers import plain, serve

CHANNEL = "events"
AT_ONCE = 50
"""Connections that are being made to Redis: it lets only so many wait."""
PATIENCE = 60
"""Seconds that one may take."""


class Hearing:
    """How many subscriptions there are, and what has come on all of them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._tasks: set[asyncio.Task[None]] = set()
        self._connecting = asyncio.Semaphore(AT_ONCE)
        self.begun = 0
        self.heard = 0

    async def listen(self, to: WebSocket | None = None, id: str = "") -> None:
        """Hears for a subscriber what is published, and sends it on as it comes."""
        async with (
            Redis.from_url(self._url, socket_connect_timeout=PATIENCE) as client,
            client.pubsub() as channel,
        ):
            async with self._connecting:
                await channel.subscribe(CHANNEL)
            async for message in channel.listen():
                if message["type"] == "subscribe":
                    self.begun += 1
                    continue
                self.heard += 1
                if to is not None:
                    payload = message["data"].decode()
                    await to.send_text(f'{{"id":"{id}","type":"next","payload":{payload}}}')

    async def serve(self, to: WebSocket) -> None:
        """Speaks as much of the protocol as a subscriber needs."""
        await to.accept(subprotocol="graphql-transport-ws")
        await to.receive_json()
        await to.send_json({"type": "connection_ack"})
        await self.listen(to, (await to.receive_json())["id"])

    async def hear(self, request: Request) -> Response:
        """Begins to listen for so many."""
        for _ in range(request.path_params["count"]):
            self._tasks.add(asyncio.create_task(self.listen()))
        return Response()

    async def ready(self, _: Request) -> Response:
        """How many listen."""
        return Response(str(self.begun))

    async def told(self, _: Request) -> Response:
        """How much has come."""
        return Response(str(self.heard))


def main(url: str) -> None:
    """Serves until the process is ended."""
    hearing = Hearing(url)
    app = Starlette(
        routes=[
            WebSocketRoute("/graphql", hearing.serve),
            Route("/hear/{count:int}", hearing.hear),
            Route("/ready", hearing.ready),
            Route("/told", hearing.told),
        ]
    )
    serve(plain(app))


if __name__ == "__main__":
    main(*sys.argv[1:])

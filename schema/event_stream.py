"""GraphQL over server-sent events: the distinct connections mode of graphql-sse.

One request, one operation: each of its results is a `next` event, and `complete` says that there
are no more. Comments in between keep proxies from taking the connection for dead.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from strawberry.schema.schema import StreamResult
from strawberry.types import ExecutionResult

from retrograph.schema.answers import answer_of
from retrograph.schema.bell import Bell
from retrograph.schema.feed import Way
from retrograph.schema.negotiation import EVENT_STREAM
from retrograph.schema.stream_limits import StreamLimits
from retrograph.schema.wire import write_json

_COMMENT = b":\n\n"
_COMPLETE = b"event: complete\ndata: \n\n"
_HEADERS = {
    "vary": "accept",
    "cache-control": "no-cache, no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}

_log = logging.getLogger(__name__)


class EventStream(Response):
    """Tells the results of an operation as they come, for as long as the client stays.

    It writes no faster than the client reads. When the client leaves, or reads nothing for too
    long, what `bell` would wake is ended; `results` is closed in the end.
    """

    media_type = EVENT_STREAM

    def __init__(self, results: StreamResult, bell: Bell, limits: StreamLimits) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self._results = results
        self._bell = bell
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers; to HEAD with nothing but headers."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            if scope["method"] != "HEAD":
                await self._serve(receive, send)
            await self._write(send, b"", more=False)
        except OSError as error:  # TimeoutError among them
            _log.debug("a client of an event stream is gone: %r", error)

    async def _serve(self, receive: Receive, send: Send) -> None:
        telling = asyncio.create_task(self._tell(send))
        others = [asyncio.create_task(each) for each in (self._keep_alive(send), _left(receive))]
        try:
            await asyncio.wait((telling, *others), return_when=asyncio.FIRST_COMPLETED)
            self._bell.end(telling)  # cancelling it would leave an event half resolved
            await telling
        finally:
            for each in (telling, *others):
                each.cancel()
            await asyncio.gather(telling, *others, return_exceptions=True)

    async def _tell(self, send: Send) -> None:
        async with aclosing(self._results) as results:
            async for result in results:
                assert isinstance(result, ExecutionResult)  # noqa: S101 (the schema defers nothing)
                way: object = result.data
                if isinstance(way, Way):
                    while taken := await way.take():
                        await self._write(send, b"".join(map(_next, taken)))
                else:
                    await self._write(send, _next(write_json(answer_of(result))))
        await self._write(send, _COMPLETE)

    async def _keep_alive(self, send: Send) -> None:
        while True:
            await self._write(send, _COMMENT)
            await asyncio.sleep(self._limits.keep_alive)

    async def _write(self, send: Send, chunk: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._limits.reader):
            await send({"type": "http.response.body", "body": chunk, "more_body": more})


def _next(data: bytes) -> bytes:
    return b"event: next\ndata: " + data + b"\n\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""A span for each request that asks for GraphQL, as a part of what its client traces.

A WebSocket has none: each of its operations is a part of what opened it. An event stream's ends
when it begins to tell.
"""

from __future__ import annotations

from functools import partial

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retrograph import tracing
from retrograph.schema.current_request import request_id
from retrograph.schema.negotiation import EVENT_STREAM

ROUTE = "/graphql"
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})


class RequestTrace:
    """Tells of requests by what they are, never by what they ask."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the application answer within a span."""
        if scope["type"] == "lifespan" or scope["path"] != ROUTE:
            await self._app(scope, receive, send)
            return
        with tracing.received(Headers(scope=scope)):
            if scope["type"] == "websocket":
                await self._app(scope, receive, send)
            else:
                await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        told = {"http__request__method": method, "http__route": ROUTE, "url__path": ROUTE}
        id = request_id() or ""
        with tracing.span(f"{method} {ROUTE}", "SERVER", **told, retrograph__request_id=id) as span:
            await self._app(scope, receive, partial(_send, send, span))


async def _send(send: Send, span: tracing.Span, message: Message) -> None:
    if message["type"] == "http.response.start":
        span.tell(http__response__status_code=message["status"])
        if message["status"] >= 500:
            span.fail(str(message["status"]))
    await send(message)
    if message["type"] == "http.response.start" and _begins_stream(message):
        span.end()


def _begins_stream(message: Message) -> bool:
    return Headers(raw=message.get("headers", [])).get("content-type", "").startswith(EVENT_STREAM)

"""One line for each request: who serves it may read from the log what was asked and what came.

A line holds no query, no variables and no header but the request's id.
"""

from __future__ import annotations

import json
import logging
import re
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retrograph.schema.current_request import begun_request

HEADER = "x-request-id"
"""Carries the id of a request, from the client if it has one, and always to the client."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+@~-]+")
_LONGEST = 200

_log = logging.getLogger(__name__)


class RequestLog:
    """Numbers every request and every socket, and writes a line when it has ended."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the application answer; the answer gets the id in a header."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        begun = perf_counter()
        with begun_request(Headers(scope=scope).getlist(HEADER)) as request:
            answer = _Answer(send, request.id)
            try:
                await self._app(scope, receive, answer.send)
            finally:
                method = scope.get("method", "WEBSOCKET")
                spent = f"{(perf_counter() - begun) * 1000:.1f}"
                told = {"method": method, "path": scope["path"], "status": answer.status}
                log_line(**told, ms=spent, bytes=answer.size, operation=request.operation)


class _Answer:
    """What goes out: its status and its size are noted, and it is given the request's id."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status: int | None = None
        self.size: int | None = None

    async def send(self, message: Message) -> None:
        kind = message["type"]
        if kind in {"http.response.start", "websocket.http.response.start", "websocket.accept"}:
            message.setdefault("headers", [])
            MutableHeaders(scope=message)[HEADER] = self._request_id
            self.status = message.get("status", 101)
        elif kind == "websocket.close" and self.status is None:
            self.status = 403  # refused before the handshake
        elif kind == "http.response.body":
            self.size = (self.size or 0) + len(message.get("body", b""))
        await self._send(message)


def log_line(**pairs: object) -> None:
    """Writes `key=value` pairs at level info; None is left out, odd text is quoted as in JSON."""
    if _log.isEnabledFor(logging.INFO):
        said = (f"{name}={_value(each)}" for name, each in pairs.items() if each is not None)
        _log.info("%s", " ".join(said))


def _value(value: object) -> str:
    text = str(value)[:_LONGEST]
    return text if _PLAIN.fullmatch(text) else json.dumps(text)

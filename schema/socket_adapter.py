"""One socket as its operations see it: sending and closing go well, or the peer counts as gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect
from strawberry.asgi import ASGIWebSocketAdapter
from strawberry.http.exceptions import WebSocketDisconnected
from uvicorn.protocols.utils import ClientDisconnected

from retrograph.schema.feed import Payloads
from retrograph.schema.socket_frames import next_frames, next_texts, text_frame
from retrograph.schema.socket_protocol import FRAMES
from retrograph.schema.stream_limits import StreamLimits
from retrograph.schema.wire import write_json

TRY_AGAIN_LATER = 1013
"""Closes a socket whose peer is too slow (RFC 6455's registry: try again later)."""

MAX_REASON_BYTES = 123
"""What the frame that closes a socket has room for (RFC 6455, 5.5)."""


class SocketAdapter(ASGIWebSocketAdapter):
    """Writes wait for the peer to read, so that nothing piles up; but not for ever."""

    def __init__(self, view: Any, request: WebSocket, response: WebSocket) -> None:
        super().__init__(view, request, response)
        self.limits: StreamLimits = view.limits
        self.gone = asyncio.Event()
        extensions: Mapping[str, Any] = request.scope.get("extensions") or {}
        self._write_now: Callable[[bytes], bool] | None = extensions.get(FRAMES)

    async def send_json(self, message: Mapping[str, object]) -> None:
        """Sends a message; raises `WebSocketDisconnected` where nobody takes it."""
        try:
            async with asyncio.timeout(self.limits.reader):
                await super().send_json(message)
        except (RuntimeError, TimeoutError) as error:  # it was closed meanwhile, or is not read
            self.gone.set()
            raise WebSocketDisconnected from error

    async def send_next(self, id: bytes, payloads: Payloads) -> None:
        """Sends results of an operation in one go; `id` is JSON, as they are.

        Raises `TimeoutError` if the peer reads nothing for long.
        """
        try:
            if self._write_now is None:
                await self._send_each(next_texts(id, payloads))
                return
            frames = next_frames(id, payloads)
            if not self._write_now(frames):
                async with asyncio.timeout(self.limits.reader):
                    await self.ws.send({"type": "websocket.send", FRAMES: frames})
        except (RuntimeError, ClientDisconnected, WebSocketDisconnect) as error:
            self.gone.set()
            raise WebSocketDisconnected from error

    async def _send_each(self, texts: Sequence[bytes]) -> None:
        async with asyncio.timeout(self.limits.reader):
            for each in texts:
                await self.ws.send_text(each.decode())

    async def dismiss(self, error: Mapping[str, object], reason: str) -> None:
        """Says why, and closes, though the peer reads nothing: it may find this in the end."""
        frames = text_frame(write_json(error))
        try:
            async with asyncio.timeout(self.limits.goodbye):
                await self.ws.send(
                    {
                        "type": "websocket.close",
                        "code": TRY_AGAIN_LATER,
                        "reason": reason,
                        FRAMES: frames,
                    }
                )
        except (RuntimeError, TimeoutError, WebSocketDisconnect):
            pass
        self.gone.set()

    async def close(self, code: int, reason: str) -> None:
        """Closes; a socket that is closed already, or that nobody reads, is left as it is."""
        short = reason.encode(errors="replace")[:MAX_REASON_BYTES].decode(errors="ignore")
        try:
            async with asyncio.timeout(self.limits.goodbye):
                await super().close(code, short)
        except (RuntimeError, TimeoutError, WebSocketDisconnect):
            self.gone.set()

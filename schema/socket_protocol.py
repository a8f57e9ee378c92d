"""WebSockets on the wire where uvicorn would do more than is needed, or wait too long.

A server that speaks this says so to the application by the extension `TEXTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request

TEXTS = "retrograph.texts"
"""In a scope, that `websocket.send` takes many messages at once; in it, these, in UTF-8."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """One connection; messages that are sent together are written together."""

    def handle_connect(self, event: Request) -> None:
        """Begins a connection whose application knows what it may send."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            self.scope["extensions"][TEXTS] = {}

    async def send(self, message: Any) -> None:
        """Sends what the application says; last words don't wait until the peer reads."""
        texts: Sequence[bytes] | None = message.get(TEXTS)
        if texts is None:
            await super().send(message)
        elif message["type"] == "websocket.close":
            self._write(texts)
            self.writable.set()
            await super().send(message)
        else:
            await self.writable.wait()
            self._write(texts)

    def _write(self, texts: Sequence[bytes]) -> None:
        if self.disconnected or self.close_sent:
            raise ClientDisconnected
        try:
            for text in texts:
                self.conn.send_text(text)
        except InvalidState:
            raise ClientDisconnected from None
        self.transport.write(b"".join(self.conn.data_to_send()))

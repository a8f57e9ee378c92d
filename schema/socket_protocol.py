"""WebSockets on the wire where uvicorn would do more than is needed, or wait too long.

A server that speaks this says so to the application by the extension `FRAMES`.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

FRAMES = "retrograph.frames"
"""In a scope's extensions: writes frames if the peer keeps up, and tells whether it has.

In `websocket.send`, which waits until it does, and in `websocket.close`: frames to write, as bytes.
"""


class SocketProtocol(WebSocketsSansIOProtocol):
    """One connection; messages that come as frames are written as they are, together."""

    def handle_connect(self, event: Request) -> None:
        """Begins a connection whose application knows what it may send."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[FRAMES] = self.write_now

    async def send(self, message: Any) -> None:
        """Sends what the application says; last words don't wait until the peer reads."""
        frames: bytes | None = message.get(FRAMES)
        if frames is None:
            await super().send(message)
        elif message["type"] == "websocket.close":
            self._write(frames)
            self.writable.set()
            await super().send(message)
        else:
            await self.writable.wait()
            self._write(frames)

    def write_now(self, frames: bytes) -> bool:
        """Writes frames unless others wait; raises `ClientDisconnected` where nobody reads."""
        if not self.writable.is_set():
            return False
        self._write(frames)
        return True

    def _write(self, frames: bytes) -> None:
        if self.disconnected or self.close_sent or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        self.transport.write(frames)

"""The server that carries the application: what it lets in, how it keeps alive, how it stops."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette

from retrograph.app import drain
from retrograph.schema.http_protocol import http_server_options
from retrograph.schema.limits import MAX_MESSAGE_BYTES
from retrograph.schema.middleware import DEFAULT_HTTP
from retrograph.schema.socket_protocol import SocketProtocol
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS, StreamLimits

GRACE_SECONDS = 5
"""How long streams may take to end when the server stops, and requests after them."""

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn, but streams end by themselves before their connections are closed.

    A request's head may take `receive_seconds` to arrive. Sockets are pinged every `keep_alive`
    seconds; one that doesn't answer until the next ping is closed. `more` goes to uvicorn's
    configuration.
    """

    def __init__(
        self,
        app: Starlette,
        limits: StreamLimits = DEFAULT_STREAM_LIMITS,
        receive_seconds: float = DEFAULT_HTTP.receive_seconds,
        **more: Any,
    ) -> None:
        settings = http_server_options(receive_seconds) | {
            "log_level": "warning",
            "ws": SocketProtocol,
            # What many are told alike would be compressed for each, with a memory of its own.
            "ws_per_message_deflate": False,
            "ws_max_size": MAX_MESSAGE_BYTES,
            "ws_ping_interval": limits.keep_alive,
            "ws_ping_timeout": limits.keep_alive,
            "timeout_graceful_shutdown": GRACE_SECONDS,
        }
        super().__init__(uvicorn.Config(app, **settings | more))
        self._app = app
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen; connections inherit how long their peers may read nothing.

        Also that nothing is held back: the head and the body of an answer are sent one after the
        other, and the second would wait 40 ms for the peer to acknowledge the first. asyncio
        doesn't see to that for sockets that name no protocol.
        """
        for each in sockets or ():
            _limit_silence(each, self._limits.reader)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets nobody in any more, ends streams, then everything else."""
        for each in self.servers:
            each.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await drain(self._app)
        except TimeoutError:
            _log.warning("streams did not end in time; they are cut off")
        await super().shutdown(sockets)


def _limit_silence(listener: socket.socket, seconds: float) -> None:
    """Lets the system drop peers that take nothing; else what waits for them would keep them."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))

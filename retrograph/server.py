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
        settings = http_server_options(receive_seconds, limits.reader) | {
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

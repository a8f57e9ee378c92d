"""Answers in gzip, for clients that take it. Streams are left alone."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from retrograph.schema.negotiation import takes_gzip

GZIP_BYTES = 1_400
"""Answers from this size on are compressed: what is smaller fits into one packet anyway."""
GZIP_LEVEL = 1
"""Quick rather than small: answers are made for one caller and sent once."""


class Compression(GZipMiddleware):
    """Compresses answers for clients that take gzip, by the weights of what they accept."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the application answer."""
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            accepted = ", ".join(headers.getlist("accept-encoding"))
            if accepted:
                headers["accept-encoding"] = "gzip" if takes_gzip(accepted) else "identity"
        await super().__call__(scope, receive, send)

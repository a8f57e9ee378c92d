"""How long a request is, said once: who stands in between may read it otherwise than we do."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from retrograph.schema.refusals import Refused, error_response


class FramingGuard:
    """Refuses a request that gives a length and comes in chunks, and closes its connection.

    A proxy that believes the length would take for another request what is the body's end here, or
    the other way round (RFC 9112, section 6.1).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or lets the application answer."""
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        if "content-length" in headers and "transfer-encoding" in headers:
            await error_response(_AMBIGUOUS)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


_AMBIGUOUS = Refused(
    400,
    "Send `Content-Length` or `Transfer-Encoding`, but not both.",
    headers={"connection": "close"},
)

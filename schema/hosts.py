"""Which hosts a request may name, where the network alone says who may ask.

A page from elsewhere can make its own name lead to this machine (DNS rebinding), and its browser
then takes this server for the page's own. But the browser tells by which name it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from retrograph.schema.refusals import Refused, error_response

IsTrusted = Callable[[str], bool]
"""Whether a host, a name or an address without brackets, may be named."""

_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:\[\]@/]+))(?::[0-9]*)?")


class HostGuard:
    """Lets nobody pass whose `Host` is not trusted: HTTP gets 421, a WebSocket no handshake."""

    def __init__(self, app: ASGIApp, is_trusted: IsTrusted) -> None:
        self._app = app
        self._is_trusted = is_trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or lets the application answer."""
        if scope["type"] == "lifespan" or self._admits(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)  # before the handshake: 403
        else:
            await error_response(_MISDIRECTED)(scope, receive, send)

    def _admits(self, headers: Headers) -> bool:
        hosts = headers.getlist("host")
        return len(hosts) == 1 and is_authority_of(hosts[0], self._is_trusted)


def is_authority_of(authority: str, is_trusted: IsTrusted) -> bool:
    """Whether an authority, `host`, `host:port` or `[address]:port`, names a trusted host."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_trusted(match[1] or match[2])


def is_origin_of(origin: str, is_trusted: IsTrusted) -> bool:
    """Whether an `Origin`, such as `http://localhost:3000`, is a page of a trusted host."""
    try:
        scheme, authority, *rest = urlsplit(origin)
    except ValueError:
        return False
    return scheme in {"http", "https"} and not any(rest) and is_authority_of(authority, is_trusted)


_MISDIRECTED = Refused(
    421,
    "This server answers on its own machine alone: name it 127.0.0.1, [::1] or localhost.",
    "MISDIRECTED_REQUEST",
)

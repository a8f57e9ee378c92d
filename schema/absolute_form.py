"""Requests that name the server in their first line, as clients send them to proxies."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_TARGET = re.compile(rb"https?://([^/?#@\s]+)(/[^?#]*)?", re.IGNORECASE)


class AbsoluteForm:
    """Takes `GET http://host/graphql` for what it means; the host in it goes before `Host`.

    A server must understand it (RFC 9112, section 3.2.2). Whatever stands behind this sees the
    path alone, as it would have come otherwise.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the application answer."""
        target = _TARGET.fullmatch(scope.get("raw_path") or b"")
        if target is not None:
            scope = {**scope, **_in_origin_form(scope, target[1], target[2] or b"/")}
        await self._app(scope, receive, send)


def _in_origin_form(scope: Scope, authority: bytes, path: bytes) -> Scope:
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {
        "headers": [(b"host", authority), *others],
        "raw_path": path,
        "path": unquote(path.decode("latin-1")),
    }

"""Answers where nothing else answers: our own faults, and paths and methods that aren't there."""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retrograph.schema.refusals import Refused, error_response

_log = logging.getLogger(__name__)


class FailureGuard:
    """Answers in our stead where we fail, and logs the fault with its traceback, once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the application answer; what fails after its answer has begun is the server's."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if begun:
                raise
            _log.exception("a request failed")
            await error_response(_OURS)(scope, receive, send)


async def refuse_route(request: Request, error: Exception) -> Response:
    """A path or a method that the application doesn't have."""
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for it)
    code, message = _ROUTES.get(error.status_code, ("BAD_REQUEST", error.detail))
    allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
    told = message.format(method=request.method, allowed=", ".join(allowed))
    headers = {"allow": ", ".join(allowed)} if error.status_code == 405 else None
    return error_response(Refused(error.status_code, told, code, headers))


_ROUTES = {
    404: ("NOT_FOUND", "There is nothing at this path. GraphQL is at /graphql, exactly."),
    405: ("METHOD_NOT_ALLOWED", "{method} is not taken here. Use {allowed}."),
}
_OURS = Refused(500, "Something went wrong on our side.", "INTERNAL_ERROR")

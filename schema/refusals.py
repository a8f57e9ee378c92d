"""Requests that are not executed, and how that is told: as JSON, like a GraphQL response."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from retrograph.schema.negotiation import JSON
from retrograph.schema.wire import write_json

_HEADERS = {"vary": "accept", "cache-control": "no-store", "x-content-type-options": "nosniff"}


class Refused(Exception):
    """A request that is not executed: its HTTP status, what to tell, and headers to add."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str = "BAD_REQUEST",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


def error_response(refused: Refused, media_type: str = JSON) -> Response:
    """A refusal as JSON, in the shape of a GraphQL response without data."""
    error = {"message": str(refused), "extensions": {"code": refused.code}}
    return json_response({"errors": [error]}, refused.status, media_type, refused.headers)


def json_response(
    answer: Mapping[str, object],
    status: int = 200,
    media_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer as JSON; it belongs to whoever asked, so nothing on its way may keep it."""
    return Response(
        write_json(answer),
        status_code=status,
        media_type=f"{media_type}; charset=utf-8",
        headers={**_HEADERS, **(headers or {})},
    )

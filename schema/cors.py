"""Which pages of other origins may ask, and read what is answered."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from retrograph.schema.refusals import Refused, error_response
from retrograph.schema.request_log import HEADER


def cors_layer(origins: Sequence[str]) -> Middleware:
    """The layer that lets pages of these origins ask, of all with `*`.

    Never with credentials: a caller shows a token, which no browser sends by itself.
    """
    return Middleware(
        Cors,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", HEADER, "traceparent", "tracestate"],
        expose_headers=[HEADER],
    )


class Cors(CORSMiddleware):
    """Tells browsers which pages may ask; a preflight that is refused gets JSON like all else."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """The answer to a browser that asks before it sends what a page wants."""
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        refused = Refused(
            response.status_code, "Pages from there may not ask this.", "CROSS_ORIGIN"
        )
        answer = error_response(refused)
        for name, value in response.headers.items():
            if name == "vary" or name.startswith("access-control-"):
                answer.headers[name] = value
        return answer

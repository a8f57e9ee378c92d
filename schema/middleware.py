"""What every HTTP request goes through on its way to its route, from the outside in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.middleware import Middleware

from retrograph import tracing
from retrograph.schema.absolute_form import AbsoluteForm
from retrograph.schema.compression import GZIP_BYTES, GZIP_LEVEL, Compression
from retrograph.schema.cors import cors_layer
from retrograph.schema.failure_guard import FailureGuard
from retrograph.schema.framing import FramingGuard
from retrograph.schema.hosts import HostGuard, IsTrusted
from retrograph.schema.request_log import RequestLog
from retrograph.schema.request_trace import RequestTrace


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How HTTP is served.

    Pages from `cors_origins` may ask and read the answer, from every origin with `*`; the body of
    a request may take `receive_seconds` to arrive. `graphiql` gives browsers a page.
    """

    cors_origins: Sequence[str] = ()
    receive_seconds: float = 30
    graphiql: bool = True


DEFAULT_HTTP = HttpOptions()


def make_middleware(options: HttpOptions, is_trusted: IsTrusted | None) -> list[Middleware]:
    """The layers around the routes; `is_trusted` tells by which hosts they may be named."""
    guard = [] if is_trusted is None else [Middleware(HostGuard, is_trusted=is_trusted)]
    return [
        Middleware(AbsoluteForm),
        Middleware(RequestLog),
        *([Middleware(RequestTrace)] if tracing.is_on() else []),
        Middleware(FramingGuard),
        *guard,
        *([cors_layer(options.cors_origins)] if options.cors_origins else []),
        Middleware(Compression, minimum_size=GZIP_BYTES, compresslevel=GZIP_LEVEL),
        Middleware(FailureGuard),
    ]

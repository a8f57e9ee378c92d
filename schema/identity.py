"""Who asks: what a caller proves, and how a transport finds out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import HTTPConnection

from retrograph.resolvers.scope import Role
from retrograph.rules.errors import Unauthenticated
from retrograph.schema.context import Caller

HEADER = "authorization"
"""The header that carries a token, and the field of `connection_init`'s payload that may."""
SCHEME = "bearer"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a caller has proved.

    `fleet_ids` None means every fleet of the tenant; `expires_at` is the instant from which on the
    proof counts no more, None for never. `subject` is who the proof was given to, if it tells.
    """

    tenant_id: int
    fleet_ids: frozenset[int] | None
    roles: frozenset[Role]
    expires_at: int | None = None
    subject: str | None = None


class Identify(Protocol):
    """Reads a proof."""

    async def __call__(self, token: str | None) -> Identity:
        """Whom a token stands for, None where none was given; raises `Unauthenticated`."""


class FindCaller(Protocol):
    """Tells a transport who asks."""

    async def __call__(
        self, connection: HTTPConnection, init_payload: Mapping[str, Any] | None = None
    ) -> Caller:
        """The caller by the connection's headers, or by the payload of `connection_init`.

        Raises `Unauthenticated`.
        """


def find_token(
    connection: HTTPConnection, init_payload: Mapping[str, Any] | None = None
) -> str | None:
    """The bearer token of the payload, else of the headers; None where there is neither.

    A page can't give a socket headers, so it gives the payload a field of the header's name, in any
    case. Raises `Unauthenticated` for what is no bearer token.
    """
    for name, value in (init_payload or {}).items():
        if name.lower() == HEADER:
            return _bearer(value)
    given = connection.headers.getlist(HEADER)
    return _bearer(given[0] if len(given) == 1 else given) if given else None


def shows_bearer(connection: HTTPConnection) -> bool:
    """Whether the headers show a bearer token, or try to."""
    given = connection.headers.getlist(HEADER)
    return any(each.partition(" ")[0].lower() == SCHEME for each in given)


def _bearer(value: object) -> str:
    scheme, _, token = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if scheme.lower() != SCHEME or not token.strip():
        raise Unauthenticated("Send `Authorization: Bearer` and one token.")
    return token.strip()

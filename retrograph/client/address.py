"""Where the API is, for HTTP and for WebSockets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlunsplit

from retrograph.client.errors import Unauthenticated
from retrograph.rules.url import split_url

_SOCKETS = {"http": "ws", "https": "wss"}
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, section 2.1."""


@dataclass(frozen=True, slots=True)
class Address:
    """The same endpoint by its two schemes."""

    http: str
    socket: str

    @classmethod
    def of(cls, url: str) -> Address:
        """The address at an `http://` or `https://` URL; `ValueError` for another."""
        try:
            parts = split_url(url)
        except ValueError as error:
            raise ValueError(
                f"{url!r} {error}; give one like https://memory.example/graphql."
            ) from None
        return cls(url, urlunsplit(parts._replace(scheme=_SOCKETS[parts.scheme])))


def bearer(token: str | None) -> dict[str, str]:
    """What carries a token: the headers of a request, or the first payload on a WebSocket.

    White space around it, such as a file's last newline, is left out. Raises `Unauthenticated` for
    what no token can be, without quoting it.
    """
    if token is None:
        return {}
    if _TOKEN.fullmatch(token.strip()) is None:
        raise Unauthenticated("The token holds signs that no token has.", code="UNAUTHENTICATED")
    return {"authorization": f"Bearer {token.strip()}"}

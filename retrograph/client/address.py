"""Where the API is, for HTTP and for WebSockets."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

_SOCKETS = {"http": "ws", "https": "wss"}


@dataclass(frozen=True, slots=True)
class Address:
    """The same endpoint by its two schemes."""

    http: str
    socket: str

    @classmethod
    def of(cls, url: str) -> Address:
        """The address at an `http://` or `https://` URL; `ValueError` for another."""
        parts = urlsplit(url)
        if parts.scheme not in _SOCKETS or not parts.hostname:
            raise ValueError(f"{url!r} is no URL like https://memory.example/graphql.")
        return cls(url, urlunsplit(parts._replace(scheme=_SOCKETS[parts.scheme])))


def bearer(token: str | None) -> dict[str, str]:
    """The header that a token goes in."""
    return {} if token is None else {"authorization": f"Bearer {token}"}

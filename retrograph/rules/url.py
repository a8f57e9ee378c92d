"""What the URL of a server must be, so that whoever asks it never stumbles over the URL itself."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_WRITTEN = re.compile(r"[!-~]+")
"""ASCII without white space and signs of control (RFC 3986)."""


def split_url(text: str) -> SplitResult:
    """The parts of an `http://` or `https://` URL, whose host and port can be asked for.

    Raises `ValueError`, which says what it must be, as words that follow its name.
    """
    if not _WRITTEN.fullmatch(text):
        raise ValueError(
            "must be written in ASCII without spaces: percent-encode what isn't (é is %C3%A9)"
        )
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must begin with http:// or https:// and name a host")
    if not _has_port(parts):
        raise ValueError("must have a port from 1 to 65535, or none")
    return parts


def _has_port(parts: SplitResult) -> bool:
    """Whether its port is one, or left out."""
    try:
        return parts.port != 0
    except ValueError:
        return False

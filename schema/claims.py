"""What a token claims: tenant, fleets, roles, and how long it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograph.resolvers.scope import Role
from retrograph.rules.errors import InvalidInput, Unauthenticated
from retrograph.rules.instant import EARLIEST, LATEST, SECOND
from retrograph.rules.limits import check_id
from retrograph.schema.identity import Identity

EVERY_FLEET = "*"
"""In microseconds."""


def read_claims(claims: Mapping[str, Any], now: int, leeway: int) -> Identity:
    """Whom claims that were verified stand for at `now`, with `leeway` for clocks that differ.

    Both in microseconds. Raises `Unauthenticated`; the message names the claim.
    """
    expires_at = min(_instant(claims, "exp") + leeway, LATEST)
    if expires_at <= now:
        raise Unauthenticated("The token has expired; get a new one.")
    if "nbf" in claims and _instant(claims, "nbf") - leeway > now:
        raise Unauthenticated("The token doesn't count yet; look at its claim `nbf`.")
    return Identity(
        _id(claims.get("tenant"), "tenant"),
        _fleets(claims.get("fleets")),
        frozenset(_role(each) for each in _list(claims.get("roles"), "roles")),
        expires_at,
        _subject(claims),
    )


def _subject(claims: Mapping[str, Any]) -> str | None:
    subject = claims.get("sub")
    if subject is None or isinstance(subject, str):
        return subject
    raise _wrong("sub", "text")


def _instant(claims: Mapping[str, Any], name: str) -> int:
    """Seconds since the epoch, with or without a fraction, as microseconds."""
    value = claims.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        instant = value * SECOND
        if EARLIEST <= instant <= LATEST:  # NaN is not
            return round(instant)
    raise _wrong(name, "seconds since 1970")


def _fleets(value: object) -> frozenset[int] | None:
    if value == EVERY_FLEET:
        return None
    return frozenset(_id(each, "fleets") for each in _list(value, "fleets"))


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(name, "a list of ids, or `*`" if name == "fleets" else "a list of names")
    return value


def _id(value: object, name: str) -> int:
    try:
        return check_id(value)
    except InvalidInput:
        raise _wrong(name, "64-bit ids" if name == "fleets" else "a 64-bit id") from None


def _role(value: object) -> Role:
    if not isinstance(value, str) or value not in Role.__members__:
        raise _wrong("roles", "names among " + ", ".join(Role.__members__))
    return Role[value]


def _wrong(name: str, wanted: str) -> Unauthenticated:
    return Unauthenticated(f"The token's claim `{name}` must give {wanted}.")

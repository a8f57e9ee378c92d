"""Instants: plain `int` microseconds since 1970-01-01T00:00:00Z, and their RFC 3339 text.

Integer arithmetic only, so that an instant read back names the very same version.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from retrograph.rules.errors import FieldPath, InstantInFuture, InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
"""In microseconds."""
EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
"""The first instant of year 1, in microseconds."""
LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
"""The last microsecond of year 9999."""

_LONGEST = 64
"""Characters of a wrong text that are looked at to name the mistake."""
_EXAMPLE = "Write it like 2024-05-01T09:30:00.123456Z."
_STRICT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,6}))?[Zz]"
)
# What is wrong, from the most telling sign on; the first that matches names the mistake.
_MISTAKES = (
    (
        re.compile(r".*T.*[+-][0-9]{2}:?[0-9]{2}", re.IGNORECASE),
        "has an offset; only UTC (Z) is taken.",
    ),
    (re.compile(r".*\.[0-9]{7,}Z?", re.IGNORECASE), "has more than six fractional digits."),
    (
        re.compile(r".*T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?", re.IGNORECASE),
        "has no zone; end it with Z.",
    ),
    (
        re.compile(r".*:60(\.[0-9]*)?Z", re.IGNORECASE),
        "names a leap second; use second 59 or the next 00.",
    ),
)


def in_future(now: int, *, field: FieldPath) -> InstantInFuture:
    """The error for an instant that has not come yet."""
    return InstantInFuture(
        f"That instant is in the future; it is {format_instant(now)} now.", path=field
    )


def parse_instant(text: str, *, field: FieldPath = ()) -> int:
    """The microseconds since the epoch that an RFC 3339 text in UTC names.

    Zero to six fractional digits, `T` and `Z` in either case, years 0001 to 9999. Anything else is
    `InvalidInput` with a message that says what to write; `field` is its path.
    """
    match = _STRICT.fullmatch(text)
    if match is None:
        raise _refused(text, field)
    *parts, fraction = match.groups()
    try:
        whole = datetime(*map(int, parts), tzinfo=UTC)  # type: ignore[misc,arg-type]  # six parts
    except ValueError:
        raise _refused(text, field) from None
    return (whole - EPOCH) // MICROSECOND + int((fraction or "").ljust(6, "0"))


def format_instant(micros: int) -> str:
    """The RFC 3339 text of an instant: `Z`, and always six fractional digits.

    `InvalidInput` for an instant outside the years 0001 to 9999.
    """
    if not EARLIEST <= micros <= LATEST:
        raise InvalidInput(f"The instant {micros} µs lies outside the years 0001 to 9999.")
    moment = _NAIVE_EPOCH + timedelta(0, 0, micros)  # by place and without a zone: twice as fast
    return moment.isoformat("T", "microseconds") + "Z"


def _refused(text: str, field: FieldPath) -> InvalidInput:
    reason = next(
        (reason for pattern, reason in _MISTAKES if pattern.fullmatch(text[:_LONGEST])),
        "is no instant of the years 0001 to 9999.",
    )
    return InvalidInput(f"The instant {_shown(text)} {reason} {_EXAMPLE}", path=field)


def _shown(text: str) -> str:
    """At most 40 characters of what the caller wrote, safe to print."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")

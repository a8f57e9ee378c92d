"""Cursors: opaque text that says where in a list to go on, and at which instant it was read.

Keyset cursors are URL-safe base64 of a compact JSON array [kind, instant, position...]. Event
cursors are `<instant>-<ordinal>`, so that one can be read, compared and made by hand.
"""

from __future__ import annotations

import base64
import binascii
import re
from types import EllipsisType
from typing import Any, NamedTuple

import orjson

from retrograph.rules.errors import InvalidCursor
from retrograph.rules.instant import EARLIEST, LATEST
from retrograph.rules.limits import MAX_ID, MIN_ID

MAX_CURSOR_LENGTH = 8_192
"""Characters; room for a key of the greatest length, every character escaped."""

Shape = tuple[type[int] | type[str] | EllipsisType, ...]

_FIELD = ("after",)
_EVENT = re.compile(r"(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})")


class Keyset(NamedTuple):
    """Where a list goes on: `position`, of the types of the shape asked for, as of `at`."""

    at: int
    position: tuple[Any, ...]


def encode_cursor(kind: str, at: int, *position: int | str) -> str:
    """The cursor of a row of the list `kind`, read at the instant `at` (microseconds)."""
    array = orjson.dumps([kind, at, *position])
    return base64.urlsafe_b64encode(array).rstrip(b"=").decode()


def decode_cursor(text: str, kind: str, at: int | None, shape: Shape) -> Keyset:
    """What `encode_cursor` put into a cursor of the list `kind`.

    `shape` gives the types of the position, such as `(int, str)`; `(int, ...)` means any number of
    integers. `at` is the instant the list is read at now, None: the one of the cursor.
    `InvalidCursor` for another kind or instant, another shape, or what was never a cursor.
    """
    found_kind, found_at, *position = _unpack(text)
    if found_kind != kind:
        raise _refused("belongs to another list")
    if type(found_at) is not int or not EARLIEST <= found_at <= LATEST:
        raise _refused("is no cursor")
    if at is not None and found_at != at:
        raise _refused("was made at another instant")
    if not _has_shape(position, shape) or encode_cursor(kind, found_at, *position) != text:
        raise _refused("is no cursor of this list")
    return Keyset(found_at, tuple(position))


def encode_event_cursor(at: int, ordinal: int) -> str:
    """The cursor of the event number `ordinal` of those of the instant `at` (microseconds)."""
    return f"{at}-{ordinal}"


def decode_event_cursor(text: str) -> tuple[int, int]:
    """The (instant, ordinal) of an event cursor, neither negative.

    `InvalidCursor` for anything else. Whether there can have been such an event, the caller checks.
    """
    match = _EVENT.fullmatch(text)
    if match is None or int(match[1]) > LATEST or int(match[2]) > MAX_ID:
        raise InvalidCursor(
            "The cursor is no event cursor. Pass one that an event of this fleet gave, 0-0 for "
            "the beginning, or none.",
            path=_FIELD,
        )
    return int(match[1]), int(match[2])


def _unpack(text: str) -> list[Any]:
    if len(text) > MAX_CURSOR_LENGTH:
        raise _refused("is too long")
    try:
        array = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise _refused("is no cursor") from None
    if not isinstance(array, list) or len(array) < 2:
        raise _refused("is no cursor")
    return array


def _has_shape(position: list[int | str], shape: Shape) -> bool:
    if shape[1:] == (...,):
        shape = shape[:1] * len(position)
    if len(position) != len(shape):
        return False
    return all(
        type(part) is expected and (isinstance(part, str) or MIN_ID <= part <= MAX_ID)
        for part, expected in zip(position, shape, strict=True)
    )


def _refused(reason: str) -> InvalidCursor:
    return InvalidCursor(
        f"The cursor {reason}. Pass a cursor that this list gave, with the same arguments, or "
        "none to begin at the start.",
        path=_FIELD,
    )

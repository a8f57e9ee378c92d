"""Cursors of keyset lists: what a list puts into them, and what it takes back out."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson

from retrograph.rules.cursor import Keyset, Shape, decode_cursor, encode_cursor
from retrograph.rules.errors import InvalidCursor
from retrograph.rules.instant import format_instant

_DIGITS = 12
"""Hexadecimal digits that tell the arguments of one list from those of another."""


class ListCursors:
    """The cursors of one list: its `kind`, the shape of a row's position, its fleet, and `asked`.

    `asked` is all that decides which rows the list has, its owner and its arguments: a cursor of a
    list that was asked for anything else is refused.
    """

    def __init__(self, kind: str, shape: Shape, fleet_id: int, *asked: object) -> None:
        self._kind = kind
        self._shape = shape
        self._fleet_id = fleet_id
        self._asked = asked

    def encode(self, at: int, *position: int | str) -> str:
        """The cursor of the row at `position`, read at `at`."""
        return encode_cursor(self._name, at, *position)

    def decode(self, after: str | None) -> Keyset | None:
        """Where and when a list goes on; raises `InvalidCursor` for a cursor of another list."""
        return None if after is None else decode_cursor(after, self._name, None, self._shape)

    @cached_property
    def _name(self) -> str:
        asked = orjson.dumps(self._asked, default=_ordered, option=orjson.OPT_SORT_KEYS)
        return f"{self._kind}:{self._fleet_id}:{sha256(asked).hexdigest()[:_DIGITS]}"


def same_instant(after: Keyset | None, at: int) -> None:
    """Raises `InvalidCursor` where a list that was read at `at` should go on behind `after`."""
    if after is not None and after.at != at:
        raise InvalidCursor(
            f"The cursor was made at {format_instant(after.at)}, but this list was read at "
            f"{format_instant(at)}. Go on with `asOf` set to the instant of the cursor, or begin "
            "anew without a cursor.",
            path=("after",),
        )


def position_of(after: Keyset | None) -> Any:
    """The position as storage takes it: one number bare, several as a tuple, None for none."""
    if after is None:
        return None
    return after.position[0] if len(after.position) == 1 else after.position


def _ordered(value: object) -> object:
    """A set as the list that is the same for every set equal to it."""
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"no argument of a list: {value!r}")

"""Cursors of keyset lists: what a list puts into them, and what it takes back out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from retrograph.rules.cursor import Keyset, Shape, decode_cursor, encode_cursor
from retrograph.rules.errors import InvalidCursor
from retrograph.rules.instant import format_instant


@dataclass(frozen=True, slots=True)
class ListCursors:
    """The cursors of one list: its `kind`, the fleet and the owner it is read for, its shape.

    `owner` are the ids that tell this list from others of its kind, such as the node whose edges
    it holds; a cursor of another owner is refused.
    """

    kind: str
    shape: Shape
    fleet_id: int
    owner: tuple[int, ...] = ()

    def encode(self, at: int, *position: int | str) -> str:
        """The cursor of the row at `position`, read at `at`."""
        return encode_cursor(self._name(), at, *position)

    def decode(self, after: str | None) -> Keyset | None:
        """Where and when a list goes on; raises `InvalidCursor` for a cursor of another list."""
        return None if after is None else decode_cursor(after, self._name(), None, self.shape)

    def _name(self) -> str:
        return ":".join((self.kind, str(self.fleet_id), *map(str, self.owner)))


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

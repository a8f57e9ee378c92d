"""Numbers that are added at the end; what was read of them stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrograph.rules.arrays import Ints


class Column:
    """A growing column of 64-bit integers."""

    __slots__ = ("_count", "_room")

    def __init__(self) -> None:
        self._room: Ints = np.empty(4, np.int64)
        self._count = 0

    @property
    def values(self) -> Ints:
        """All that were added; later ones don't change it."""
        return self._room[: self._count]

    def below(self, limit: int) -> Ints:
        """Those below a limit, of numbers that were added in ascending order."""
        values = self.values
        return values[: int(np.searchsorted(values, limit))]

    def add(self, numbers: Sequence[int] | Ints) -> None:
        """Adds numbers at the end."""
        count = self._count + len(numbers)
        if count > len(self._room):
            room = np.empty(count * 2, np.int64)
            room[: self._count] = self.values
            self._room = room
        self._room[self._count : count] = numbers
        self._count = count

"""The vectors of a domain in one block of memory, and how near they are to another.

Rows are scaled by powers of two to a length of 1/2 to 1, which changes no cosine and lets no sum
overflow. A cosine is settled in float64, one fixed way: the products of two float32 numbers are
exact there, and they are summed pairwise, row by row, whatever other rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from retrograph.rules.arrays import Ints

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Doubles = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_ROUNDING = 2.0**-24
"""Half a unit in the last place of a float32 at 1."""
_CHUNK = 256
"""Rows that are copied, or widened to float64, at once."""
_PART = 8_192
"""Rows that others than a query are compared with at once."""
_ALONE = 4_000_000
"""Numbers that one thread multiplies."""
_FIRST_BLOCK = 1_024
_LARGEST_BLOCK = 65_536
"""Rows; blocks double, so that a small domain takes little and a large one few blocks."""


class Vectors:
    """Rows of one dimension, in blocks; rows are added, never changed or taken away.

    A reader that keeps to the count it has seen is not disturbed by rows that are added.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._blocks: list[_Block] = []
        self._starts: list[int] = []
        self._count = 0
        self._reserved = 0

    def __len__(self) -> int:
        return self._count

    def reserve(self, count: int) -> None:
        """Lets the next block have room for so many rows: one product is faster than several."""
        self._reserved = count

    @property
    def margin(self) -> float:
        """How far a near cosine may be from the settled one, at most."""
        return (self.dimension + 16) * _ROUNDING

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        return self._count * bytes_of_row(self.dimension)

    def add(self, rows: Floats) -> None:
        """Takes rows over, none of which is zero."""
        while len(rows):
            if not self._blocks or self._blocks[-1].free == 0:
                size = min(_FIRST_BLOCK << len(self._blocks), _LARGEST_BLOCK)
                size, self._reserved = max(size, self._reserved), 0
                self._starts.append(self._count)
                self._blocks.append(_Block(size, self.dimension))
            taken = self._blocks[-1].add(rows[:_CHUNK])
            self._count += taken
            rows = rows[taken:]

    def near(self, query: Floats, count: int) -> Floats:
        """The cosines of the first rows and a query, each within `margin` of the settled one."""
        unit, found = _unit(query), np.empty(count, np.float32)
        for start, block in zip(self._starts, self._blocks, strict=False):
            some = found[start : start + block.size]
            dots(block.rows[: len(some)], unit, some)
            some *= block.inverse[: len(some)]
        return found

    def near_of(self, query: Floats, places: Ints) -> Floats:
        """The same for some rows."""
        unit, found = _unit(query), np.empty(len(places), np.float32)
        room = np.empty((_CHUNK, self.dimension), np.float32)
        for block, inside, offsets in self._at(places):
            for start in range(0, len(offsets), _CHUNK):
                some = offsets[start : start + _CHUNK]
                rows = np.take(block.rows, some, 0, room[: len(some)], "clip")
                found[inside[start : start + _CHUNK]] = dots(rows, unit) * block.inverse[some]
        return found

    def parts(self, count: int) -> Iterator[tuple[int, Floats, Floats]]:
        """The first rows, some at once: where they begin, the rows, and one over their lengths."""
        for first, block in zip(self._starts, self._blocks, strict=False):
            end = min(block.size, count - first)
            for start in range(0, end, _PART):
                place = slice(start, min(start + _PART, end))
                yield first + start, block.rows[place], block.inverse[place]

    def cosines(self, query: Floats, places: Ints) -> Doubles:
        """The settled cosines of some rows and a query."""
        wide = _scaled(query).astype(np.float64)
        own, found = np.add.reduce(wide * wide), np.empty(len(places))
        for start in range(0, len(places), _CHUNK):
            some = self.take(places[start : start + _CHUNK]).astype(np.float64)
            dots = np.add.reduce(some * wide, axis=1)
            lengths = np.add.reduce(some * some, axis=1)
            found[start : start + len(some)] = dots / np.sqrt(lengths * own)
        return found

    def take(self, places: Ints) -> Floats:
        """Some rows, scaled."""
        found = np.empty((len(places), self.dimension), np.float32)
        for block, inside, offsets in self._at(places):
            found[inside] = block.rows[offsets]
        return found

    def _at(self, places: Ints) -> Iterator[tuple[_Block, Ints, Ints]]:
        """Each block that holds some of the rows: which of them, and where in it."""
        homes = np.searchsorted(self._starts, places, "right") - 1
        for home in np.unique(homes).tolist():
            inside = np.flatnonzero(homes == home)
            yield self._blocks[home], inside, places[inside] - self._starts[home]


class _Block:
    """Room for a number of rows, taken up from its beginning."""

    __slots__ = ("inverse", "rows", "taken")

    def __init__(self, size: int, dimension: int) -> None:
        self.rows: Floats = np.empty((size, dimension), np.float32)
        self.inverse: Floats = np.empty(size, np.float32)
        self.taken = 0

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def free(self) -> int:
        return self.size - self.taken

    def add(self, rows: Floats) -> int:
        """Takes as many of the rows as there is room for; returns how many."""
        some = rows[: self.free]
        lengths = _lengths(some)
        scale = np.ldexp(1.0, -np.frexp(lengths)[1])
        place = slice(self.taken, self.taken + len(some))
        self.rows[place] = some * scale[:, None]
        self.inverse[place] = 1 / (lengths * scale)
        self.taken += len(some)
        return len(some)


def bytes_of_row(dimension: int) -> int:
    """The memory that a row takes."""
    return (dimension + 1) * np.dtype(np.float32).itemsize


def read_rows(blobs: list[bytes], dimension: int) -> Floats:
    """Stored vectors as rows."""
    found: Floats = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimension)
    return found


def dots(rows: Floats, query: Floats, out: Floats | None = None) -> Floats:
    """The dot product of every row and a query.

    On one thread where rows are few: waiting for another then takes longer than it saves.
    """
    product = np.vecdot if rows.size <= _ALONE else np.dot
    found: Floats = product(rows, query, out=out)
    return found


def _lengths(rows: Floats) -> Doubles:
    wide = rows.astype(np.float64)
    found: Doubles = np.sqrt(np.add.reduce(wide * wide, axis=-1))
    return found


def _scaled(query: Floats) -> Floats:
    scale = np.ldexp(1.0, -int(np.frexp(_lengths(query))[1]))
    found: Floats = (query * scale).astype(np.float32)
    return found


def _unit(query: Floats) -> Floats:
    found: Floats = (query / _lengths(query)).astype(np.float32)
    return found

"""The signs of vectors, a bit a component: a cheap first look that finds what may be near.

The words of a row stand in columns of a block, so that a row's distance is summed up over
columns that are read from one end to the other.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrograph.rules.arrays import Flags, Ints
from retrograph.rules.vectors import Floats

Words: TypeAlias = NDArray[np.uint64]
Distances: TypeAlias = NDArray[np.uint16]

_WORD = 64
_BLOCK = 16_384
"""Rows that are compared at once: what is summed up stays in the processor's cache."""
_STEP = 64
"""One row of so many is looked at to guess how near the nearest are."""


class SignBits:
    """The signs of rows of one dimension; rows are added, never changed or taken away."""

    def __init__(self, dimension: int) -> None:
        self._words = -(-dimension // _WORD)
        self._blocks: list[Words] = []
        self._count = 0

    def add(self, rows: Floats) -> None:
        """Takes the signs of rows."""
        while len(rows):
            offset = self._count % _BLOCK
            if offset == 0:
                self._blocks.append(np.empty((self._words, _BLOCK), np.uint64))
            some = rows[: _BLOCK - offset]
            self._blocks[-1][:, offset : offset + len(some)] = self._signs(some).T
            self._count += len(some)
            rows = rows[len(some) :]

    def distances(self, query: Floats, count: int) -> Distances:
        """In how many signs each of the first rows differs from a query."""
        signs, found = self._signs(query[None, :])[0], np.zeros(count, np.uint16)
        other, bits = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, count, _BLOCK):
            block, some = self._blocks[start // _BLOCK], found[start : start + _BLOCK]
            size = len(some)
            for column, word in zip(block, signs, strict=True):
                np.bitwise_xor(column[:size], word, out=other[:size])
                np.bitwise_count(other[:size], out=bits[:size])
                np.add(some, bits[:size], out=some)
        return found

    def _signs(self, rows: Floats) -> Words:
        packed = np.packbits(rows > 0, axis=1)
        padded = np.zeros((len(rows), self._words * _WORD // 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)


def nearest(distances: Distances, eligible: Flags, size: int) -> Ints:
    """The places of at least `size` eligible rows at the least distances, ties included.

    All that are eligible, where they are fewer.
    """
    few = distances[::_STEP][eligible[::_STEP]]
    rank = 2 * size // _STEP + 8
    if rank < len(few):
        places = _within(distances, eligible, int(np.partition(few, rank)[rank]))
        if len(places) >= size:
            return places[distances[places] <= _cut(distances[places], size)]
    places = np.flatnonzero(eligible)
    if len(places) <= size:
        return places
    return places[distances[places] <= _cut(distances[places], size)]


def _within(distances: Distances, eligible: Flags, most: int) -> Ints:
    places = np.flatnonzero(distances <= most)
    return places[eligible[places]]


def _cut(distances: Distances, size: int) -> int:
    return int(np.partition(distances, size - 1)[size - 1])


def bytes_of_signs(dimension: int) -> int:
    """The memory that a row's signs take."""
    return -(-dimension // _WORD) * 8

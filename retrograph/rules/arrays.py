"""Columns of numbers: the few NumPy idioms that the rules share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Octets: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]

NO_INTS: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The neighbours of node `i` are `node[start[i]:start[i + 1]]`, ascending."""

    start: Ints
    node: Ints

    @classmethod
    def build(cls, owner: Ints, node: Ints, count: int) -> Adjacency:
        """`owner` is ascending, and each is below `count`."""
        start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(owner, minlength=count), out=start[1:])
        return cls(start, node)

    def spread(self, owners: Ints) -> tuple[Ints, Ints]:
        """Return the positions in `node` of all neighbours of `owners`, and how many each has."""
        first = self.start[owners]
        counts = self.start[owners + 1] - first
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        positions = np.repeat(first - ends + counts, counts)
        positions += np.arange(total)
        return positions, counts

    def of(self, owners: Ints) -> Ints:
        """Return all neighbours of `owners`, repeated as often as they occur."""
        positions, _ = self.spread(owners)
        return self.node[positions]


def columns(rows: Iterable[tuple[int, ...]], width: int) -> Ints:
    """Return rows of 64-bit integers as an array of shape (rows, width)."""
    kept = rows if isinstance(rows, list | tuple) else list(rows)
    flat = np.fromiter(chain.from_iterable(kept), np.int64, len(kept) * width)
    return flat.reshape(-1, width)


def parsed_columns(texts: Sequence[str]) -> Ints:
    """Return columns of decimal numbers, commas between, as an array of shape (rows, columns)."""
    return np.column_stack([np.fromstring(text, np.int64, sep=",") for text in texts])


def distinct(values: Ints, scratch: Ints) -> Ints:
    """Return each of `values` once, in no order, without sorting.

    `scratch` has a place for every value; its contents don't matter and are overwritten.
    """
    order = np.arange(len(values))
    scratch[values] = order
    once: Ints = values[scratch[values] == order]
    return once


def distinct_sorted(values: Ints) -> Ints:
    """Return each of the ascending `values` once."""
    if len(values) < 2:
        return values
    return values[np.concatenate(([True], values[1:] != values[:-1]))]


def among(ascending: Ints, values: Ints) -> tuple[Ints, Flags]:
    """Return where each value stands, or would stand, and whether it is there."""
    places = np.searchsorted(ascending, values)
    if not len(ascending):
        return places, np.zeros(len(values), np.bool_)
    found: Flags = ascending[np.minimum(places, len(ascending) - 1)] == values
    return places, found


def without(ascending: Ints, values: Ints) -> Ints:
    """Return the distinct ascending numbers less the values, which need not be among them."""
    places, found = among(ascending, values)
    return np.delete(ascending, places[found]) if found.any() else ascending


def merged(ascending: Ints, values: Ints) -> Ints:
    """Return the distinct ascending numbers and the values, distinct and ascending as well."""
    places, found = among(ascending, values)
    return ascending if found.all() else np.insert(ascending, places[~found], values[~found])


class Locator:
    """Finds where an id stands among ascending ids: by a table where they lie close together."""

    __slots__ = ("_ids", "_lowest", "_table")

    def __init__(self, ids: Ints) -> None:
        self._ids = ids
        self._lowest = int(ids[0]) if len(ids) else 0
        span = int(ids[-1]) - self._lowest + 1 if len(ids) else 0
        self._table: Ints | None = None
        if 0 < span <= 4 * len(ids) + 1024:
            self._table = np.full(span, -1, np.int64)
            self._table[ids - self._lowest] = np.arange(len(ids))

    def find(self, wanted: Ints) -> Ints:
        """Return the position of each wanted id, -1 for an unknown one."""
        if self._table is None:
            places, found = among(self._ids, wanted)
            return np.where(found, places, -1)
        last = int(self._ids[-1])
        inside = (wanted >= self._lowest) & (wanted <= last)
        place = self._table[np.clip(wanted, self._lowest, last) - self._lowest]
        return np.where(inside, place, -1)

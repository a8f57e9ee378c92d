"""Rows parted into lists of what lies close together: the nearest lists tell what may be near.

Lists have centres, found by k-means on a sample (Lloyd 1982, on rows of unit length), and a row
stands in the list of the centre that is nearest to it: an inverted file (Sivic & Zisserman 2003).
"""

from __future__ import annotations

import numpy as np

from retrograph.rules.arrays import NO_INTS, Flags, Ints
from retrograph.rules.column import Column
from retrograph.rules.vectors import Floats, dots

_ROUNDS = 5
"""Of k-means: more make the lists hardly better."""
_AT_ONCE = 4_096
"""Rows that are compared with all centres at once."""


class Partition:
    """The places of rows, in lists; rows are added in their order, never changed or taken away."""

    def __init__(self, centres: Floats) -> None:
        self._centres = centres
        self._lists = [Column() for _ in centres]
        self._count = 0
        self.looked_at = 0
        """How many eligible rows are to be looked at, at least; 0 if all are."""

    def add(self, rows: Floats) -> None:
        """Takes in the next rows, whatever their lengths."""
        homes = _homes(rows, self._centres)
        order = np.argsort(homes, kind="stable")
        starts = np.flatnonzero(np.diff(homes[order], prepend=-1))
        for places in np.split(order, starts[1:]):
            self._lists[homes[places[0]]].add(places + self._count)
        self._count += len(rows)

    def around(self, query: Floats, eligible: Flags, rows: int) -> Ints:
        """The eligible rows of the nearest lists: of as many as hold so many of them."""
        found, total = [NO_INTS], 0
        for home in self._nearest_lists(query).tolist():
            if total >= rows:
                break
            places = self._lists[home].below(len(eligible))
            found.append(places[eligible[places]])
            total += len(found[-1])
        return np.concatenate(found)

    def ahead(self, queries: Floats, sought: Ints, eligible: Flags) -> Ints:
        """How many eligible rows stand in nearer lists than a sought one, for each of its query.

        `sought` has a line of places for every query.
        """
        homes, sizes = np.empty(len(eligible), np.int64), []
        for home, each in enumerate(self._lists):
            places = each.below(len(eligible))
            homes[places] = home
            sizes.append(np.count_nonzero(eligible[places]))
        found = np.empty(sought.shape, np.int64)
        before = np.empty(len(sizes), np.int64)
        for number, query in enumerate(queries):
            order = self._nearest_lists(query)
            before[order] = np.cumsum(np.array(sizes)[order]) - np.array(sizes)[order]
            found[number] = before[homes[sought[number]]]
        return found

    def _nearest_lists(self, query: Floats) -> Ints:
        order: Ints = np.argsort(-dots(self._centres, query), kind="stable")
        return order


def centres_of(sample: Floats, count: int) -> Floats:
    """The centres of at most so many lists, from a sample of rows of unit length."""
    centres = sample[:count].copy()
    for _ in range(_ROUNDS):
        homes = _homes(sample, centres)
        order = np.argsort(homes, kind="stable")
        starts = np.flatnonzero(np.diff(homes[order], prepend=-1))
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[homes[order[starts]]] = sums / np.maximum(lengths, np.finfo(np.float32).tiny)
    return centres


def _homes(rows: Floats, centres: Floats) -> Ints:
    """Which centre is nearest to each row."""
    found = np.empty(len(rows), np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        found[start : start + len(some)] = np.argmax(some @ centres.T, axis=1)
    return found

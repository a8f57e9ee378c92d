"""Whether a large index is searched in two stages: where that leads to the nearest, measured.

The lists of a partition lead to candidates, which are then compared one by one. On a sample of
the index's own rows it is counted how far down the lists the nearest others stand; as many rows
are looked at as hold nearly all of them. If that is too many, the search stays exact.
"""

from __future__ import annotations

from math import ceil, isqrt

import numpy as np

from retrograph.rules.arrays import Flags, Ints
from retrograph.rules.domain_index import DomainIndex
from retrograph.rules.partition import Partition, centres_of
from retrograph.rules.vectors import Floats

TWO_STAGES_FROM = 200_000
"""Fewer episodes of a domain are always compared one by one."""
LEAST_RECALL = 0.99
"""Below it, two stages give way to an exact search."""

_AIM = 0.998
"""The share of the sampled nearest that is looked for: above the least, as a sample may err."""
_FEWEST = 4_000
"""Rows that are looked at, at least: they cost little."""
MOST = 16
"""One of so many rows is looked at, at most."""
_SAMPLE = 64
_SAMPLED_K = 15
_TRAINED = 32
"""Rows of the sample that centres are made of, for each list."""
_SEED = 7


def choose_stages(index: DomainIndex, eligible: Flags) -> None:
    """Parts a large index into lists, and finds out how many rows are to be looked at.

    Again when it has grown by a tenth; the lists are made anew when they don't lead to the
    nearest any more and it has doubled.
    """
    if len(index) < TWO_STAGES_FROM or len(index) < 1.1 * index.measured_at:
        return
    index.measured_at = len(index)
    if index.partition is not None:
        index.partition.looked_at = measure(index, index.partition, eligible)
        if index.partition.looked_at or len(index) < 2 * index.parted_at:
            return
    partition = part(index)
    partition.looked_at = measure(index, partition, eligible)
    index.take_partition(partition)


def part(index: DomainIndex) -> Partition:
    """Parts all rows of an index into as many lists as the square root of their number."""
    lists = max(1, isqrt(len(index)))
    size = min(len(index), _TRAINED * lists)
    places = np.random.default_rng(_SEED).choice(len(index), size, replace=False)
    sample = index.vectors.take(places)
    sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    partition = Partition(centres_of(sample, lists))
    for _, rows, _ in index.vectors.parts(len(index)):
        partition.add(rows)
    return partition


def measure(index: DomainIndex, partition: Partition, eligible: Flags) -> int:
    """How many eligible rows are to be looked at; 0 if all are."""
    return rows_to_look_at(sampled_ahead(index, partition, eligible), len(eligible))


def rows_to_look_at(ahead: Ints, count: int) -> int:
    """The fewest rows that hold nearly all that was sampled; 0 if they hold too little of it."""
    most = max(1, count // MOST)
    if share_within(ahead, most) < LEAST_RECALL:
        return 0
    last = int(np.sort(ahead, axis=None)[ceil(_AIM * ahead.size) - 1])
    return min(most, max(_FEWEST, last + 1))


def share_within(ahead: Ints, rows: int) -> float:
    """The recall of looking at so many rows; 0 where nothing tells."""
    return float(np.mean(ahead < rows)) if ahead.size else 0.0


def sampled_ahead(index: DomainIndex, partition: Partition, eligible: Flags) -> Ints:
    """Of a sample's 15 nearest others each: how many rows are looked at before its list is."""
    places = np.flatnonzero(eligible)
    size = min(_SAMPLE, len(places))
    sample = np.random.default_rng(_SEED).choice(places, size, replace=False)
    queries = index.vectors.take(sample)
    nearest = _nearest(index, queries, sample, eligible)
    return partition.ahead(queries, nearest, eligible)


def _nearest(index: DomainIndex, queries: Floats, own: Ints, eligible: Flags) -> Ints:
    """The places of the nearest eligible rows but its own, a line for each query."""
    lines, k = np.arange(len(queries)), min(_SAMPLED_K, max(0, int(np.count_nonzero(eligible)) - 1))
    places = np.empty((len(queries), 0), np.int64)
    cosines = np.empty((len(queries), 0), np.float32)
    for start, rows, inverse in index.vectors.parts(len(eligible)):
        near = queries @ rows.T * inverse
        near[:, ~eligible[start : start + len(rows)]] = -np.inf
        inside = (own >= start) & (own < start + len(rows))
        near[lines[inside], own[inside] - start] = -np.inf
        these = np.broadcast_to(np.arange(start, start + len(rows)), near.shape)
        places, cosines = np.hstack((places, these)), np.hstack((cosines, near))
        best = np.argpartition(-cosines, max(0, k - 1), axis=1)[:, :k]
        places = np.take_along_axis(places, best, 1)
        cosines = np.take_along_axis(cosines, best, 1)
    return places

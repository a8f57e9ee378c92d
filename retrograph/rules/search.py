"""Recall: what a domain's episodes have to say to a query, near it or about the same things.

Two lists of at most 3k are made and fused. The dense one has the episodes whose cosine reaches
the threshold, by cosine; the graph one those that name an entity of the query, by the share of
matching entities, then cosine; both then by smaller id. Candidates are found in float32 with a
margin that loses none, and settled in float64. Where a partition leads to the nearest, the dense
list is made of what stands in its nearest lists; `stages` tells whether that is good enough.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import NO_INTS, Flags, Ints, among
from retrograph.rules.domain_index import DomainIndex
from retrograph.rules.fusion import Fused, fuse
from retrograph.rules.vectors import Doubles, Floats, read_rows

DEFAULT_K = 5
DEFAULT_THRESHOLD = 0.78
MAX_K = 100

_LISTED = 3
"""A list is so many times as long as what is asked for."""
_FEW = 4_000
"""So few eligible rows are compared one by one."""
_SHARE = 8
"""Of one row in so many, all are compared at once: that reads memory from end to end."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for; the entities are URNs, expanded already."""

    vector: bytes
    entities: Collection[str] = ()
    threshold: float = DEFAULT_THRESHOLD
    k: int = DEFAULT_K


def recall(index: DomainIndex, query: Query, eligible: Flags) -> list[Fused]:
    """The best `k` of the eligible episodes; `eligible` has as many places as are looked at."""
    dense, graph = lists(index, query, eligible)
    return fuse_lists(index, query, dense, graph)


def lists(index: DomainIndex, query: Query, eligible: Flags) -> tuple[Ints, Ints]:
    """The places of the dense list and of the graph list, best first."""
    vector = _vector(index, query.vector)
    most = _LISTED * query.k
    dense = _dense(index, vector, query.threshold, most, eligible)
    return dense, _graph(index, vector, query.entities, most, eligible)


def fuse_lists(index: DomainIndex, query: Query, dense: Ints, graph: Ints) -> list[Fused]:
    """What the two lists come to, by id."""
    vector = _vector(index, query.vector)
    both = np.union1d(dense, graph).astype(np.int64)
    names = index.ids
    cosines = dict(
        zip(names[both].tolist(), index.vectors.cosines(vector, both).tolist(), strict=True)
    )
    end = int(graph.max(initial=-1)) + 1
    counts = np.zeros(len(graph), np.int64)
    for urn in query.entities:
        counts += among(index.with_term(urn, end), graph)[1]
    listed = names[graph].tolist()
    shares = dict(zip(listed, _shares(index, counts, graph).tolist(), strict=True))
    return fuse(names[dense].tolist(), listed, cosines, shares, query.k)


def _vector(index: DomainIndex, stored: bytes) -> Floats:
    found: Floats = read_rows([stored], index.vectors.dimension)[0]
    return found


def _dense(
    index: DomainIndex, vector: Floats, threshold: float, most: int, eligible: Flags
) -> Ints:
    places, near = _candidates(index, vector, threshold, eligible)
    places = _best(places, near, most, index.vectors.margin)
    cosines = index.vectors.cosines(vector, places)
    reach = cosines >= threshold
    places, cosines = places[reach], cosines[reach]
    order = np.lexsort((index.ids[places], -cosines))
    return places[order[:most]]


def _candidates(
    index: DomainIndex, vector: Floats, threshold: float, eligible: Flags
) -> tuple[Ints, Floats]:
    """Eligible places that may reach the threshold, and their near cosines."""
    least = threshold - index.vectors.margin
    places = _led_to(index, vector, eligible)
    if places is None:
        near = index.vectors.near(vector, len(eligible))
        places = np.flatnonzero(near >= least)
        places = places[eligible[places]]
        return places, near[places]
    near = index.vectors.near_of(vector, places)
    return places[near >= least], near[near >= least]


def _led_to(index: DomainIndex, vector: Floats, eligible: Flags) -> Ints | None:
    """The few eligible places that are worth a look; None if all are compared at once."""
    few, partition = len(eligible) // _SHARE, index.partition
    count, rows = np.count_nonzero(eligible), 0 if partition is None else partition.looked_at
    if partition is not None and rows and count > _FEW:
        places = partition.around(vector, eligible, rows)
        return places if len(places) <= few else None
    return np.flatnonzero(eligible) if count <= few else None


def _best(places: Ints, near: Floats, most: int, margin: float) -> Ints:
    """The places among which the best `most` are, whichever way the margin falls."""
    if len(places) <= most:
        return places
    cut = np.partition(near, len(near) - most)[len(near) - most]
    kept: Ints = places[near >= cut - 2 * margin]
    return kept


def _graph(
    index: DomainIndex, vector: Floats, entities: Collection[str], most: int, eligible: Flags
) -> Ints:
    if not entities:
        return NO_INTS
    found = [NO_INTS, *(index.with_term(urn, len(eligible)) for urn in entities)]
    places, counts = np.unique(np.concatenate(found), return_counts=True)
    kept = eligible[places]
    places = places[kept]
    shares = _shares(index, counts[kept], places)
    if len(places) > most:
        # Those above the last share that gets in are in; among its own, the nearest.
        cut = np.partition(shares, len(shares) - most)[len(shares) - most]
        above, level = shares > cut, np.zeros(len(eligible), np.bool_)
        level[places[shares == cut]] = True
        near = _best(*_candidates(index, vector, -1.0, level), most, index.vectors.margin)
        chosen = above | np.isin(places, near)
        places, shares = places[chosen], shares[chosen]
    cosines = index.vectors.cosines(vector, places)
    order = np.lexsort((index.ids[places], -cosines, -shares))
    best: Ints = places[order[:most]]
    return best


def _shares(index: DomainIndex, counts: Ints, places: Ints) -> Doubles:
    """`fusion.share_of` of every place."""
    return np.asarray(counts / (index.entity_counts[places] + 1), np.float64)

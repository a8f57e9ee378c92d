"""Recall: what a domain's episodes have to say to a query, near it or about the same things.

Two lists of at most 3k are made and fused. The dense one has the episodes whose cosine reaches
the threshold, by cosine; the graph one those that name an entity of the query, by the share of
matching entities, then cosine; both then by smaller id. Candidates are found in float32 with a
margin that loses none, and settled in float64. Where an index has two stages, the dense list is
made of those whose signs differ least; `measure_recall` tells whether that is good enough.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import NO_INTS, Flags, Ints
from retrograph.rules.domain_index import DomainIndex
from retrograph.rules.fusion import Fused, fuse
from retrograph.rules.sign_bits import nearest
from retrograph.rules.vectors import Doubles, Floats, read_rows

DEFAULT_K = 5
DEFAULT_THRESHOLD = 0.78
MAX_K = 100
LEAST_RECALL = 0.99
"""Below it, two stages give way to an exact search."""

TWO_STAGES_FROM = 200_000
"""So many episodes of a domain are not compared one by one, if the signs lead to the nearest."""

_LISTED = 3
"""A list is so many times as long as what is asked for."""
_RESCORED = 500
"""Rows that the first stage leaves to the second, at least."""
_FEW = 4_000
"""So few eligible rows are compared one by one."""
_SAMPLE = 32
_SAMPLED_K = 15
_SEED = 7


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
    counts = _matches(index, query.entities, int(graph.max(initial=-1)) + 1)
    listed = names[graph].tolist()
    shares = dict(zip(listed, _shares(index, counts[graph], graph).tolist(), strict=True))
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
    if np.count_nonzero(eligible) <= min(_FEW, len(eligible) // 8):
        places = np.flatnonzero(eligible)
    elif index.two_stage and index.signs is not None:
        distances = index.signs.distances(vector, len(eligible))
        places = nearest(distances, eligible, _RESCORED)
    else:
        near = index.vectors.near(vector, len(eligible))
        places = np.flatnonzero(near >= least)
        places = places[eligible[places]]
        return places, near[places]
    near = index.vectors.near_of(vector, places)
    return places[near >= least], near[near >= least]


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
    counts = _matches(index, entities, len(eligible))
    places = np.flatnonzero(counts)
    places = places[eligible[places]]
    shares = _shares(index, counts[places], places)
    if len(places) > most:
        # Those above the last share that gets in are in; among its own, the nearest.
        cut = np.partition(shares, len(shares) - most)[len(shares) - most]
        above, level = places[shares > cut], places[shares == cut]
        near = index.vectors.near_of(vector, level)
        level = _best(level, near, most - len(above), index.vectors.margin)
        places = np.concatenate((above, level))
        shares = _shares(index, counts[places], places)
    cosines = index.vectors.cosines(vector, places)
    order = np.lexsort((index.ids[places], -cosines, -shares))
    return places[order[:most]]


def _matches(index: DomainIndex, entities: Collection[str], count: int) -> Ints:
    """How many of the entities the episode at each place names."""
    counts = np.zeros(count, np.int64)
    for urn in entities:
        counts[index.with_term(urn, count)] += 1
    return counts


def _shares(index: DomainIndex, counts: Ints, places: Ints) -> Doubles:
    """`fusion.share_of` of every place."""
    return np.asarray(counts / (index.entity_counts[places] + 1), np.float64)


def choose_stages(index: DomainIndex, eligible: Flags) -> None:
    """Lets a large index search by its signs where they lead to the nearest, and measures that.

    Again when it has grown by a tenth.
    """
    if len(index) < TWO_STAGES_FROM or len(index) < 1.1 * index.measured_at:
        return
    index.take_signs()
    index.measured_at = len(index)
    index.two_stage = measure_recall(index, eligible) >= LEAST_RECALL


def measure_recall(index: DomainIndex, eligible: Flags) -> float:
    """The share of the 15 nearest that the signs lead to, over a sample of the rows themselves.

    1 where there is nothing to miss.
    """
    places = np.flatnonzero(eligible)
    if index.signs is None or len(places) <= _RESCORED:
        return 1.0
    sample = np.random.default_rng(_SEED).choice(places, min(_SAMPLE, len(places)), replace=False)
    found = [_hit_share(index, place, eligible) for place in sample.tolist()]
    return sum(found) / len(found)


def _hit_share(index: DomainIndex, place: int, eligible: Flags) -> float:
    """Of one row's nearest others."""
    assert index.signs is not None  # noqa: S101 (the caller has looked)
    vector = index.vectors.take(np.array([place]))[0]
    others = eligible.copy()
    others[place] = False
    near = np.where(others, index.vectors.near(vector, len(eligible)), -np.inf)
    wanted = np.argpartition(-near, _SAMPLED_K)[:_SAMPLED_K]
    rows = nearest(index.signs.distances(vector, len(eligible)), others, _RESCORED)
    return float(np.isin(wanted, rows).mean())

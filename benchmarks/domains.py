"""Domains of episodes in memory, clustered or without any order, and queries near some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from retrograph.rules.domain_index import DomainIndex, Indexed
from retrograph.rules.search import Query

Vectors = Any
"""Rows of float32."""
Made = Callable[[int, int], Iterator[Vectors]]
"""Makes so many rows of so many dimensions, some at once."""

_ENTITIES = 2_000
_CLUSTERS = 5_000
_SPREAD = 0.35
_AT_ONCE = 10_000


def clustered(count: int, dimension: int) -> Iterator[Vectors]:
    """Rows around 5,000 centres: within a cluster their cosines are about 0.89."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((_CLUSTERS, dimension), np.float32)
    for size in _sizes(count):
        rows = rng.standard_normal((size, dimension), np.float32)
        rows *= _SPREAD
        rows += centres[rng.integers(_CLUSTERS, size=size)]
        yield rows


def isotropic(count: int, dimension: int) -> Iterator[Vectors]:
    """Rows in all directions alike: nothing is near anything."""
    rng = np.random.default_rng(1)
    for size in _sizes(count):
        yield rng.standard_normal((size, dimension), np.float32)


def _sizes(count: int) -> Iterator[int]:
    for start, end in pairwise([*range(0, count, _AT_ONCE), count]):
        yield end - start


def indexed(count: int, dimension: int, made: Made) -> DomainIndex:
    """An index of such rows; two entities each, one of 2,000 and one of 7."""
    index = DomainIndex(dimension)
    index.reserve(count)
    for rows in made(count, dimension):
        index.add(
            [
                Indexed(id, row.tobytes(), (f"urn:{id % _ENTITIES}", f"urn:{id % 7}"))
                for id, row in enumerate(rows, len(index))
            ]
        )
    return index


def rows_of(index: DomainIndex) -> Iterator[Vectors]:
    """All rows of an index, of unit length, some at once."""
    for _, rows, inverse in index.vectors.parts(len(index)):
        yield rows * inverse[:, None]


def queries_near(index: DomainIndex, count: int) -> list[Query]:
    """Queries near random rows, each with one of the rarer entities."""
    rng = np.random.default_rng(2)
    places = rng.integers(len(index), size=count)
    near = index.vectors.take(places) * (1 + 0.05 * rng.standard_normal((count, 1)))
    near += 0.01 * rng.standard_normal(near.shape) / np.sqrt(near.shape[1])
    return [
        Query(vector.astype("<f4").tobytes(), (f"urn:{place % _ENTITIES}",), 0.0)
        for vector, place in zip(near, places.tolist(), strict=True)
    ]


def unit_of(query: Query) -> Vectors:
    """The vector of a query, of unit length."""
    vector = np.frombuffer(query.vector, "<f4")
    return vector / np.linalg.norm(vector)

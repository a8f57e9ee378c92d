"""Reciprocal rank fusion: one list out of what is near and what is about the same things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RANK_OFFSET = 60
"""The constant of the field: it keeps the first ranks from outweighing all others."""


@dataclass(frozen=True, slots=True)
class Fused:
    """An episode, its score, and the parts that the score is made of.

    `cosine` is that of query and embedding; `graph` the share of matching entities, 0 for an
    episode that the graph list doesn't hold.
    """

    id: int
    combined: float
    cosine: float
    graph: float


def fuse(
    dense: Sequence[int],
    graph: Sequence[int],
    cosines: Mapping[int, float],
    shares: Mapping[int, float],
    k: int,
) -> list[Fused]:
    """The best `k` of both lists: by the sum of `1 / (60 + rank)`, then cosine, then smaller id."""
    scores: dict[int, float] = {}
    for ranked in (dense, graph):
        for rank, id in enumerate(ranked, 1):
            scores[id] = scores.get(id, 0.0) + 1 / (RANK_OFFSET + rank)
    found = [Fused(id, score, cosines[id], shares.get(id, 0.0)) for id, score in scores.items()]
    return sorted(found, key=lambda each: (-each.combined, -each.cosine, each.id))[:k]


def share_of(matching: int, entities: int) -> float:
    """How far an episode is about what is asked for: matching entities / (entities + 1)."""
    return matching / (entities + 1)

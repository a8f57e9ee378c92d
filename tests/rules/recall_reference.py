"""Recall as the contract says it, in plain Python: every episode, every number, sorted."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from retrograph.rules.fusion import Fused
from retrograph.rules.names import fold_name

Episode = tuple[int, Sequence[float], Collection[str]]
"""Its id, vector and entities."""


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    own = math.fsum(x * x for x in a) * math.fsum(y * y for y in b)
    return dot / math.sqrt(own)


def reference(
    episodes: Sequence[Episode],
    vector: Sequence[float],
    entities: Collection[str],
    threshold: float,
    k: int,
) -> list[Fused]:
    cosines = {id: cosine(own, vector) for id, own, _ in episodes}
    shares = {
        id: len(set(names) & set(entities)) / (len(set(names)) + 1) for id, _, names in episodes
    }
    near = [id for id in cosines if cosines[id] >= threshold]
    about = [id for id in shares if shares[id] > 0]
    dense = sorted(near, key=lambda id: (-cosines[id], id))[: 3 * k]
    graph = sorted(about, key=lambda id: (-shares[id], -cosines[id], id))[: 3 * k]
    scores = {
        id: sum(1 / (60 + each.index(id) + 1) for each in (dense, graph) if id in each)
        for id in {*dense, *graph}
    }
    best = sorted(scores, key=lambda id: (-scores[id], -cosines[id], id))[:k]
    return [Fused(id, scores[id], cosines[id], shares[id] if id in graph else 0.0) for id in best]


def case_names(names: Sequence[str]) -> list[str]:
    return [fold_name(name) for name in names]


def shown(found: Sequence[Fused]) -> list[Mapping[str, Any]]:
    """As the shared cases show what is expected."""
    return [
        {
            "id": each.id,
            "combined": round(each.combined, 9),
            "cosine": round(each.cosine, 6),
            "graph": round(each.graph, 6),
        }
        for each in found
    ]

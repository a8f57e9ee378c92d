"""Compaction: which episodes are worn out, and which say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Flags, Ints
from retrograph.rules.utility import DAY, utility
from retrograph.rules.vectors import Floats, Vectors

UNUSED = 60 * DAY
LEAST_UTILITY = 0.25
SAME_COSINE = 0.98
MAX_COMPARED = 5_000
"""Episodes about the same entities that are compared in one run, the oldest ids first."""

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Kept:
    """An active episode; instants in microseconds, `place` is that of its vector."""

    id: int
    place: int
    created_at: int
    last_used_at: int | None
    uses: int
    entities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to retire, what to merge (ids ascending, by the first), and how many weren't compared.

    Nothing that is retired is merged.
    """

    retired: tuple[int, ...]
    merged: tuple[tuple[int, ...], ...]
    skipped: int


def worn_out(kept: Kept, now: int) -> bool:
    """Whether it was unused for 60 days and is worth less than 0.25."""
    since = kept.created_at if kept.last_used_at is None else kept.last_used_at
    unused = now - since >= UNUSED
    return unused and utility(kept.created_at, kept.uses, now) < LEAST_UTILITY


def plan_compaction(episodes: Sequence[Kept], vectors: Vectors, now: int) -> Compaction:
    """What a run does. Near-duplicates join the smallest id that they are near to.

    Two are near-duplicates if their cosine is at least 0.98 and they name the same entities.
    """
    (plan,) = (each for each in planning(episodes, vectors, now) if each is not None)
    return plan


def planning(episodes: Sequence[Kept], vectors: Vectors, now: int) -> Iterator[Compaction | None]:
    """The same, step by step: None for all steps but the last."""
    retired = sorted(each.id for each in episodes if worn_out(each, now))
    gone, skipped = set(retired), 0
    merged: list[tuple[int, ...]] = []
    for alike in _by_entities(each for each in episodes if each.id not in gone):
        skipped += max(0, len(alike) - MAX_COMPARED)
        merged += _groups(alike[:MAX_COMPARED], vectors)
        yield None
    yield Compaction(tuple(retired), tuple(sorted(merged)), skipped)


def _by_entities(episodes: Iterator[Kept]) -> Iterator[list[Kept]]:
    found: defaultdict[frozenset[str], list[Kept]] = defaultdict(list)
    for each in sorted(episodes, key=lambda each: each.id):
        found[each.entities].append(each)
    yield from found.values()


def _groups(alike: Sequence[Kept], vectors: Vectors) -> Iterator[tuple[int, ...]]:
    """The groups of two and more, each led by its first."""
    places = np.array([each.place for each in alike], np.int64)
    free = np.ones(len(alike), np.bool_)
    for start in range(0, len(alike), _AT_ONCE):
        near = _near(vectors, places[start : start + _AT_ONCE], places)
        for offset, row in enumerate(near):
            group = _join(start + offset, row, vectors, places, free)
            if len(group) > 1:
                yield tuple(alike[each].id for each in group)


def _near(vectors: Vectors, some: Ints, places: Ints) -> Flags:
    """Which of some rows may be the same as which of all."""
    left, right = _unit(vectors, some), _unit(vectors, places)
    found: Flags = left @ right.T >= SAME_COSINE - vectors.margin
    return found


def _unit(vectors: Vectors, places: Ints) -> Floats:
    rows = vectors.take(places)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _join(leader: int, near: Flags, vectors: Vectors, places: Ints, free: Flags) -> list[int]:
    """The leader and those after it that are free and the same; they aren't free any more."""
    if not free[leader]:
        return []
    others = np.flatnonzero(near & free)
    others = others[others > leader]
    vector = vectors.take(places[leader : leader + 1])[0]
    same = others[vectors.cosines(vector, places[others]) >= SAME_COSINE]
    free[same] = False
    return [leader, *same.tolist()]

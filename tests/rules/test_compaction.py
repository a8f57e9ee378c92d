"""What compaction retires and merges, and what an episode is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrograph.rules import compaction
from retrograph.rules.compaction import Compaction, Kept, plan_compaction, worn_out
from retrograph.rules.utility import DAY, utility
from retrograph.rules.vectors import Vectors

NOW = 1_000 * DAY


def vectors_of(*rows: tuple[float, float]) -> Vectors:
    found = Vectors(2)
    found.add(np.array(rows, np.float32))
    return found


def at(angle: float) -> tuple[float, float]:
    return math.cos(angle), math.sin(angle)


def kept(id: int, place: int, *names: str, age: int = 1) -> Kept:
    return Kept(id, place, NOW - age * DAY, None, 0, frozenset(names))


def test_worth_halves_in_30_days_and_grows_by_use() -> None:
    assert utility(NOW, 0, NOW) == 1
    assert utility(NOW, 0, NOW + 30 * DAY) == pytest.approx(0.5)
    assert utility(NOW, 3, NOW + 60 * DAY) == pytest.approx(0.25 + 0.3)
    assert utility(NOW, 0, NOW - DAY) == 1


@pytest.mark.parametrize(
    ("age", "used", "uses", "worn"),
    [
        (61, None, 0, True),
        (59, None, 0, False),
        (61, 1, 1, False),     # used lately
        (61, 61, 1, False),    # worth 0.344
        (300, 61, 2, True),
        (300, 61, 3, False),   # uses alone are worth 0.3
        (300, 59, 0, False),
    ],
)  # fmt: skip
def test_what_is_unused_and_worth_little_is_worn_out(
    age: int, used: int | None, uses: int, worn: bool
) -> None:
    last = None if used is None else NOW - used * DAY
    assert worn_out(Kept(1, 0, NOW - age * DAY, last, uses), NOW) is worn


LIMIT = math.acos(0.98)


def test_the_same_join_the_smallest_id() -> None:
    vectors = vectors_of(at(0.0), at(LIMIT * 0.9), at(LIMIT * 1.8), at(2.0))
    episodes = [kept(40, 1, "a"), kept(10, 0, "a"), kept(30, 2, "a"), kept(20, 3, "a")]
    # 30 is near 40, not near 10: what has joined leads nobody.
    assert plan_compaction(episodes, vectors, NOW) == Compaction((), ((10, 40),), 0)


def test_other_entities_and_other_directions_stay_apart() -> None:
    vectors = vectors_of(at(0), at(0), at(LIMIT * 1.01))
    episodes = [kept(1, 0, "a"), kept(2, 1, "a", "b"), kept(3, 2, "a")]
    assert plan_compaction(episodes, vectors, NOW) == Compaction((), (), 0)


def test_what_is_retired_is_not_merged() -> None:
    vectors = vectors_of(at(0), at(0), at(0))
    episodes = [kept(1, 0, age=70), kept(2, 1), kept(3, 2)]
    assert plan_compaction(episodes, vectors, NOW) == Compaction((1,), ((2, 3),), 0)


def test_large_groups_are_compared_in_parts_and_the_rest_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compaction, "MAX_COMPARED", 7)
    monkeypatch.setattr(compaction, "_AT_ONCE", 2)
    vectors = vectors_of(*(at(n % 3) for n in range(9)))
    found = plan_compaction([kept(n, n) for n in range(9)], vectors, NOW)
    assert found == Compaction((), ((0, 3, 6), (1, 4), (2, 5)), 2)

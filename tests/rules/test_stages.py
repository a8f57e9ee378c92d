"""Two stages are measured, not believed; what they find is eligible, up to date, and in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from retrograph.rules import search, stages
from retrograph.rules.domain_index import DomainIndex, Indexed
from retrograph.rules.partition import Partition, centres_of
from retrograph.rules.search import Query, recall
from retrograph.rules.stages import choose_stages

COUNT = 6_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "TWO_STAGES_FROM", 1_000)
    monkeypatch.setattr(search, "_FEW", 10)


def clustered(count: int = COUNT, seed: int = 3) -> Any:
    """300 clusters of 128 dimensions."""
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((300, 128))
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((count, 128)) * 0.3
    return (centres[rng.integers(300, size=count)] + noise).astype(np.float32)


def isotropic(count: int = COUNT) -> Any:
    return np.random.default_rng(1).standard_normal((count, 16)).astype(np.float32)


def add(index: DomainIndex, rows: Any, first: int = 0, names: Sequence[str] = ()) -> None:
    index.add([Indexed(id, row.tobytes(), names) for id, row in enumerate(rows, first)])


def index_of(rows: Any) -> DomainIndex:
    index = DomainIndex(rows.shape[1])
    add(index, rows)
    choose_stages(index, everything(index))
    return index


def everything(index: DomainIndex) -> Any:
    return np.ones(len(index), np.bool_)


def looked_at(index: DomainIndex) -> int:
    assert index.partition is not None
    return index.partition.looked_at


def exact(index: DomainIndex, query: Query, eligible: Any) -> Any:
    partition, index.partition = index.partition, None
    found = recall(index, query, eligible)
    index.partition = partition
    return found


def test_what_is_clustered_is_found_among_few() -> None:
    rows = clustered()
    index = index_of(rows)
    assert 0 < looked_at(index) <= COUNT // stages.MOST
    for place in range(0, COUNT, 100):
        query = Query(rows[place].tobytes(), threshold=0.5)
        led = search._led_to(index, rows[place], everything(index))
        assert led is not None
        assert len(led) < COUNT // 8
        assert recall(index, query, everything(index)) == exact(index, query, everything(index))


def test_what_has_no_order_is_searched_exactly() -> None:
    rows = isotropic()
    index = index_of(rows)
    assert looked_at(index) == 0
    assert search._led_to(index, rows[0], everything(index)) is None


def test_one_direction_for_all_is_searched_exactly() -> None:
    rows = np.ones((1_500, 4), np.float32)
    index = index_of(rows)
    found = recall(index, Query(rows[0].tobytes(), k=3), everything(index))
    assert [each.id for each in found] == [0, 1, 2]


def test_equals_come_by_smaller_id() -> None:
    rows = clustered()
    rows[100:COUNT:200] = rows[3]
    index = index_of(rows)
    assert looked_at(index)
    found = recall(index, Query(rows[3].tobytes(), k=10), everything(index))
    assert [each.id for each in found] == [3, *range(100, 1_900, 200)]


def test_what_is_added_is_found_at_once_and_not_before_its_time() -> None:
    rows, index = clustered(), index_of(clustered())
    before, query = everything(index), Query(rows[8].tobytes())
    first = recall(index, query, before)
    add(index, [rows[8], rows[9]], COUNT)
    assert looked_at(index)
    found = recall(index, query, everything(index))
    assert [each.id for each in found][:2] == [8, COUNT]
    assert recall(index, query, before) == first


def test_only_who_is_eligible_is_found_however_far() -> None:
    rows, rng = clustered(), np.random.default_rng(5)
    index = index_of(rows)
    centre = rows @ rows[17]
    query = Query(rows[17].tobytes(), threshold=-1.0, k=5)
    for eligible in (rng.random(COUNT) < 0.05, rng.random(COUNT) < 0.5, centre < np.median(centre)):
        led = search._led_to(index, rows[17], eligible)
        assert led is None or eligible[led].all()
        found = recall(index, query, eligible)
        assert len(found) == 5
        assert all(eligible[each.id] for each in found)
    far = centre < np.quantile(centre, 0.01)
    assert recall(index, query, far) == exact(index, query, far)


def test_the_graph_list_is_led_as_well() -> None:
    rows, index = clustered(), DomainIndex(128)
    add(index, rows, names=["tool"])
    choose_stages(index, everything(index))
    query = Query(rows[40].tobytes(), ["tool"], threshold=0.5)
    assert recall(index, query, everything(index)) == exact(index, query, everything(index))


def test_it_is_measured_again_when_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(clustered())
    first = index.partition
    add(index, clustered(500, seed=8), COUNT)
    choose_stages(index, everything(index))
    assert (index.partition, index.measured_at) == (first, COUNT)
    add(index, clustered(500, seed=9), 2 * COUNT)
    choose_stages(index, everything(index))
    assert (index.partition, index.measured_at, index.parted_at) == (first, COUNT + 1_000, COUNT)
    monkeypatch.setattr(stages, "measure", lambda *_: 0)
    add(index, clustered(3_000, seed=10), 3 * COUNT)
    choose_stages(index, everything(index))
    assert (index.partition, looked_at(index)) == (first, 0)
    add(index, clustered(3_000, seed=11), 4 * COUNT)
    choose_stages(index, everything(index))
    assert index.partition is not first
    assert index.parted_at == len(index) == 2 * COUNT + 1_000


@pytest.mark.parametrize(
    ("ahead", "rows"),
    [
        ([0] * 100, 4_000),
        ([0] * 90 + [4_999] * 10, 5_000),
        ([0] * 998 + [4_500] * 2, 4_000),
        ([0] * 99 + [10**6], 6_250),
        ([0] * 98 + [10**6] * 2, 0),
        ([], 0),
    ],
)
def test_as_many_rows_are_looked_at_as_it_takes(ahead: list[int], rows: int) -> None:
    assert stages.rows_to_look_at(np.array(ahead, np.int64), 100_000) == rows


def test_lists_are_the_same_however_rows_came() -> None:
    rows = clustered(1_200)
    centres = centres_of(rows / np.linalg.norm(rows, axis=1, keepdims=True), 30)
    whole, parts = Partition(centres), Partition(centres)
    whole.add(rows)
    for some in np.array_split(rows, 7):
        parts.add(some)
    everybody = np.ones(1_200, np.bool_)
    found = [each.around(rows[0], everybody, 1_200).tolist() for each in (whole, parts)]
    assert found[0] == found[1]
    assert sorted(found[0]) == list(range(1_200))


def test_centres_stand_opposites_and_repeats() -> None:
    rows = np.array([[1, 0], [-1, 0]] * 4, np.float32)
    assert np.isfinite(centres_of(rows, 1)).all()
    assert len(centres_of(rows, 8)) == 8

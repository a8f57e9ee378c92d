"""Recall equals the plain reference and the shared cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules import domain_index, vectors
from retrograph.rules.domain_index import DomainIndex, Indexed, bytes_of_episode
from retrograph.rules.search import Query, recall
from tests.rules.recall_reference import Episode, case_names, cosine, reference, shown
from tests.shared import shared

CASES = json.loads(shared("cases/recall.json").read_text())


def bytes_of(vector: Sequence[float]) -> bytes:
    return np.array(vector, "<f4").tobytes()


def index_of(episodes: Sequence[Episode]) -> DomainIndex:
    index = DomainIndex(len(episodes[0][1]))
    index.add([Indexed(id, bytes_of(vector), names) for id, vector, names in episodes])
    return index


def everything(index: DomainIndex) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(len(index), np.bool_)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_shared_cases(case: dict[str, Any]) -> None:
    index = index_of(
        [(e["id"], e["embedding"], case_names(e["entities"])) for e in case["episodes"]]
    )
    asked = case["query"]
    entities = set(case_names(asked["entities"]))
    query = Query(bytes_of(asked["embedding"]), entities, asked["threshold"], asked["topK"])
    assert shown(recall(index, query, everything(index))) == case["expect"]


# Small whole numbers: sums are exact, parallel vectors and equal ones are frequent.
WHOLE = st.integers(-2, 2).map(float)
VECTORS = st.lists(WHOLE, min_size=3, max_size=3).filter(any)
NAMES = st.sets(st.sampled_from("abcd"), max_size=4)
DOMAINS = st.lists(
    st.tuples(st.integers(-50, 50), VECTORS, NAMES), min_size=1, max_size=40,
    unique_by=lambda each: each[0],
)  # fmt: skip


@given(DOMAINS, VECTORS, NAMES, st.sampled_from([-1.0, 0.0, 0.5, 0.78, 1.0]), st.integers(1, 4))
def test_it_is_the_plain_reference_ties_included(
    episodes: list[Episode], vector: list[float], names: set[str], threshold: float, k: int
) -> None:
    index = index_of(episodes)
    found = recall(index, Query(bytes_of(vector), names, threshold, k), everything(index))
    assert found == reference(episodes, vector, names, threshold, k)


@given(DOMAINS, VECTORS, NAMES, st.data())
def test_who_is_not_eligible_leaves_no_trace(
    episodes: list[Episode], vector: list[float], names: set[str], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=len(episodes), max_size=len(episodes)))
    left = [each for each, kept in zip(episodes, chosen, strict=True) if kept]
    found = recall(index_of(episodes), Query(bytes_of(vector), names, 0.0, 3), np.array(chosen))
    assert found == reference(left, vector, names, 0.0, 3)


@given(DOMAINS, DOMAINS, VECTORS, NAMES)
def test_what_is_added_later_is_not_seen_at_an_earlier_count(
    first: list[Episode], then: list[Episode], vector: list[float], names: set[str]
) -> None:
    index = index_of(first)
    seen = everything(index)
    index.add([Indexed(id + 1000, bytes_of(own), about) for id, own, about in then])
    query = Query(bytes_of(vector), names, 0.0, 3)
    assert recall(index, query, seen) == reference(first, vector, names, 0.0, 3)


def clustered(count: int, dimension: int, centres: int, spread: float) -> Any:
    rng = np.random.default_rng(3)
    middle = rng.standard_normal((centres, dimension))
    noise = rng.standard_normal((count, dimension)) * spread
    return (middle[rng.integers(centres, size=count)] + noise).astype(np.float32)


@pytest.mark.parametrize("spread", [0.05, 5.0])
def test_many_rows_over_several_blocks_are_found_as_one_by_one(spread: float) -> None:
    rows = clustered(3_000, 24, 40, spread)
    names = [{"a"} if place % 3 else {"b", "c"} for place in range(len(rows))]
    episodes = [(place * 7, row.tolist(), names[place]) for place, row in enumerate(rows)]
    index = index_of(episodes)
    for k, about in ((5, {"b"}), (100, {"a", "c"}), (1, set[str]())):
        found = recall(index, Query(bytes_of(rows[17]), about, 0.2, k), everything(index))
        wanted = reference(episodes, rows[17].tolist(), about, 0.2, k)
        assert shown(found) == shown(wanted)


def test_room_that_is_reserved_is_one_block() -> None:
    rows, found = clustered(3_000, 24, 40, 0.3), []
    for reserved in (0, 3_000):
        held = vectors.Vectors(24)
        held.reserve(reserved)
        held.add(rows[:2_900])
        held.add(rows[2_900:])
        found.append((len(held._blocks), held.near(rows[5], 3_000)))
    assert [blocks for blocks, _ in found] == [2, 1]
    assert np.allclose(found[0][1], found[1][1], atol=1e-6)


def test_few_eligible_rows_among_many_are_found_as_well() -> None:
    rows = clustered(3_000, 24, 40, 0.3)
    eligible = np.zeros(len(rows), np.bool_)
    eligible[::100] = True
    index = index_of([(place, row, ()) for place, row in enumerate(rows)])
    left = [(place, rows[place].tolist(), ()) for place in range(0, 3_000, 100)]
    found = recall(index, Query(bytes_of(rows[5]), (), 0.0, 5), eligible)
    assert shown(found) == shown(reference(left, rows[5].tolist(), (), 0.0, 5))


def test_a_cosine_is_the_same_whatever_stands_beside_it() -> None:
    rows = clustered(600, 1_536, 3, 1.0)
    store = vectors.Vectors(1_536)
    store.add(rows)
    together = store.cosines(rows[9], np.arange(600))
    alone = [float(store.cosines(rows[9], np.array([place]))[0]) for place in range(600)]
    assert together.tolist() == alone
    assert alone[9] == 1.0
    assert together[3] == pytest.approx(cosine(rows[3].tolist(), rows[9].tolist()), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 3e37])
def test_lengths_do_not_matter(scale: float) -> None:
    store = vectors.Vectors(3)
    store.add(np.array([[1, 2, 2], [2, 4, 4]], np.float32) * np.float32(scale))
    query = np.array([2, 1, 2], np.float32) * np.float32(scale)
    assert store.cosines(query, np.arange(2)) == pytest.approx([8 / 9, 8 / 9])
    assert store.near(query, 2) == pytest.approx([8 / 9, 8 / 9], abs=store.margin)


@given(st.integers(1, 70), st.integers(1, 40))
def test_near_cosines_are_within_the_margin(dimension: int, count: int) -> None:
    rows = clustered(count, dimension, 3, 1.0)
    store = vectors.Vectors(dimension)
    store.add(rows)
    exact = store.cosines(rows[0], np.arange(count))
    assert np.abs(store.near(rows[0], count) - exact).max() <= store.margin
    assert np.abs(store.near_of(rows[0], np.arange(count)) - exact).max() <= store.margin


def test_filters_and_repeats() -> None:
    index = DomainIndex(1)
    index.add([Indexed(5, bytes_of([1]), {"u"}, {'kind="a"'}), Indexed(6, bytes_of([1]), {"u"})])
    index.add([Indexed(5, bytes_of([-1])), Indexed(7, bytes_of([1]), (), {'kind="a"'})])
    assert index.ids.tolist() == [5, 6, 7]
    assert index.with_all({"u", 'kind="a"'}, 3).tolist() == [True, False, False]
    assert index.with_all((), 2).tolist() == [True, True]
    assert index.places_of([7, 9]).tolist() == [2]
    assert index.holds(7)
    assert not index.holds(9)


def test_memory_is_told_before_and_after() -> None:
    index = index_of([(n, row, ()) for n, row in enumerate(clustered(100, 128, 2, 1.0))])
    assert index.nbytes == 100 * bytes_of_episode(128)
    assert bytes_of_episode(128) == 129 * 4 + domain_index._BYTES_OF_PLACE

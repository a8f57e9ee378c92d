"""Components and what waits behind them, against plain references."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules import condensation, waiting
from retrograph.rules.arrays import Ints
from retrograph.rules.condensation import condense, waves

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    count = draw(st.integers(1, 14))
    place = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(place, place), max_size=40))
    return count, [(source, target) for source, target in edges if source != target]


def ends(edges: Edges) -> tuple[Ints, Ints]:
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def behind(count: int, edges: Edges) -> list[set[int]]:
    """Which places each reaches by one edge or more."""
    reached: list[set[int]] = [set() for _ in range(count)]
    for source, target in edges:
        reached[source].add(target)
    for middle in range(count):
        for place in range(count):
            if middle in reached[place]:
                reached[place] |= reached[middle]
    return reached


@given(graphs())
def test_a_component_holds_exactly_what_reaches_it_and_is_reached(
    graph: tuple[int, Edges],
) -> None:
    count, edges = graph
    reached = behind(count, edges)
    found = condense(count, *ends(edges)).component.tolist()
    for place in range(count):
        mutual = {other for other in reached[place] if place in reached[other]} | {place}
        assert found[place] == min(mutual)


@given(graphs())
def test_the_blockers_of_a_component_are_the_edges_that_enter_it(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    found = condense(count, *ends(edges))
    expected = [0] * count
    for source, target in edges:
        if found.component[source] != found.component[target]:
            expected[found.component[target]] += 1
    assert found.blockers.tolist() == expected


@given(graphs())
def test_waves_are_a_topological_order_of_all_that_no_cycle_precedes(
    graph: tuple[int, Edges],
) -> None:
    count, edges = graph
    reached = behind(count, edges)
    cyclic = {place for place in range(count) if place in reached[place]}
    held = cyclic | {target for place in cyclic for target in reached[place]}
    sources, targets = ends(edges)
    order = waves(
        condensation.adjacency(sources, targets, count), np.bincount(targets, minlength=count)
    )
    number = {place: wave for wave, places in enumerate(order) for place in places.tolist()}
    assert number.keys() == set(range(count)) - held
    assert sum(map(len, order)) == len(number)
    for source, target in edges:
        if target in number:
            assert number[source] < number[target]


@given(graphs())
def test_what_waits_is_counted_once_however_many_ways_lead_to_it(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    reached = behind(count, edges)
    found = condense(count, *ends(edges))
    counts = waiting.waiting(found, *ends(edges)).tolist()
    for place in range(count):
        others = {each for each in reached[place] if place not in reached[each]}
        assert counts[place] == len(others - {place})


def test_a_long_chain_and_a_long_cycle_are_no_trouble() -> None:
    length = 20_000
    chain = np.arange(length - 1), np.arange(1, length)
    found = condense(length, *chain)
    assert found.component.tolist() == list(range(length))
    assert found.blockers.tolist() == [0] + [1] * (length - 1)
    ring = condense(length, np.arange(length), np.roll(np.arange(length), -1))
    assert not ring.component.any()
    assert not ring.blockers.any()


def test_large_counts_are_estimated_within_the_error_that_is_promised() -> None:
    """Layers of 500, each place leading to three of the next: known exactly by sets of bits."""
    width, depth = 500, 12
    count = width * depth
    rng = np.random.default_rng(7)
    sources = np.repeat(np.arange(count - width), 3)
    targets = (sources // width + 1) * width + rng.integers(0, width, len(sources))
    found = condense(count, sources, targets)
    estimated = waiting.waiting(found, sources, targets)
    reached = [0] * count
    for source, target in sorted(zip(sources.tolist(), targets.tolist(), strict=True))[::-1]:
        reached[source] |= reached[target] | 1 << target
    exact = np.array([each.bit_count() for each in reached])
    assert (estimated[exact == 0] == 0).all()
    errors = (estimated[exact > 0] - exact[exact > 0]) / exact[exact > 0]
    assert abs(errors.mean()) < 0.2
    assert np.sqrt((errors**2).mean()) < 0.4
    assert count > waiting.EXACT


def test_a_component_waits_for_no_member_of_its_own() -> None:
    edges = [(0, 1), (1, 0), (1, 2), (3, 0)]
    found = condense(4, *ends(edges))
    assert found.component.tolist() == [0, 0, 2, 3]
    assert found.blockers.tolist() == [1, 0, 1, 0]
    assert waiting.waiting(found, *ends(edges)).tolist() == [1, 1, 0, 3]

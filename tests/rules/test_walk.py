"""A walk reaches each node once, at its least depth, by the least of its shortest paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrograph.rules.walk import Reached, Walk

Neighbours = Mapping[int, Sequence[int]]
Row = tuple[int, int, tuple[int, ...]]

nodes = st.integers(-2, 7)
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=5))


def simple_paths(graph: Neighbours, path: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """Every simple path of at most `most` edges that goes on from `path`."""
    if len(path) > most:
        return [path]
    longer = [(*path, node) for node in set(graph.get(path[-1], ())) if node not in path]
    return [path, *(found for each in longer for found in simple_paths(graph, each, most))]


def naive(graph: Neighbours, start: int, max_depth: int) -> list[Row]:
    """The law, word for word, over all simple paths."""
    least: dict[int, tuple[int, ...]] = {}
    for path in simple_paths(graph, (start,), max_depth)[1:]:
        best = least.get(path[-1], path)
        least[path[-1]] = min(best, path, key=lambda p: (len(p), p))
    return sorted((len(path) - 1, node, path) for node, path in least.items())


def rows(reached: list[Reached]) -> list[Row]:
    """The same as plain tuples."""
    return [(each.depth, each.node, each.path) for each in reached]


def finish(walk: Walk, graph: Neighbours) -> list[set[int]]:
    """Walk to the end over `graph`; what was wanted, load by load."""
    loads = []
    while not walk.done:
        loads.append(walk.wanted())
        walk.advance({node: graph[node] for node in walk.wanted() if node in graph})
    return loads


@given(graphs, st.lists(nodes, min_size=1, max_size=4), st.integers(1, 6))
@example({0: [2, 1], 1: [3], 2: [3, 0], 3: [0]}, [0], 3)
def test_reaches_what_the_law_says(graph: Neighbours, starts: list[int], max_depth: int) -> None:
    walk = Walk(starts, max_depth)
    finish(walk, graph)
    for start in starts:
        assert rows(walk.reached(start)) == naive(graph, start, max_depth)


@given(graphs, st.lists(nodes, min_size=1, max_size=4), st.integers(1, 6))
def test_no_node_is_loaded_twice_and_no_level_costs_two_loads(
    graph: Neighbours, starts: list[int], max_depth: int
) -> None:
    loads = finish(Walk(starts, max_depth), graph)
    assert len(loads) <= max_depth
    assert sum(map(len, loads)) == len(set().union(*loads))


@given(graphs, nodes, st.integers(1, 6), st.integers(1, 5), st.integers(0, 4), nodes)
def test_a_full_page_wants_no_more(
    graph: Neighbours, start: int, max_depth: int, enough: int, depth: int, node: int
) -> None:
    everything = naive(graph, start, max_depth)
    walk = Walk([start], max_depth, enough=enough, after=(depth, node))
    finish(walk, graph)
    reached = rows(walk.reached(start))
    assert reached == everything[: len(reached)]
    page = [row for row in reached if row[:2] > (depth, node)]
    assert page[:enough] == [row for row in everything if row[:2] > (depth, node)][:enough]
    last = reached[-1][0] if reached else 0
    assert sum(row[0] < last for row in page) < enough


def test_one_full_start_does_not_stop_another() -> None:
    graph = {1: [2, 3], 2: [9], 5: [6], 6: [7], 7: [8]}
    walk = Walk([1, 5], 3, enough=2)
    assert finish(walk, graph) == [{1, 5}, {6}]
    assert rows(walk.reached(1)) == [(1, 2, (1, 2)), (1, 3, (1, 3))]
    assert rows(walk.reached(5)) == [(1, 6, (5, 6)), (2, 7, (5, 6, 7))]


def test_the_least_path_is_not_the_path_of_the_least_parent() -> None:
    graph = {0: [1, 2], 1: [9], 2: [4], 9: [5], 4: [5]}
    walk = Walk([0], 3)
    finish(walk, graph)
    assert walk.reached(0)[-1].path == (0, 1, 9, 5)


def test_a_start_is_not_reached_on_a_cycle() -> None:
    walk = Walk([1], 64)
    finish(walk, {1: [2, 1], 2: [1]})
    assert rows(walk.reached(1)) == [(1, 2, (1, 2))]


def test_levels_that_are_known_already_want_nothing() -> None:
    walk = Walk([1, 2], 3)
    walk.advance({1: [2], 2: [1]})
    assert walk.wanted() == set()
    walk.advance({})
    assert walk.done


@pytest.mark.parametrize(("starts", "max_depth"), [([], 5), ([1], 0)])
def test_nothing_to_walk(starts: list[int], max_depth: int) -> None:
    walk = Walk(starts, max_depth)
    assert walk.done
    assert [walk.reached(start) for start in starts] == [[] for _ in starts]


@pytest.mark.long
def test_a_chain_of_ten_thousand() -> None:
    graph = {node: [node + 1] for node in range(10_000)}
    walk = Walk([0], 10_000)
    finish(walk, graph)
    assert walk.reached(0)[-1].path == tuple(range(10_001))


def test_an_unknown_start_is_no_start() -> None:
    with pytest.raises(KeyError):
        Walk([1], 3).reached(2)

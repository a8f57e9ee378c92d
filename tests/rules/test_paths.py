"""The search gives every simple path once, in order, from any position on, within its budget."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrograph.rules.errors import InvalidCursor
from retrograph.rules.paths import DependencyPath, PathSearch

Edge = tuple[int, int]  # (source, target); the edge's id is its place in the list
AMPLE = 10**9

nodes = st.integers(0, 4)
graphs = st.lists(st.tuples(nodes, nodes), min_size=4, max_size=16)
depths = st.integers(1, 6)


def naive(edges: list[Edge], source: int, target: int, max_depth: int) -> list[DependencyPath]:
    """Every simple path, by trying every edge at every step, then sorted."""
    found: list[DependencyPath] = []
    open_paths = [DependencyPath((source,), ())]
    for _ in range(max_depth):
        open_paths = [
            DependencyPath((*path.nodes, head), (*path.edges, edge))
            for path in open_paths
            for edge, (tail, head) in enumerate(edges)
            if tail == path.nodes[-1] and head not in path.nodes
        ]
        found += [path for path in open_paths if path.nodes[-1] == target]
    return sorted(found, key=lambda path: (len(path.edges), path))


class Loader:
    """Incoming edges of a list of edges, latest first; remembers what it was asked for."""

    def __init__(self, edges: list[Edge]) -> None:
        self.loads: list[set[int]] = []
        self._incoming: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for edge, (source, target) in reversed(list(enumerate(edges))):
            self._incoming[target].append((edge, source))

    def __call__(self, wanted: set[int]) -> dict[int, list[tuple[int, int]]]:
        """The incoming edges of the wanted nodes that have any."""
        self.loads.append(wanted)
        return {node: self._incoming[node] for node in wanted if node in self._incoming}


def finish(search: PathSearch, load: Loader) -> list[DependencyPath]:
    """All paths of a search."""
    found: list[DependencyPath] = []
    while not search.done:
        search.feed(load(search.wanted()))
        found += search.paths()
    return found


@given(graphs, nodes, nodes, depths)
@example([(0, 1), (0, 1), (1, 2), (1, 2)], 0, 2, 2)
@example([], 0, 1, 3)
def test_finds_every_simple_path_in_order(
    edges: list[Edge], source: int, target: int, max_depth: int
) -> None:
    search = PathSearch(source, target, max_depth, budget=AMPLE)
    load = Loader(edges)
    assert finish(search, load) == naive(edges, source, target, max_depth)
    assert not search.truncated
    assert sum(map(len, load.loads)) == len(set().union(*load.loads))


@given(graphs, nodes, nodes, depths)
def test_goes_on_after_any_of_its_paths(
    edges: list[Edge], source: int, target: int, max_depth: int
) -> None:
    everything = naive(edges, source, target, max_depth)
    for place, path in enumerate(everything, start=1):
        search = PathSearch(source, target, max_depth, after=path, budget=AMPLE)
        assert finish(search, Loader(edges)) == everything[place:]


@given(graphs, nodes, nodes, depths, st.lists(nodes, max_size=3), st.data())
def test_goes_on_after_a_path_that_does_not_exist(
    edges: list[Edge],
    source: int,
    target: int,
    max_depth: int,
    between: list[int],
    data: st.DataObject,
) -> None:
    ids = st.integers(-1, 15)
    passed = data.draw(st.lists(ids, min_size=len(between) + 1, max_size=len(between) + 1))
    after = DependencyPath((source, *between, target), tuple(passed))
    search = PathSearch(source, target, max_depth, after=after, budget=AMPLE)
    position = (len(after.edges), after)
    everything = naive(edges, source, target, max_depth)
    expected = [path for path in everything if (len(path.edges), path) > position]
    assert finish(search, Loader(edges)) == expected


@given(graphs, nodes, nodes, depths, st.integers(0, 40))
def test_a_used_up_budget_says_so_and_what_was_found_is_the_beginning(
    edges: list[Edge], source: int, target: int, max_depth: int, budget: int
) -> None:
    search = PathSearch(source, target, max_depth, budget=budget)
    found = finish(search, Loader(edges))
    everything = naive(edges, source, target, max_depth)
    assert found == everything[: len(found)]
    assert search.truncated or found == everything
    assert search.done


@given(graphs, nodes, nodes, depths, st.integers(10, 60))
def test_pages_of_a_budget_each_make_the_whole(
    edges: list[Edge], source: int, target: int, max_depth: int, budget: int
) -> None:
    found: list[DependencyPath] = []
    while True:
        after = found[-1] if found else None
        search = PathSearch(source, target, max_depth, after=after, budget=budget)
        page = finish(search, Loader(edges))
        found += page
        if not page:
            break
    everything = naive(edges, source, target, max_depth)
    assert found == everything[: len(found)]
    assert search.truncated or found == everything


def layered(width: int, depth: int) -> list[Edge]:
    """A source, `depth` layers of `width` nodes, each linked to all of the next, and a target."""
    layers = [[0], *([d * width + w for w in range(1, width + 1)] for d in range(depth)), [-1]]
    return [(tail, head) for tails, heads in pairwise(layers) for tail in tails for head in heads]


def test_the_first_of_ten_to_the_nineteenth_paths_cost_next_to_nothing() -> None:
    search = PathSearch(0, -1, 20, budget=1_000)
    load = Loader(layered(10, 19))
    while not search.done:
        search.feed(load(search.wanted()))
    paths = search.paths()
    first = [next(paths) for _ in range(3)]
    assert [path.nodes[-2] for path in first] == [181, 182, 183]
    assert not search.truncated


def test_all_of_them_end_in_the_budget() -> None:
    search = PathSearch(0, -1, 20, budget=5_000)
    found = finish(search, Loader(layered(10, 19)))
    assert search.truncated
    assert 0 < len(found) < 5_000


def test_dead_ends_are_never_entered() -> None:
    ends = [(0, node) for node in range(100, 200)] + [
        (node, node + 100) for node in range(100, 200)
    ]
    search = PathSearch(0, 1, 20, budget=4)
    assert finish(search, Loader([(0, 2), (2, 1), *ends])) == [DependencyPath((0, 2, 1), (0, 1))]
    assert not search.truncated


def test_nothing_leads_from_a_node_to_itself() -> None:
    search = PathSearch(1, 1, 5)
    assert search.done
    assert list(search.paths()) == []


def test_a_search_not_yet_fed_has_no_paths() -> None:
    search = PathSearch(1, 2, 5)
    assert list(search.paths()) == []
    assert search.wanted() == {2}


def test_what_leads_to_the_source_is_never_loaded() -> None:
    load = Loader([(0, 1), (7, 0), (8, 7)])
    assert finish(PathSearch(0, 1, 20), load) == [DependencyPath((0, 1), (0,))]
    assert load.loads == [{1}]


@pytest.mark.parametrize(
    "after",
    [
        DependencyPath((), ()),
        DependencyPath((0,), ()),
        DependencyPath((0, 9), (1,)),
        DependencyPath((9, 1), (1,)),
        DependencyPath((0, 1), (1, 2)),
        DependencyPath((0, 2, 1), (1,)),
    ],
)
def test_a_position_between_other_nodes_is_refused(after: DependencyPath) -> None:
    with pytest.raises(InvalidCursor, match="between other nodes") as refused:
        PathSearch(0, 1, 5, after=after)
    assert refused.value.path == ("after",)

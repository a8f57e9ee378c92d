"""What is judged first, and what blocks it: the cases' waves are met by components and blockers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.agenda import agenda, edges_among
from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.graph import Graph
from tests.shared import shared

CASES = json.loads(shared("cases/revalidation.json").read_text())


def waves(open_nodes: set[int], edges: list[tuple[int, int]]) -> list[list[int]]:
    """The waves in which the nodes become ready, each judged when all before it are."""
    found = []
    while open_nodes:
        inside = [(s, t) for s, t in edges if s in open_nodes and t in open_nodes]
        plan = agenda(list(open_nodes), ([s for s, _ in inside], [t for _, t in inside]))
        ready = [n for n, b in zip(plan.nodes, plan.blockers, strict=True) if not b]
        found.append(ready)
        open_nodes -= set(ready)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_waves_of_the_cases(case: dict[str, Any]) -> None:
    fleet = next(n["fleet"] for n in case["nodes"] if n["id"] == case["invalidate"]["root"])
    expected = [sorted(wave) for wave in case["expect"]["waves"]]
    inside = {n["id"] for n in case["nodes"] if n["fleet"] == fleet}
    edges = [
        (e["source"], e["target"])
        for e in case["edges"]
        if EdgeType[e["type"]] in PROPAGATING and {e["source"], e["target"]} <= inside
    ]
    assert waves({node for wave in expected for node in wave}, edges) == expected


IDS = st.sampled_from([-(2**63), -1, 0, 5, 7, 9, 2**40, 2**63 - 1])


@given(st.sets(IDS, min_size=1), st.lists(st.tuples(IDS, IDS, st.sampled_from(EdgeType))))
def test_the_edges_among_nodes_are_those_of_the_graph_that_propagate(
    chosen: set[int], rows: list[tuple[int, int, EdgeType]]
) -> None:
    graph = Graph.build([(i, 1, 1, 0) for i in {*chosen, 5, 7}], rows)
    inside = {r for r in rows if r[0] != r[1] and {r[0], r[1]} <= chosen and r[2] in PROPAGATING}
    sources, targets = edges_among(graph, sorted(chosen))
    assert sorted(zip(sources, targets, strict=True)) == sorted((s, t) for s, t, _ in inside)


def test_a_circle_is_one_and_what_enters_it_blocks_all_of_it() -> None:
    found = agenda([40, 10, 20, 30], ([10, 20, 30, 40, 99], [20, 10, 10, 30, 10]))
    assert found.nodes == [10, 20, 30, 40]
    assert found.leaders == [10, 10, 30, 40]
    assert found.blockers == [1, 1, 1, 0]
    assert found.waiting == [0, 0, 2, 3]

"""Random small graphs, dense enough for circles, diamonds and supporters of supporters."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from retrograph.rules.cascade import Cascade, Seeds
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity
from tests.rules.cascade_reference import Edge, Impact, Node

HEALTHY = (Validity.CURRENTLY_VALID, Validity.REVALIDATED)
EFFECTS = (
    Validity.INVALID,
    Validity.SUPERSEDED,
    Validity.DEFINITELY_STALE,
    Validity.POTENTIALLY_STALE,
)
VALIDITIES = st.sampled_from((Validity.CURRENTLY_VALID,) * 4 + tuple(Validity))
TYPES = st.sampled_from((EdgeType.SUPPORTED_BY,) * 4 + tuple(EdgeType))
SPREAD = (-(2**63), -7, -1, 0, 1, 2, 3, 5, 40, 41, 10**6, 2**40, 2**62, 2**63 - 1)
"""Ids at the ends of 64 bits among close ones, so that both ways of finding a place are used."""


@dataclass(frozen=True)
class World:
    nodes: list[Node]
    edges: list[Edge]
    seeds: Seeds

    def graph(self) -> Graph:
        return Graph.build(self.nodes, self.edges)


@st.composite
def nodes_of(draw: st.DrawFn, ids: list[int], validities: st.SearchStrategy[int]) -> list[Node]:
    nodes = []
    for node in ids:
        stored = draw(validities)
        pinned = draw(st.integers(0, 5)) == 0
        nodes.append((node, stored, draw(validities) if pinned else stored, int(pinned)))
    return nodes


@st.composite
def worlds(
    draw: st.DrawFn, validities: st.SearchStrategy[int] = VALIDITIES, single: bool = False
) -> World:
    ids = draw(st.lists(st.sampled_from(SPREAD), min_size=1, max_size=12, unique=True))
    if draw(st.booleans()):
        ids = list(range(1, len(ids) + 1))
    inside = st.sampled_from(ids)
    ends = st.one_of(inside, inside, inside, st.sampled_from(SPREAD))
    edges: list[Edge] = [*draw(st.lists(st.tuples(ends, ends, TYPES), max_size=30))]
    nodes = draw(nodes_of(ids, validities))
    roots = st.dictionaries(inside, st.sampled_from(EFFECTS), min_size=1, max_size=1)
    if single:
        return World(nodes, edges, Seeds(roots=draw(roots)))
    known = [edge for edge in edges if edge[0] in ids and edge[1] in ids]
    passing = st.lists(st.sampled_from(known), max_size=4) if known else st.just([])
    seeds = draw(
        st.one_of(
            st.builds(Seeds, roots=roots),
            st.builds(Seeds, passing=passing),
            st.builds(Seeds, touched=st.lists(inside, max_size=2)),
            st.builds(
                Seeds,
                roots=st.dictionaries(inside, st.sampled_from(EFFECTS), max_size=3),
                passing=passing,
                touched=st.lists(inside, max_size=2),
            ),
        )
    )
    return World(nodes, edges, seeds)


def impacts(found: Cascade) -> list[Impact]:
    return [
        (*columns, found.path(ordinal))
        for ordinal, columns in enumerate(
            zip(
                found.nodes,
                found.kinds,
                found.before,
                found.after,
                found.stored_before,
                found.stored_after,
                strict=True,
            )
        )
    ]


def applied(graph: Graph, found: Cascade) -> Graph:
    """The graph after the run."""
    rows = []
    for ordinal, node in enumerate(found.nodes):
        state = graph.state(node)
        assert state is not None
        rows.append((node, found.stored_after[ordinal], found.after[ordinal], int(state[2])))
    return graph.changed(nodes=rows)


def states(graph: Graph) -> list[tuple[int, tuple[int, int, bool] | None]]:
    return [(node, graph.state(node)) for node in graph.structure.ids.tolist()]

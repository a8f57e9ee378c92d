"""What is judged first: the components of open tasks, what blocks each, and how much waits.

A component is ready when no edge enters it from an open task outside of it: so a circle of tasks
becomes ready as one (a plain topological order would never release it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Ints, among
from retrograph.rules.condensation import condense
from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.graph import Graph
from retrograph.rules.structure import PLACE_MASK, SOURCE_SHIFT, TARGET_SHIFT, TYPE_MASK
from retrograph.rules.waiting import waiting

Edges = tuple[Sequence[int], Sequence[int]]
"""The sources and the targets of edges, by node id; an edge of another type is another edge."""


@dataclass(frozen=True, slots=True)
class Agenda:
    """By node, in the ascending order of `nodes`.

    `leaders` names each node's component by its smallest node; `blockers` is how many edges lead
    into that component from others among the nodes; `waiting` is how many nodes wait on this one,
    directly or not (see `retrograph.rules.waiting`: an estimate where there are many).
    """

    nodes: list[int]
    leaders: list[int]
    blockers: list[int]
    waiting: list[int]


def agenda(nodes: Sequence[int], edges: Edges) -> Agenda:
    """Return the agenda of distinct `nodes`; edges with an end elsewhere are left out."""
    ids = np.sort(np.array(nodes, np.int64))
    sources, targets = (np.array(column, np.int64) for column in edges)
    (source, source_known), (target, target_known) = among(ids, sources), among(ids, targets)
    kept = source_known & target_known & (sources != targets)
    source, target = source[kept], target[kept]
    found = condense(len(ids), source, target)
    return Agenda(
        nodes=ids.tolist(),
        leaders=ids[found.component].tolist(),
        blockers=found.blockers[found.component].tolist(),
        waiting=waiting(found, source, target).tolist(),
    )


def edges_among(graph: Graph, nodes: Sequence[int]) -> Edges:
    """Return the propagating edges of a graph whose both ends are among `nodes`, as columns."""
    structure = graph.structure
    edges = structure.edges
    places, known = among(structure.ids, np.array(nodes, np.int64))
    chosen = np.zeros(len(structure.ids), np.bool_)
    chosen[places[known]] = True
    source, target = edges >> SOURCE_SHIFT, edges >> TARGET_SHIFT & PLACE_MASK
    kept = chosen[source] & chosen[target] & np.isin(edges & TYPE_MASK, PROPAGATING)
    return _ids(structure.ids, source[kept]), _ids(structure.ids, target[kept])


def _ids(ids: Ints, places: Ints) -> list[int]:
    found: list[int] = ids[places].tolist()
    return found

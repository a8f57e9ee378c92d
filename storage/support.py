"""The supporters of nodes as of an instant, and which of them stand.

Whether one stands may hang on its own supporters: these are walked up to where the answer is
known, and `retrograph.rules.standing` decides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.edges import neighbours
from retrograph.storage.nodes import states_by_id
from retrograph.storage.records import Direction
from retrograph.storage.snapshot import Snapshot

_SUPPORTED_BY = (EdgeType.SUPPORTED_BY,)


@dataclass(frozen=True, slots=True)
class Supporters:
    """The supporters of a node: all of them, and those that stand, ascending."""

    every: list[int]
    standing: list[int]


def supporters_of(s: Snapshot, node_ids: Collection[int]) -> dict[int, Supporters]:
    """The supporters of each node; two statements for each level that must be walked."""
    edges: dict[int, list[int]] = {}
    states: dict[int, tuple[int, int, int]] = {}
    wanted = set(node_ids)
    while wanted:
        found = neighbours(s, wanted, Direction.DEPENDENCIES, _SUPPORTED_BY)
        for node_id in wanted:
            edges[node_id] = sorted({far for _, far in found.get(node_id, ())})
        near = {far for node_id in wanted for far in edges[node_id]} - states.keys()
        states |= states_by_id(s, near)
        wanted = {each for each in near if _hangs_on_others(states[each])} - edges.keys()
    return _judged(node_ids, edges, states)


def _hangs_on_others(state: tuple[int, int, int]) -> bool:
    _, projected, pinned = state
    return is_healthy(projected) and not pinned and projected != Validity.REVALIDATED


def _judged(
    node_ids: Collection[int],
    edges: dict[int, list[int]],
    states: dict[int, tuple[int, int, int]],
) -> dict[int, Supporters]:
    graph = Graph.build(
        ((node_id, *state) for node_id, state in states.items()),
        (
            (source, target, int(EdgeType.SUPPORTED_BY))
            for target, sources in edges.items()
            for source in sources
            if target in states
        ),
    )
    stands = graph.standing().stands
    answers = {}
    for node_id in node_ids:
        every = edges[node_id]
        places = graph.places(every)
        standing = [each for each, place in zip(every, places, strict=True) if stands[place]]
        answers[node_id] = Supporters(every, standing)
    return answers

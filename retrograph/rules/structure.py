"""The shape of a graph: which nodes there are, and which edges join them.

Nodes are known by their place among the ascending ids, so that the order of places is the order
of ids. An edge is one number, `source << 33 | target << 3 | type`, by places: sorting these
numbers puts the edges of a source side by side, and makes the structure independent of the order
in which its rows came.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Adjacency, Flags, Ints, Locator, Octets, distinct_sorted
from retrograph.rules.edge_type import CEILING, LIFTING, EdgeType

SOURCE_SHIFT = 33
TARGET_SHIFT = 3
PLACE_MASK = (1 << 30) - 1
TYPE_MASK = (1 << TARGET_SHIFT) - 1

CEILINGS: Octets = np.array([CEILING.get(number, 0) for number in range(8)], np.uint8)
PLAIN: Flags = CEILINGS.astype(bool)
PLAIN[EdgeType.SUPPORTED_BY] = False
LIFTS: Flags = np.isin(np.arange(8), LIFTING)


@dataclass(frozen=True, slots=True)
class Structure:
    """Nodes and edges without their states.

    `ids` are the node ids, ascending; `edges` the edges as sorted numbers. `dependents` holds the
    targets of the four propagating types that judge a source alone, `ceilings` their ceilings.
    `supported` holds the targets of `SUPPORTED_BY`, `supporters` its sources by target. `lifted`
    holds the targets of `CONTRADICTS` and `SUPERSEDES`. `fan_out[i + 1] - fan_out[i]` is the number
    of propagating edges out of node `i`.
    """

    ids: Ints
    edges: Ints
    dependents: Adjacency
    ceilings: Octets
    supported: Adjacency
    supporters: Adjacency
    lifted: Adjacency
    fan_out: Ints

    @classmethod
    def build(cls, ids: Ints, edges: Ints) -> Structure:
        """`ids` are ascending and distinct; `edges` are packed, ascending and distinct."""
        count = len(ids)
        kinds = edges & TYPE_MASK
        plain = edges[PLAIN[kinds]]
        support = edges[kinds == EdgeType.SUPPORTED_BY]
        turned = np.sort(pack(_targets(support), _sources(support), EdgeType.SUPPORTED_BY))
        dependents, supported = _adjacency(plain, count), _adjacency(support, count)
        return cls(
            ids=ids,
            edges=edges,
            dependents=dependents,
            ceilings=CEILINGS[plain & TYPE_MASK],
            supported=supported,
            supporters=_adjacency(turned, count),
            lifted=_adjacency(edges[LIFTS[kinds]], count),
            fan_out=dependents.start + supported.start,
        )

    def place(self, node_id: int) -> int:
        """Return the place of a node, -1 where there is none."""
        place = bisect_left(self.ids.data, node_id)
        return place if place < len(self.ids) and self.ids[place] == node_id else -1

    def has(self, source: int, target: int, kind: int) -> bool:
        """Say whether there is such an edge between two places; -1 stands for no place."""
        if source < 0 or target < 0:
            return False
        edge = source << SOURCE_SHIFT | target << TARGET_SHIFT | kind
        place = bisect_left(self.edges.data, edge)
        return place < len(self.edges) and int(self.edges[place]) == edge


def pack_rows(ids: Ints, rows: Ints) -> Ints:
    """Return rows of (source id, target id, type) among the nodes `ids` as sorted edges.

    Rows with an unknown end and self-loops are left out: an edge may have been planted out of its
    fleet, and is never followed. Raises `ValueError` for a type that doesn't exist.
    """
    kinds = rows[:, 2]
    if len(kinds) and not 1 <= kinds.min() <= kinds.max() <= len(EdgeType):
        raise ValueError("an edge type lies between 1 and 7")
    find = Locator(ids).find
    source, target = find(rows[:, 0]), find(rows[:, 1])
    known = (source >= 0) & (target >= 0) & (source != target)
    return distinct_sorted(np.sort(pack(source, target, kinds)[known]))


def moved(edges: Ints, old_ids: Ints, new_ids: Ints) -> Ints:
    """Return edges among `old_ids` as edges among `new_ids`, those of lost nodes left out."""
    if np.array_equal(new_ids[: len(old_ids)], old_ids):
        return edges
    places = Locator(new_ids).find(old_ids)
    source, target = places[_sources(edges)], places[_targets(edges)]
    kept = (source >= 0) & (target >= 0)
    return pack(source, target, edges & TYPE_MASK)[kept]


def pack(source: Ints, target: Ints, kind: Ints | int) -> Ints:
    """Return edges, given by places, as one number each."""
    return source << SOURCE_SHIFT | target << TARGET_SHIFT | kind


def _sources(edges: Ints) -> Ints:
    return edges >> SOURCE_SHIFT


def _targets(edges: Ints) -> Ints:
    return edges >> TARGET_SHIFT & PLACE_MASK


def _adjacency(edges: Ints, count: int) -> Adjacency:
    return Adjacency.build(_sources(edges), _targets(edges), count)

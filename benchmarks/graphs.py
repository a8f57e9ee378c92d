"""The graphs that are measured on, and how they get into a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from retrograph.rules.edge_type import EdgeType
from retrograph.storage.edge_writes import create_edges
from retrograph.storage.node_writes import Content, NewNode, create_nodes
from retrograph.storage.records import NodeKind
from retrograph.storage.store import Store, open_store
from retrograph.storage.write import Write

TENANT, FLEET = 1, 1
ROOT = 1
"""The id of the first node: everything in the graphs here depends on it."""

CLAIM = Content('{"claim":"the invoice agrees with the metered hours"}', None, 0.9, None)
_TYPES = (EdgeType.REQUIRES, EdgeType.DERIVED_FROM, EdgeType.OBSERVED_FROM)

Edge = tuple[int, int, EdgeType]


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph of the nodes 1 … `nodes`; edges are (source, target, type)."""

    nodes: int
    edges: Sequence[Edge]


def layered(nodes: int, depth: int) -> Shape:
    """A DAG: the root, then `depth` layers; each node takes three edges from the layer before.

    One of the three is a `REQUIRES` edge, so an invalid root fells all nodes. Their ids come in no
    order: what lies near in the graph need not lie near in a table.
    """
    chance, width = Random(1), -(-(nodes - 1) // depth)
    ids = list(range(ROOT + 1, nodes + 1))
    chance.shuffle(ids)
    layers = [[ROOT], *(ids[start : start + width] for start in range(0, len(ids), width))]
    edges = {
        (chance.choice(above), node, kind)
        for above, layer in pairwise(layers)
        for node in layer
        for kind in _TYPES
    }
    return Shape(nodes, sorted(edges))


def chain(nodes: int) -> Shape:
    """Each node requires the one before."""
    pairs = zip(range(1, nodes), range(2, nodes + 1), strict=True)
    return Shape(nodes, [(source, target, EdgeType.REQUIRES) for source, target in pairs])


def woven(width: int, depth: int, copies: int) -> Shape:
    """A root, then layers of `width` nodes that each require every node of the layer before.

    One has width to the power of depth paths, but only 1 + width × depth nodes. The `copies` of it
    lie side by side; `woven_root` tells their roots.
    """
    edges: list[Edge] = []
    for copy in range(copies):
        root = woven_root(width, depth, copy)
        starts = range(root + 1, root + 1 + width * depth, width)
        layers = [range(root, root + 1), *(range(start, start + width) for start in starts)]
        edges += [
            (source, target, EdgeType.REQUIRES)
            for above, below in pairwise(layers)
            for source in above
            for target in below
        ]
    return Shape(copies * (1 + width * depth), edges)


def woven_root(width: int, depth: int, copy: int) -> int:
    """The id of the root of a copy, counted from 0."""
    return ROOT + copy * (1 + width * depth)


def plant(path: Path, shape: Shape, content: Content = CLAIM) -> Path:
    """Makes the database `path` with the graph, all of it healthy; each node says the same."""
    store = open_store(str(path))
    plant_in(store, shape, content)
    store.close()
    return path


def plant_in(store: Store, shape: Shape, content: Content = CLAIM) -> None:
    """Plants the graph in an empty database."""

    def job(writes: dict[int, Write]) -> None:
        nodes = [NewNode(f"belief:{n}", NodeKind.ASSERTION, content) for n in range(shape.nodes)]
        create_nodes(writes[FLEET], nodes)
        create_edges(writes[FLEET], shape.edges)

    store.write_all(TENANT, [FLEET], job)

"""Columns of nodes that fall together: whoever sees a part of one fall has seen a torn cascade."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.nodes import list_nodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import NodeRef, RunRecord
from retrograph.storage.store import Store
from tests.planting import new_node, plant_edges, plant_nodes

HEIGHT = 40
Column = tuple[str, ...]
"""The validities of a column's nodes, from its root down."""


def plant_columns(store: Store, count: int) -> list[range]:
    """Plants columns in fleet 1, each a chain of requirements; returns the ids of each."""
    columns = []
    for _ in range(count):
        ids = plant_nodes(store, [new_node() for _ in range(HEIGHT)])
        edges = [(above, below, EdgeType.REQUIRES) for above, below in pairwise(ids)]
        plant_edges(store, edges)
        columns.append(ids)
    return columns


def fell(scope: Scope, column: range) -> RunRecord:
    return invalidate(scope, 1, Invalidation(NodeRef(id=column[0]), "wrong"))


def read_columns(
    scope: Scope, columns: Sequence[range], at: int | None = None
) -> tuple[int, list[Column]]:
    """The instant that was read, and the columns as they were then; none may be torn."""
    page = list_nodes(scope, 1, NodeFilter(), 1000, at=at)
    found = {node.id: node.validity for node in page.rows}
    seen = [tuple(found[node_id].name for node_id in column) for column in columns]
    assert all(len(set(column)) == 1 for column in seen), seen
    return page.as_of, seen

"""Loads a fleet's whole graph as the value that `retrograph.rules` works on."""

from __future__ import annotations

from sqlalchemy import select

from retrograph.rules.graph import Graph
from retrograph.storage.as_of import arms, keyed_arms, over_arms
from retrograph.storage.named import run_named
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import edge, node, node_state


def load_graph_by_columns(snapshot: Snapshot) -> Graph:
    """The present: each column as one text, which is three times as fast as rows are."""
    nodes = run_named(snapshot, "load_graph_nodes").one()
    edges = run_named(snapshot, "load_graph_edges").one()
    return Graph.parse(
        [column or "" for column in nodes],
        [column or "" for column in edges],
    )


def load_graph_by_rows(snapshot: Snapshot) -> Graph:
    """Any instant, on any engine."""
    states = over_arms(
        keyed_arms(snapshot, node_state, node.c.id),
        lambda arm: select(node.c.id, arm.c.validity, arm.c.projected, arm.c.pinned).where(
            node.c.tenant_id == snapshot.tenant_id, node.c.fleet_id == snapshot.fleet_id
        ),
    )
    edges = over_arms(
        arms(snapshot, edge),
        lambda arm: select(arm.c.source_id, arm.c.target_id, arm.c.type).where(
            arm.c.tenant_id == snapshot.tenant_id, arm.c.fleet_id == snapshot.fleet_id
        ),
    )
    execute = snapshot.connection.execute
    return Graph.build(execute(states).tuples().all(), execute(edges).tuples().all())

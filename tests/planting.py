"""Puts graphs into a store as a test wants them, broken edges included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.edge_writes import create_edges
from retrograph.storage.node_writes import Content, NewNode, create_nodes
from retrograph.storage.records import NodeKind
from retrograph.storage.store import Store
from retrograph.storage.task_records import UNSURE, Opening
from retrograph.storage.task_writes import settle, stir
from retrograph.storage.write import Write

EMPTY = Content(payload=None, contract_hash=None, base_confidence=1.0, expires_at=None)


def new_node(
    key: str | None = None,
    validity: Validity = Validity.CURRENTLY_VALID,
    *,
    projected: Validity | None = None,
    pinned: bool = False,
) -> NewNode:
    """A node of no content in the given state."""
    return NewNode(key, NodeKind.ASSERTION, EMPTY, validity, projected or validity, pinned)


def plant_nodes(store: Store, nodes: Sequence[NewNode], tenant: int = 1, fleet: int = 1) -> range:
    """Makes nodes in one write, with the tasks that they need, and returns their ids."""

    def job(writes: dict[int, Write]) -> range:
        ids = create_nodes(writes[fleet], nodes)
        unsure = [
            Opening(node_id)
            for node_id, node in zip(ids, nodes, strict=True)
            if node.validity in UNSURE and not node.pinned
        ]
        settle(writes[fleet], [each.node_id for each in unsure], unsure)
        return range(ids[0], ids[0] + len(ids)) if ids else range(0)

    return store.write_all(tenant, [fleet], job)


def plant_edges(
    store: Store, edges: Iterable[tuple[int, int, EdgeType]], tenant: int = 1, fleet: int = 1
) -> range:
    """Makes edges unchecked: self-loops and edges out of the fleet, too."""
    keys = list(edges)

    def job(writes: dict[int, Write]) -> range:
        ids = create_edges(writes[fleet], keys)
        stir(writes[fleet], new=[(s, t) for s, t, kind in keys if kind in PROPAGATING])
        return ids

    return store.write_all(tenant, [fleet], job)


def plant_case(store: Store, case: dict[str, Any]) -> dict[int, int]:
    """Plants a shared case, nodes in the order of their ids; returns the stored id of each.

    The edges are of the fleet that the root belongs to.
    """
    ids: dict[int, int] = {}
    rows = sorted(case["nodes"], key=lambda row: row["id"])
    for (tenant, fleet), group in groupby(rows, key=lambda row: (row["tenant"], row["fleet"])):
        members = list(group)
        nodes = [
            new_node(str(row["id"]), Validity[row["validity"]], pinned=row["pinned"])
            for row in members
        ]
        planted = plant_nodes(store, nodes, tenant, fleet)
        ids.update(zip((row["id"] for row in members), planted, strict=True))
    edges = [(ids[e["source"]], ids[e["target"]], EdgeType[e["type"]]) for e in case["edges"]]
    plant_edges(store, edges, *fleet_of(case))
    return ids


def fleet_of(case: dict[str, Any]) -> tuple[int, int]:
    """The tenant and the fleet of a shared case's root."""
    root = case["invalidate"]["root"]
    return next((row["tenant"], row["fleet"]) for row in case["nodes"] if row["id"] == root)

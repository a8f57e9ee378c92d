"""The shared cascade cases, read into graphs."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from retrograph.rules.cascade import Cascade, ImpactKind
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity
from tests.shared import shared

Case = dict[str, Any]
Impact = dict[str, Any]


@cache
def cases() -> tuple[Case, ...]:
    return tuple(
        case
        for name in ("cascade-named.json", "cascade-random.json")
        for case in json.loads(shared(f"cases/{name}").read_text(encoding="utf-8"))
    )


def graph_of(case: Case) -> Graph:
    """The graph of the fleet that the root belongs to, edges out of it included."""
    nodes = {node["id"]: node for node in case["nodes"]}
    root = nodes[case["invalidate"]["root"]]
    fleet = [
        (node["id"], Validity[node["validity"]], Validity[node["validity"]], node["pinned"])
        for node in nodes.values()
        if (node["tenant"], node["fleet"]) == (root["tenant"], root["fleet"])
    ]
    edges = [(edge["source"], edge["target"], EdgeType[edge["type"]]) for edge in case["edges"]]
    return Graph.build(fleet, edges)


def impacts_of(found: Cascade) -> list[Impact]:
    return [
        {
            "node": found.nodes[ordinal],
            "kind": ImpactKind(found.kinds[ordinal]).name,
            "from": Validity(found.before[ordinal]).name,
            "to": Validity(found.after[ordinal]).name,
            "depth": found.depths[ordinal],
            "path": found.path(ordinal),
        }
        for ordinal in range(len(found))
    ]

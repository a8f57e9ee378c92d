"""Import files and exports as tests write and read them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from retrograph.resolvers.export_graph import export_graph
from retrograph.resolvers.importing.graph import Imported, import_graph
from retrograph.resolvers.scope import Scope
from retrograph.storage.filters import NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import NodeRecord
from retrograph.storage.store import Store
from retrograph.storage.tables import metadata

Line = tuple[str, dict[str, Any]]

NOT_DATA = ("fleet", "id_sequence", "leadership", "run")
"""Tables that an import may move without changing the graph or its events."""


def node(key: str, **fields: Any) -> Line:
    return "node", {"key": key, "kind": "ASSERTION"} | fields


def edge(source: str, target: str, type: str = "REQUIRES", **fields: Any) -> Line:
    return "edge", {"source": source, "target": target, "type": type} | fields


def evidence(key: str, uri: str, **fields: Any) -> Line:
    return "evidence", {"node": key, "uri": uri} | fields


def invalidate(key: str, reason: str = "wrong", **fields: Any) -> Line:
    return "invalidate", {"key": key, "reason": reason} | fields


def supersede(key: str, by: dict[str, Any], **fields: Any) -> Line:
    return "supersede", {"key": key, "by": by} | fields


def text(lines: Sequence[Line]) -> bytes:
    return b"".join(json.dumps({head: body}).encode() + b"\n" for head, body in lines)


def load(scope: Scope, *lines: Line, fleet: int = 1) -> Imported:
    """Imports lines, in the order given."""
    return import_graph(scope, io.BytesIO(text(lines)), fleet)


def exported(scope: Scope, fleet: int = 1, at: int | None = None) -> list[Line]:
    """The lines that an export gives, as `load` takes them."""
    lines = [json.loads(line) for line in export_graph(scope, fleet, at)]
    return [next(iter(line.items())) for line in lines]


def nodes(scope: Scope, fleet: int = 1) -> dict[str | None, NodeRecord]:
    with scope.snapshot(fleet) as s:
        return {row.key: row for row in page_nodes(s, NodeFilter(), 1000, None).rows}


def contents(store: Store) -> dict[str, list[Any]]:
    """Every row of tenant 1 in the tables of the graph, its history, its impacts and its events."""
    with store.read(1, 1) as s:
        return {
            name: sorted(
                map(repr, s.connection.execute(select(table).where(table.c.tenant_id == 1)))
            )
            for name, table in metadata.tables.items()
            if name not in NOT_DATA
        }

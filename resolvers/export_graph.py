"""`export`: a fleet at an instant as JSON Lines that, imported elsewhere, give the same graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import orjson

from retrograph.resolvers.scope import Scope
from retrograph.rules.instant import format_instant
from retrograph.rules.validity import Validity
from retrograph.storage.edges import page_edges
from retrograph.storage.exports import keys_of, page_evidence
from retrograph.storage.filters import EdgeFilter, NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import EdgeRecord, EvidenceRecord, NodeRecord, Page
from retrograph.storage.snapshot import Snapshot

R = TypeVar("R", NodeRecord, EdgeRecord, EvidenceRecord)

_PREFIX = "id:"
"""Begins the keys that are made for nodes without one."""
_ROWS = 5_000
"""Rows that are held at a time."""


def export_graph(scope: Scope, fleet_id: int, at: int | None = None) -> Iterator[bytes]:
    """The lines of the fleet as of `min(at, last committed clock)`: nodes, edges, evidence.

    Each by ascending id, so that the ids of a graph imported from them ascend alike; no line
    names the fleet.  A node without a key is given one: `id:` and its id, and where another node
    has that key, as many colons more as make it unique.  Raises `NotFound`, `InstantInFuture`.
    """
    with scope.snapshot(fleet_id, at) as s:
        names = _Names(s)
        for nodes in _pages(lambda after: page_nodes(s, NodeFilter(), _ROWS, after)):
            yield from (_node_line(names.name(node.id, node.key), node) for node in nodes)
        for edges in _pages(lambda after: page_edges(s, EdgeFilter(), _ROWS, after)):
            yield from _edge_lines(names, edges)
        for evidence in _pages(lambda after: page_evidence(s, _ROWS, after)):
            yield from _evidence_lines(names, evidence)


class _Names:
    """The keys under which nodes are exported."""

    def __init__(self, s: Snapshot) -> None:
        like_made = NodeFilter(key_prefix=_PREFIX)
        pages = _pages(lambda after: page_nodes(s, like_made, _ROWS, after))
        self._snapshot = s
        self._taken = {node.key for nodes in pages for node in nodes}

    def name(self, node_id: int, key: str | None) -> str:
        if key is not None:
            return key
        made = f"{_PREFIX}{node_id}"
        while made in self._taken:
            made += ":"
        return made

    def look_up(self, ids: Iterable[int]) -> dict[int, str]:
        keys = keys_of(self._snapshot, set(ids))
        return {node_id: self.name(node_id, key) for node_id, key in keys.items()}


def _pages(read: Callable[[int | None], Page[R]]) -> Iterator[list[R]]:
    page = read(None)
    yield page.rows
    while page.has_next:
        page = read(page.rows[-1].id)
        yield page.rows


def _node_line(name: str, node: NodeRecord) -> bytes:
    fields: dict[str, object] = {"key": name, "kind": node.kind.name}
    if node.payload is not None:
        fields["payload"] = orjson.Fragment(node.payload)
    if node.contract_hash is not None:
        fields["contractHash"] = node.contract_hash
    if node.base_confidence != 1:
        fields["confidence"] = node.base_confidence
    if node.validity != Validity.CURRENTLY_VALID:
        fields["validity"] = node.validity.name
    if node.pinned:
        fields["pinned"] = True
        if node.pin_reason is not None:
            fields["pinReason"] = node.pin_reason
    if node.projected != node.validity:
        fields["projected"] = node.projected.name
    if node.expires_at is not None:
        fields["expiresAt"] = format_instant(node.expires_at)
    return _line("node", fields)


def _edge_lines(names: _Names, edges: list[EdgeRecord]) -> Iterator[bytes]:
    by_id = names.look_up(end for edge in edges for end in (edge.source_id, edge.target_id))
    for edge in edges:
        ends = {"source": by_id[edge.source_id], "target": by_id[edge.target_id]}
        yield _line("edge", {**ends, "type": edge.type.name})


def _evidence_lines(names: _Names, rows: list[EvidenceRecord]) -> Iterator[bytes]:
    by_id = names.look_up(each.node_id for each in rows)
    for each in rows:
        note = {} if each.note is None else {"note": each.note}
        yield _line("evidence", {"node": by_id[each.node_id], "uri": each.uri, **note})


def _line(head: str, fields: dict[str, object]) -> bytes:
    return orjson.dumps({head: fields}, option=orjson.OPT_APPEND_NEWLINE)

"""Why nodes are not healthy: the run that felled each, and its place in that run."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.rules.validity import is_healthy
from retrograph.storage.impacts import impacts_at
from retrograph.storage.records import NodeRecord, StalenessRecord
from retrograph.storage.runs import runs_by_id
from retrograph.storage.snapshot import Snapshot


def staleness_of(s: Snapshot, nodes: Collection[NodeRecord]) -> dict[str, StalenessRecord | None]:
    """By version id: a history holds a node several times.  Two statements.

    None for a healthy version and for one whose state no run gave.
    """
    felled = {
        node.version_id: (node.run_id, node.run_ordinal)
        for node in nodes
        if not is_healthy(node.validity)
        and node.run_id is not None
        and node.run_ordinal is not None
    }
    runs = runs_by_id(s, {run_id for run_id, _ in felled.values()})
    impacts = impacts_at(s, set(felled.values()))
    found: dict[str, StalenessRecord | None] = dict.fromkeys(node.version_id for node in nodes)
    for version_id, key in felled.items():
        if key in impacts:
            found[version_id] = StalenessRecord(runs[key[0]], impacts[key].depth, key[1])
    return found

"""`unlinkNodes`: takes edges out of the present; it never changes a state."""

from __future__ import annotations

from collections.abc import Sequence

from retrograph.resolvers.outcomes import NodesUnlinked
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import NotFound
from retrograph.rules.limits import check_batch
from retrograph.storage.edge_writes import end_edges
from retrograph.storage.edges import edges_by_id
from retrograph.storage.task_writes import stir
from retrograph.storage.write import Write


def unlink_nodes(scope: Scope, fleet_id: int, edge_ids: Sequence[int]) -> NodesUnlinked:
    """Ends all the edges in one transaction, or none; raises `NotFound` for one unknown."""
    check_batch(len(edge_ids), field=("input", "edges"))

    def job(write: Write) -> NodesUnlinked:
        found = edges_by_id(write.snapshot, edge_ids)
        for position, edge_id in enumerate(edge_ids):
            if edge_id not in found:
                raise NotFound(
                    f"There is no edge with the id {edge_id} in this fleet.",
                    path=("input", "edges", str(position)),
                )
        end_edges(write, list(found.values()))
        stir(write, gone=[(edge.source_id, edge.target_id) for edge in found.values()])
        return NodesUnlinked(write.instant, list(found))

    return scope.write(fleet_id, job)

"""`putNodes`: makes and updates up to a thousand nodes at once."""

from __future__ import annotations

from collections.abc import Sequence

from retrograph.resolvers.inputs import NodeInput, OnChange
from retrograph.resolvers.outcomes import NodesPut
from retrograph.resolvers.puts import apply_puts, check_distinct, check_put, propagate_changes
from retrograph.resolvers.scope import Scope
from retrograph.rules.limits import check_batch
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.write import Write


def put_nodes(
    scope: Scope, fleet_id: int, inputs: Sequence[NodeInput], on_change: OnChange
) -> NodesPut:
    """Puts all nodes in one transaction, or none.

    Another payload or contract hash makes dependents potentially stale, in a run for each such
    node, unless `on_change` is `KEEP`.  Raises `InvalidInput`, `NotFound`, `VersionConflict`,
    `RunTooLarge`.
    """
    check_batch(len(inputs), field=("input", "nodes"))
    puts = [check_put(each, ("input", "nodes", str(i))) for i, each in enumerate(inputs)]
    check_distinct(puts)

    def job(write: Write) -> NodesPut:
        done = apply_puts(write, puts)
        changed = done.changed if on_change is OnChange.PROPAGATE else []
        runs = propagate_changes(write, changed)
        nodes = nodes_by_id(write.snapshot, done.ids)
        return NodesPut(write.instant, [nodes[node_id] for node_id in done.ids], runs)

    return scope.write(fleet_id, job)

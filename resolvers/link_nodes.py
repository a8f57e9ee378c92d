"""`linkNodes`: makes edges, and passes on what their sources have suffered."""

from __future__ import annotations

from collections.abc import Sequence

from retrograph.resolvers.inputs import EdgeInput
from retrograph.resolvers.outcomes import NodesLinked
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_nodes
from retrograph.rules.cascade import Seeds
from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import check_batch
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.edge_writes import EdgeKey, create_edges, existing_edges
from retrograph.storage.edges import edges_by_id
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.records import RunRecord
from retrograph.storage.task_writes import stir
from retrograph.storage.write import Write

REASON = "LINKED"


def link_nodes(scope: Scope, fleet_id: int, edges: Sequence[EdgeInput]) -> NodesLinked:
    """Makes all edges in one transaction, or none; one that exists already is returned as it is.

    Unhealthy sources pass their severity over the new edges, and a new `SUPERSEDES` edge
    supersedes its target; all together are one run.  Raises `InvalidInput` for a self-loop or an
    edge given twice, `NotFound`, `RunTooLarge`.
    """
    check_batch(len(edges), field=("input", "edges"))

    def job(write: Write) -> NodesLinked:
        keys = _resolve(write, edges)
        known = existing_edges(write, keys)
        fresh = [key for key in keys if key not in known]
        known.update(zip(fresh, create_edges(write, fresh), strict=True))
        run = propagate_links(write, fresh)
        records = edges_by_id(write.snapshot, list(known.values()))
        return NodesLinked(write.instant, [records[known[key]] for key in keys], run)

    return scope.write(fleet_id, job)


def propagate_links(write: Write, fresh: Sequence[EdgeKey]) -> RunRecord | None:
    """The run of new edges, if any of them passes something on."""
    superseded = sorted(target for _, target, kind in fresh if kind is EdgeType.SUPERSEDES)
    carrying = [key for key in fresh if key[2] in PROPAGATING]
    sources = nodes_by_id(write.snapshot, {source for source, _, _ in carrying})
    passing = [key for key in carrying if not is_healthy(sources[key[0]].projected)]
    if not superseded and not passing:
        stir(write, new=[(source, target) for source, target, _ in carrying])
        return None
    seeds = Seeds(roots=dict.fromkeys(superseded, Validity.SUPERSEDED), passing=passing)
    fallen = write.cascade(seeds)
    root = min(source for source, _, _ in passing) if passing else superseded[0]
    effect = sources[root].projected if passing else Validity.SUPERSEDED
    run = record_run(write, RunOrder(root, effect, REASON), fallen)
    stir(write, new=[(source, target) for source, target, _ in carrying])
    return run


def _resolve(write: Write, edges: Sequence[EdgeInput]) -> list[EdgeKey]:
    paths = [("input", "edges", str(position)) for position in range(len(edges))]
    found = require_nodes(
        write.snapshot,
        [
            (ref, (*path, end))
            for edge, path in zip(edges, paths, strict=True)
            for ref, end in ((edge.source, "source"), (edge.target, "target"))
        ],
    )
    keys: dict[EdgeKey, None] = {}
    for edge, path in zip(edges, paths, strict=True):
        key = (found[edge.source], found[edge.target], edge.type)
        if key[0] == key[1]:
            raise InvalidInput("A node can't depend on itself.", path=path, code="SELF_LOOP")
        if key in keys:
            raise InvalidInput("This edge is given twice.", path=path, code="DUPLICATE_EDGE")
        keys[key] = None
    return list(keys)

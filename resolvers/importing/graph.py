"""`import`: loads a file of nodes, edges and evidence in one transaction, then runs its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from retrograph.resolvers.importing.batch import Batch
from retrograph.resolvers.importing.load import Loaded, write_plans
from retrograph.resolvers.importing.parser import parse_batch
from retrograph.resolvers.importing.plan import plan_fleet, stored_nodes
from retrograph.resolvers.importing.runs import check_runs, run_all
from retrograph.resolvers.importing.stream import Progress, import_lines
from retrograph.resolvers.scope import Scope
from retrograph.storage.records import RunRecord
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: `lines` read, rows loaded, and a run for each run line."""

    lines: int
    fleet_ids: tuple[int, ...]
    loaded: Loaded
    runs: list[RunRecord]


def import_graph(
    scope: Scope,
    source: BinaryIO,
    default_fleet: int,
    *,
    size: int | None = None,
    progress: Progress = lambda *_: None,
) -> Imported:
    """Imports JSON Lines, plain or gzip, into the fleets that they name; unknown ones are made.

    Nodes, edges and evidence are one transaction with one instant, all or nothing, and start no
    run; the file's runs follow in order, each in a transaction of its own.  The same file again
    changes no node, edge or event.  Raises `ImportRejected` (nothing was taken) or
    `ImportStopped` (a run failed).
    """
    batch = parse_batch(import_lines(source, size, progress), default_fleet)
    fleet_ids = {*batch.fleets, *(run.fleet_id for run in batch.runs)}
    loaded = Loaded()
    if fleet_ids:
        loaded = scope.write_all(fleet_ids, lambda writes: _load(batch, writes, progress))
    runs = run_all(scope, batch, progress)
    return Imported(batch.lines, tuple(sorted(fleet_ids)), loaded, runs)


def _load(batch: Batch, writes: dict[int, Write], progress: Progress) -> Loaded:
    stored = {fleet_id: stored_nodes(batch, fleet_id, write) for fleet_id, write in writes.items()}
    check_runs(batch, stored)
    plans = [
        (write, plan_fleet(batch, fleet_id, stored[fleet_id], write))
        for fleet_id, write in writes.items()
    ]
    return write_plans(batch, plans, progress)

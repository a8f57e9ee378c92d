"""Reads runs and their impacts as of an instant (None: the last committed one)."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import ImpactKind
from retrograph.rules.errors import NotFound
from retrograph.rules.limits import check_first
from retrograph.storage import impacts, runs
from retrograph.storage.filters import RunFilter
from retrograph.storage.id_set import Place
from retrograph.storage.impacts import ImpactKey
from retrograph.storage.records import ImpactRecord, Page, RunRecord


def get_run(scope: Scope, fleet_id: int, run_id: int, at: int | None = None) -> RunRecord | None:
    """The run, None where there was none by the instant."""
    return load_runs(scope, fleet_id, at, [run_id]).get(run_id)


def list_runs(
    scope: Scope,
    fleet_id: int,
    filter: RunFilter,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[RunRecord]:
    """A page of the runs that pass the filter, newest first, after the id `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return runs.page_runs(snapshot, filter, first, after)


def load_runs(
    scope: Scope, fleet_id: int, at: int | None, ids: Collection[int]
) -> dict[int, RunRecord]:
    """Those of `ids` that were executed by the instant."""
    with scope.snapshot(fleet_id, at) as snapshot:
        return runs.runs_by_id(snapshot, ids)


def load_runs_then(
    scope: Scope, fleet_id: int, places: Collection[Place]
) -> dict[Place, RunRecord]:
    """Those of `places`, none of the future, where there was a run."""
    with scope.snapshot(fleet_id) as snapshot:
        return runs.runs_then(snapshot, places)


def list_impacts(
    scope: Scope,
    fleet_id: int,
    at: int | None,
    run_id: int,
    kind: ImpactKind | None,
    first: int,
    after: int | None = None,
) -> Page[ImpactRecord]:
    """A page of a run's impacts, after the ordinal `after`; `NotFound` for an unknown run."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        if run_id not in runs.runs_by_id(snapshot, [run_id]):
            raise NotFound(f"There is no run {run_id} in this fleet.", path=("id",))
        return impacts.page_impacts(snapshot, run_id, kind, first, after)


def impacts_of(
    scope: Scope,
    fleet_id: int,
    at: int | None,
    run_ids: Collection[int],
    first: int,
    after: int | None = None,
) -> dict[int, Page[ImpactRecord]]:
    """A page for each run of its impacts of every kind, after the ordinal `after`."""
    check_first(first)
    with scope.snapshot(fleet_id, at) as snapshot:
        return impacts.impacts_of(snapshot, run_ids, first, after)


def impact_paths(
    scope: Scope, fleet_id: int, at: int | None, keys: Collection[ImpactKey], limit: int
) -> dict[ImpactKey, list[int]]:
    """The first `limit` node ids of the path to each impact, named by run id and ordinal."""
    check_first(limit, field=("limit",))
    with scope.snapshot(fleet_id, at) as snapshot:
        return impacts.impact_paths(snapshot, keys, limit)

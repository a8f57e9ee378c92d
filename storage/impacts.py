"""What runs did to nodes: pages of impacts, and the chains of causes that led to them.

An impact names its cause by ordinal, and a cause's ordinal is always the smaller one.  The impacts
of a run are seen from the instant of its execution on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Executable, bindparam, literal_column, select

from retrograph.rules.cascade import ImpactKind
from retrograph.rules.validity import Validity
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows, pair_rows
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.records import ImpactRecord, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import impact, run

ImpactKey = tuple[int, int]
"""A run's id and the ordinal of one of its impacts."""

ChainLink = tuple[int, int, int | None, int | None]
"""The ordinal of an impact, its node, the ordinal of its cause, and its origin where it has one."""
_STEPS = 64
"""How many steps of a chain one statement walks: servers bound a recursion, some in silence."""

_COLUMNS = (
    impact.c.run_id,
    impact.c.ordinal,
    impact.c.node_id,
    impact.c.kind,
    impact.c.before,
    impact.c.after,
    impact.c.depth,
    impact.c.cause,
    impact.c.origin_id,
)


def page_impacts(
    s: Snapshot, run_id: int, kind: ImpactKind | None, first: int, after_ordinal: int | None
) -> Page[ImpactRecord]:
    """The impacts of a run, by ascending ordinal: by depth, then by node id."""
    rows = fetch(
        s,
        _page,
        kind is not None,
        run_id=run_id,
        kind=kind,
        after=-1 if after_ordinal is None else after_ordinal,
        rows=first + 1,
    )
    return page_of(s, [_record(row) for row in rows], first)


def impacts_of(
    s: Snapshot, run_ids: Collection[int], first: int, after_ordinal: int | None
) -> dict[int, Page[ImpactRecord]]:
    """A page for each run of its impacts, by ascending ordinal, by one statement for all runs.

    The ordinals of a run are 0, 1, 2 …, so a page is a range of them.
    """
    after = -1 if after_ordinal is None else after_ordinal
    rows = fetch(s, _of_runs, ids=run_ids, after=after, last=after + first + 1)
    found: dict[int, list[ImpactRecord]] = {run_id: [] for run_id in run_ids}
    for row in rows:
        found[row[0]].append(_record(row))
    return {run_id: page_of(s, impacts, first) for run_id, impacts in found.items()}


def impacts_at(s: Snapshot, keys: Collection[ImpactKey]) -> dict[ImpactKey, ImpactRecord]:
    """Those of `keys` that name an impact, by one statement."""
    if not keys:
        return {}
    return {(row[0], row[1]): _record(row) for row in fetch(s, _at, pairs=keys)}


def impact_paths(
    s: Snapshot, keys: Collection[ImpactKey], limit: int
) -> dict[ImpactKey, list[int]]:
    """The first `limit` node ids of the chain of causes that ends at each impact.

    A chain begins at the run's root, or at a node that passed its state on without an impact of
    its own.  One statement a run for every so many steps of the longest chain.
    """
    ordinals: defaultdict[int, list[int]] = defaultdict(list)
    for run_id, ordinal in keys:
        ordinals[run_id].append(ordinal)
    paths: dict[ImpactKey, list[int]] = {}
    for run_id, wanted in ordinals.items():
        starts = _path_starts(_with_causes(s, run_id, wanted), limit)
        paths |= {(run_id, ordinal): starts[ordinal] for ordinal in wanted if ordinal in starts}
    return paths


def _with_causes(s: Snapshot, run_id: int, ordinals: Collection[int]) -> list[ChainLink]:
    """Impacts of a run and all that led to them."""
    found: dict[int, ChainLink] = {}
    wanted = set(ordinals)
    while wanted:
        links: list[ChainLink] = [(*row,) for row in fetch(s, _causes, run_id=run_id, ids=wanted)]
        found |= {link[0]: link for link in links}
        wanted = {cause for _, _, cause, _ in links if cause is not None} - found.keys()
    return list(found.values())


def _path_starts(impacts: Sequence[ChainLink], limit: int) -> Mapping[int, list[int]]:
    """The start of each impact's path, by ordinal.

    What is longer than `limit` shares the list of its cause.
    """
    starts: dict[int, list[int]] = {}
    for ordinal, node_id, cause, origin_id in sorted(impacts):
        before = [origin_id] if origin_id is not None else []
        if cause is not None:
            before = starts[cause]
        starts[ordinal] = before if len(before) >= limit else [*before, node_id]
    return starts


def _record(row: Sequence[Any]) -> ImpactRecord:
    run_id, ordinal, node_id, kind, before, after, depth, cause, origin_id = row
    return ImpactRecord(
        run_id=run_id,
        ordinal=ordinal,
        node_id=node_id,
        kind=ImpactKind(kind),
        before=Validity(before),
        after=Validity(after),
        depth=depth,
        cause=cause,
        origin_id=origin_id,
    )


@prepared
def _page(frame: Frame, of_kind: bool) -> Executable:  # noqa: ARG001 (the same in every frame)
    chosen = (
        select(*_COLUMNS)
        .where(*_of_run())
        .where(impact.c.ordinal > bindparam("after"), _is_executed())
    )
    if of_kind:
        chosen = chosen.where(impact.c.kind == bindparam("kind"))
    return chosen.order_by(impact.c.ordinal).limit(bindparam("rows"))


@prepared
def _of_runs(frame: Frame) -> Executable:  # noqa: ARG001
    ids = id_rows()
    joined = drive(ids, (impact, (impact.c.run_id == ids.c.value)))
    paged = impact.c.ordinal.between(bindparam("after") + 1, bindparam("last"))
    chosen = select(*_COLUMNS).select_from(joined).where(*scoped(impact), paged, _is_executed())
    return chosen.order_by(impact.c.run_id, impact.c.ordinal)


@prepared
def _at(frame: Frame) -> Executable:  # noqa: ARG001
    pairs = pair_rows()
    named = (impact.c.run_id == pairs.c.first) & (impact.c.ordinal == pairs.c.second)
    joined = drive(pairs, (impact, named & scoped(impact)[0] & scoped(impact)[1]))
    return select(*_COLUMNS).select_from(joined).where(_is_executed())


@prepared
def _causes(frame: Frame) -> Executable:  # noqa: ARG001
    ids = id_rows()
    start = select(ids.c.value.label("ordinal"), literal_column("1", BigInteger).label("step"))
    chain = start.cte("chain", recursive=True)
    # No UNION that drops what was met before: not every engine recurses over one.
    chain = chain.union_all(
        select(impact.c.cause, chain.c.step + literal_column("1", BigInteger))
        .select_from(drive(chain, (impact, impact.c.ordinal == chain.c.ordinal)))
        .where(*_of_run(), impact.c.cause.is_not(None), chain.c.step < _STEPS)
    )
    met = select(chain.c.ordinal).distinct().subquery("met")
    return (
        select(impact.c.ordinal, impact.c.node_id, impact.c.cause, impact.c.origin_id)
        .select_from(drive(met, (impact, impact.c.ordinal == met.c.ordinal)))
        .where(*_of_run(), _is_executed())
    )


def _of_run() -> tuple[ColumnElement[bool], ...]:
    return *scoped(impact), impact.c.run_id == bindparam("run_id")


def _is_executed() -> ColumnElement[bool]:
    return (
        select(run.c.id)
        .where(run.c.id == impact.c.run_id, *within_scope(run), run.c.executed_at <= INSTANT)
        .exists()
    )

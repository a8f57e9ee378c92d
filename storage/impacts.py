"""What runs did to nodes: pages of impacts, and the chains of causes that led to them.

An impact names its cause by ordinal, and a cause's ordinal is always the smaller one.  The impacts
of a run are seen from the instant of its execution on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    FromClause,
    and_,
    bindparam,
    literal_column,
    select,
)

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

ChainLink = tuple[int, int, int, int | None, int | None]
"""An impact's run and ordinal, its node, its cause's ordinal, and its origin where it has one."""
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
    its own.  One statement for every so many steps of the longest chain, whatever the runs.
    """
    starts = _path_starts(_with_causes(s, keys), limit)
    return {key: starts[key] for key in keys if key in starts}


def _with_causes(s: Snapshot, keys: Collection[ImpactKey]) -> list[ChainLink]:
    """Impacts and all that led to them."""
    found: dict[ImpactKey, ChainLink] = {}
    wanted = set(keys)
    while wanted:
        links: list[ChainLink] = [(*row,) for row in fetch(s, _causes, pairs=wanted)]
        found |= {link[:2]: link for link in links}
        causes = {(run_id, cause) for run_id, _, _, cause, _ in links if cause is not None}
        wanted = causes - found.keys()
    return list(found.values())


def _path_starts(impacts: Collection[ChainLink], limit: int) -> Mapping[ImpactKey, list[int]]:
    """The start of each impact's path.

    What is longer than `limit` shares the list of its cause.
    """
    starts: dict[ImpactKey, list[int]] = {}
    for run_id, ordinal, node_id, cause, origin_id in sorted(impacts, key=itemgetter(0, 1)):
        before = [origin_id] if origin_id is not None else []
        if cause is not None:
            before = starts[run_id, cause]
        starts[run_id, ordinal] = before if len(before) >= limit else [*before, node_id]
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
        .where(*scoped(impact), impact.c.run_id == bindparam("run_id"))
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
    joined = drive(pairs, (impact, and_(*scoped(impact), named)))
    return select(*_COLUMNS).select_from(joined).where(_is_executed())


@prepared
def _causes(frame: Frame) -> Executable:  # noqa: ARG001
    pairs, one = pair_rows(), literal_column("1", BigInteger)
    names = (pairs.c.first.label("run_id"), pairs.c.second.label("ordinal"))
    chain = select(*names, one.label("step")).cte("chain", recursive=True)
    # No UNION that drops what was met before: not every engine recurses over one.
    chain = chain.union_all(
        select(impact.c.run_id, impact.c.cause, chain.c.step + one)
        .select_from(drive(chain, (impact, _is_named(chain))))
        .where(impact.c.cause.is_not(None), chain.c.step < _STEPS)
    )
    met = select(chain.c.run_id, chain.c.ordinal).distinct().subquery("met")
    columns = ("run_id", "ordinal", "node_id", "cause", "origin_id")
    return (
        select(*(impact.c[name] for name in columns))
        .select_from(drive(met, (impact, _is_named(met))))
        .where(_is_executed())
    )


def _is_named(by: FromClause) -> ColumnElement[bool]:
    """That the columns `run_id` and `ordinal` of what drives a join name the impact."""
    named = (impact.c.run_id == by.c.run_id, impact.c.ordinal == by.c.ordinal)
    return and_(*scoped(impact), *named)


def _is_executed() -> ColumnElement[bool]:
    return (
        select(run.c.id)
        .where(run.c.id == impact.c.run_id, *within_scope(run), run.c.executed_at <= INSTANT)
        .exists()
    )

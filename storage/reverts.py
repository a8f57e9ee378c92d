"""What a revert reads: whom a run changed, what they were before, and what has come since."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import select, update

from retrograph.rules.cascade import ImpactKind
from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.validity import Validity
from retrograph.storage.as_of import keyed_arms, over_arms
from retrograph.storage.id_set import id_set
from retrograph.storage.records import RunRecord
from retrograph.storage.tables import edge, impact, node, node_state
from retrograph.storage.tables import run as run_table
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write

EdgeRow = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StateBefore:
    """The state that a node had before a run; the names are the columns of `node_state`."""

    validity: int
    projected: int
    pinned: int
    confidence: float | None
    run_id: int | None
    run_ordinal: int | None
    pin_reason: str | None


@dataclass(frozen=True, slots=True)
class Touched:
    """A node that a run changed, and who has touched its state last."""

    node_id: int
    kind: ImpactKind
    last_run_id: int | None
    pinned: int
    pin_reason: str | None


def touched_by(write: Write, run: RunRecord) -> list[Touched]:
    """The nodes that the run changed, ascending; those that left the present have no last run."""
    now = node_state.current
    rows = write.snapshot.connection.execute(
        select(impact.c.node_id, impact.c.kind, now.c.run_id, now.c.pinned, now.c.pin_reason)
        .select_from(impact.outerjoin(now, now.c.id == impact.c.node_id))
        .where(
            impact.c.tenant_id == run.tenant_id,
            impact.c.fleet_id == run.fleet_id,
            impact.c.run_id == run.id,
            impact.c.kind != int(ImpactKind.REEVALUATE),
        )
        .order_by(impact.c.node_id)
    )
    return [Touched(node_id, ImpactKind(kind), *rest) for node_id, kind, *rest in rows]


def states_before(write: Write, run: RunRecord, touched: Collection[Touched]) -> dict[int, StateBefore]:
    """What the touched nodes were just before the run.

    A pin is not a run's doing, so the present one stays; only what unpinned a node pins it again.
    """
    found = _versions_before(write, run, [each.node_id for each in touched])
    found.update(_by_earlier_runs_of_the_instant(write, run, found))
    return {
        each.node_id: _with_present_pin(found[each.node_id], each)
        for each in touched
        if each.node_id in found
    }


def later_causes(write: Write, run: RunRecord, node_ids: Collection[int]) -> list[EdgeRow]:
    """The propagating edges into the nodes from unhealthy sources that later runs raised.

    A reverted run's sources don't count: they have their former states, and runs, back.
    """
    source, table = node_state.current, edge.current
    rows = write.snapshot.connection.execute(
        select(table.c.source_id, table.c.target_id, table.c.type)
        .select_from(table.join(source, source.c.id == table.c.source_id))
        .where(
            table.c.tenant_id == run.tenant_id,
            table.c.fleet_id == run.fleet_id,
            table.c.target_id.in_(id_set(node_ids)),
            table.c.source_id != table.c.target_id,
            table.c.type.in_([int(kind) for kind in PROPAGATING]),
            source.c.tenant_id == run.tenant_id,
            source.c.fleet_id == run.fleet_id,
            source.c.run_id > run.id,
            source.c.projected.between(
                int(Validity.POTENTIALLY_STALE), int(Validity.SUPERSEDED)
            ),
        )
    )
    return [(source_id, target_id, kind) for source_id, target_id, kind in rows]


def restore_states(write: Write, states: dict[int, StateBefore]) -> None:
    """Gives nodes these states, and with them the runs that had given them."""
    names = StateBefore.__dataclass_fields__
    rows = [
        {"id": node_id, **{name: getattr(state, name) for name in names}}
        for node_id, state in states.items()
    ]
    open_next(write.snapshot, node_state, rows)


def mark_reverted(write: Write, run: RunRecord, by: RunRecord) -> None:
    """The run is `REVERTED` from this write's instant on."""
    write.snapshot.connection.execute(
        update(run_table)
        .where(
            run_table.c.id == run.id,
            run_table.c.tenant_id == run.tenant_id,
            run_table.c.fleet_id == run.fleet_id,
        )
        .values(reverted_at=write.instant, reverted_by_run_id=by.id)
    )


def _versions_before(
    write: Write, run: RunRecord, node_ids: Collection[int]
) -> dict[int, StateBefore]:
    before = replace(write.snapshot, instant=run.executed_at - 1, current=False)
    names = list(StateBefore.__dataclass_fields__)
    statement = over_arms(
        keyed_arms(before, node_state, node.c.id),
        lambda arm: select(node.c.id, *(arm.c[name] for name in names)).where(
            node.c.tenant_id == run.tenant_id,
            node.c.fleet_id == run.fleet_id,
            node.c.id.in_(id_set(node_ids)),
        ),
    )
    rows = write.snapshot.connection.execute(statement)
    return {node_id: StateBefore(*state) for node_id, *state in rows}


def _by_earlier_runs_of_the_instant(
    write: Write, run: RunRecord, found: dict[int, StateBefore]
) -> dict[int, StateBefore]:
    """What earlier runs of the same transaction had made of the nodes: no version tells it."""
    rows = write.snapshot.connection.execute(
        select(impact.c.node_id, impact.c.kind, impact.c.after, impact.c.run_id, impact.c.ordinal)
        .select_from(run_table.join(impact, impact.c.run_id == run_table.c.id))
        .where(
            run_table.c.tenant_id == run.tenant_id,
            run_table.c.fleet_id == run.fleet_id,
            run_table.c.executed_at == run.executed_at,
            run_table.c.id < run.id,
            impact.c.tenant_id == run.tenant_id,
            impact.c.fleet_id == run.fleet_id,
            impact.c.kind != int(ImpactKind.REEVALUATE),
        )
        .order_by(impact.c.run_id)
    )
    changed: dict[int, StateBefore] = {}
    for node_id, kind, after, run_id, ordinal in rows:
        state = changed.get(node_id, found.get(node_id))
        if state is not None:
            stored = after if kind == ImpactKind.CHANGED else state.validity
            changed[node_id] = replace(
                state, validity=stored, projected=after, run_id=run_id, run_ordinal=ordinal
            )
    return changed


def _with_present_pin(state: StateBefore, touched: Touched) -> StateBefore:
    if state.pinned and touched.kind is ImpactKind.CHANGED:
        return state  # the run was an unpinning
    return replace(state, pinned=touched.pinned, pin_reason=touched.pin_reason)

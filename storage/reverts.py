"""What a revert reads: whom a run changed, what they were before, and what has come since."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Executable, Select, and_, select, update

from retrograph.rules.cascade import ImpactKind
from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.validity import SEVERITY, Validity
from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows, id_set
from retrograph.storage.prepared import Frame, fetch, prepared, within_scope
from retrograph.storage.records import RunRecord
from retrograph.storage.tables import decision, edge, impact, node_state
from retrograph.storage.tables import run as run_table
from retrograph.storage.task_records import DecisionKind
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write

EdgeRow = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StoredState:
    """A node's state; the names are the columns of `node_state`."""

    validity: int
    projected: int
    pinned: int
    confidence: float | None
    run_id: int | None
    run_ordinal: int | None
    pin_reason: str | None

    @property
    def verdict(self) -> tuple[int, int, int | None, int | None]:
        """What runs and judgements decide; pins and confidences are no verdict on the state."""
        return self.validity, self.projected, self.run_id, self.run_ordinal


_COLUMNS = tuple(StoredState.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Touched:
    """A node that a run changed: what it was just before the run, just after it, and is now.

    `now` is None if the node has left the present.  `judged`: a judgement has healed it since.
    """

    node_id: int
    before: StoredState
    after: StoredState
    now: StoredState | None
    judged: bool

    def former(self, run: RunRecord) -> StoredState | None:
        """The state that a revert gives back, or None where something newer touched the node.

        A pin stays as it is now, unless it was the run that moved it, and keeps the stored state.
        Without a pin the stored state is what cascades had left, also where a pin held it then.
        """
        if self.now is None or not self._is_untouched(self.now, run):
            return None
        if self.before.pinned != self.after.pinned:
            return self.before
        kept = self.now.validity if self.now.pinned else self.before.projected
        return replace(
            self.before, validity=kept, pinned=self.now.pinned, pin_reason=self.now.pin_reason
        )

    def _is_untouched(self, now: StoredState, run: RunRecord) -> bool:
        """What a revert restored names an earlier run again, so its whole verdict is compared."""
        if run.reverts_run_id is None:
            return now.run_id == run.id
        return not self.judged and now.verdict == self.after.verdict


def touched_by(write: Write, run: RunRecord) -> list[Touched]:
    """The nodes whose states the run changed, ascending."""
    node_ids = _changed_ids(write, run)
    before = _states_at(write, run.executed_at - 1, node_ids)
    before.update(_by_earlier_runs_of_the_instant(write, run, before))
    after = _states_at(write, run.executed_at, node_ids)
    now = _states_at(write, write.instant, node_ids)
    judged = _healed_since(write, run, node_ids)
    return [Touched(i, before[i], after[i], now.get(i), i in judged) for i in node_ids]


def later_causes(write: Write, run: RunRecord, restored: Collection[int]) -> list[EdgeRow]:
    """The propagating edges into the restored nodes from sources that were raised after the run.

    Later runs raised them, or a revert that gave them an earlier run's state back.  A reverted
    run's sources don't count: they have their former states, and runs, back.
    """
    rows = _ill_sources(write, run, restored)
    since = _states_at(write, run.executed_at, {row[0] for row in rows})
    given_back = set(restored)

    def raised(source_id: int, run_id: int, projected: int) -> bool:
        if source_id in given_back:
            return False
        known = since.get(source_id)
        return run_id > run.id or (
            known is not None and SEVERITY[projected] > SEVERITY[known.projected]
        )

    return [(source, target, kind) for source, target, kind, *now in rows if raised(source, *now)]


def restore_states(write: Write, states: dict[int, StoredState]) -> None:
    """Gives nodes these states, and with them the runs that had given them."""
    rows = [
        {"id": node_id, **{name: getattr(state, name) for name in _COLUMNS}}
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


def _changed_ids(write: Write, run: RunRecord) -> list[int]:
    rows = write.snapshot.connection.execute(
        select(impact.c.node_id)
        .where(
            impact.c.tenant_id == run.tenant_id,
            impact.c.fleet_id == run.fleet_id,
            impact.c.run_id == run.id,
            impact.c.kind != int(ImpactKind.REEVALUATE),
        )
        .order_by(impact.c.node_id)
    )
    return list(rows.scalars())


def _healed_since(write: Write, run: RunRecord, node_ids: Collection[int]) -> set[int]:
    healing = (DecisionKind.VERIFIED, DecisionKind.RESTORED_BY_CUTOFF, DecisionKind.REPAIRED)
    rows = write.snapshot.connection.execute(
        select(decision.c.node_id).where(
            decision.c.tenant_id == run.tenant_id,
            decision.c.fleet_id == run.fleet_id,
            decision.c.node_id.in_(id_set(node_ids)),
            decision.c.at > run.executed_at,
            decision.c.kind.in_([int(kind) for kind in healing]),
        )
    )
    return set(rows.scalars())


def _states_at(write: Write, instant: int, node_ids: Collection[int]) -> dict[int, StoredState]:
    """The states of nodes at an instant, this write's own included."""
    snapshot = replace(write.snapshot, instant=instant)
    return {row[0]: StoredState(*row[1:]) for row in fetch(snapshot, _states, ids=node_ids)}


@prepared
def _states(frame: Frame) -> Executable:
    ids = id_rows()

    def build(arm: Arm) -> Select[Any]:
        joined = drive(ids, (arm.table, arm.c.id == ids.c.value))
        columns = (arm.c[name] for name in ("id", *_COLUMNS))
        return select(*columns).select_from(joined).where(*within_scope(arm))

    return over_arms(frame.keyed_arms(node_state, ids.c.value), build)


def _ill_sources(
    write: Write, run: RunRecord, targets: Collection[int]
) -> list[tuple[int, int, int, int, int]]:
    """(source, target, type, run, projected) of edges into the targets from sources whose
    unhealthy state another run than this one gave.
    """
    source, table = node_state.current, edge.current
    rows = write.snapshot.connection.execute(
        select(
            table.c.source_id,
            table.c.target_id,
            table.c.type,
            source.c.run_id,
            source.c.projected,
        )
        .select_from(table.join(source, source.c.id == table.c.source_id))
        .where(
            table.c.tenant_id == run.tenant_id,
            table.c.fleet_id == run.fleet_id,
            table.c.target_id.in_(id_set(targets)),
            table.c.source_id != table.c.target_id,
            table.c.type.in_([int(kind) for kind in PROPAGATING]),
            source.c.tenant_id == run.tenant_id,
            source.c.fleet_id == run.fleet_id,
            source.c.run_id != run.id,
            source.c.projected.between(int(Validity.POTENTIALLY_STALE), int(Validity.SUPERSEDED)),
        )
    )
    return [(*row,) for row in rows]


def _by_earlier_runs_of_the_instant(
    write: Write, run: RunRecord, found: dict[int, StoredState]
) -> dict[int, StoredState]:
    """What earlier runs of the same transaction had made of the nodes: no version tells it."""
    scope = {"tenant_id": run.tenant_id, "fleet_id": run.fleet_id}
    impacts = (impact.c[name] == value for name, value in scope.items())
    rows = write.snapshot.connection.execute(
        select(impact.c.node_id, impact.c.kind, impact.c.after, impact.c.run_id, impact.c.ordinal)
        .select_from(drive(run_table, (impact, and_(impact.c.run_id == run_table.c.id, *impacts))))
        .where(
            *(run_table.c[name] == value for name, value in scope.items()),
            run_table.c.executed_at == run.executed_at,
            run_table.c.id < run.id,
            impact.c.kind != int(ImpactKind.REEVALUATE),
        )
        .order_by(impact.c.run_id)
    )
    changed: dict[int, StoredState] = {}
    for node_id, kind, after, run_id, ordinal in rows:
        state = changed.get(node_id, found.get(node_id))
        if state is not None:
            stored = after if kind == ImpactKind.CHANGED else state.validity
            changed[node_id] = replace(
                state, validity=stored, projected=after, run_id=run_id, run_ordinal=ordinal
            )
    return changed

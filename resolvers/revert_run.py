"""`revertRun`: undoes one run where nothing newer has touched its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.outcomes import RunReverted
from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import Cascade, ImpactKind
from retrograph.rules.errors import NotFound, RunNotRevertible
from retrograph.rules.limits import check_text
from retrograph.rules.reversal import reversal
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.records import EventType, RunRecord, RunStatus
from retrograph.storage.reverts import (
    StoredState,
    later_causes,
    mark_reverted,
    restore_states,
    touched_by,
)
from retrograph.storage.runs import runs_by_id
from retrograph.storage.verdicts import InMemory
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class _Plan:
    former: dict[int, StoredState]
    left_alone: list[int]
    change: Cascade


def revert_run(scope: Scope, fleet_id: int, run_id: int, reason: str | None = None) -> RunReverted:
    """Gives the nodes that a run changed their former states back, as a run of its own.

    A node that a newer run or judgement touched is left alone, and named.  The restored ones are
    judged again by the sources that later runs raised.  Raises `NotFound`, `RunNotRevertible`.
    """
    if reason is not None:
        check_text(reason, ("input", "reason"))

    def job(write: Write) -> RunReverted:
        run = _revertible(write, run_id)
        plan = _plan(write, run)
        restored = _restored(plan)
        felled_again = plan.former.keys() - restored
        # The run's states are laid over the former ones; the restored have their former runs, too.
        restore_states(write, {node_id: plan.former[node_id] for node_id in felled_again})
        by = record_run(write, _order(write, run, reason, plan), InMemory(plan.change))
        restore_states(write, {node_id: plan.former[node_id] for node_id in restored})
        mark_reverted(write, run, by)
        write.emit(EventType.RUN_REVERTED, node_id=run.root_id, run_id=by.id)
        return RunReverted(write.instant, by, restored, plan.left_alone)

    return scope.write(fleet_id, job)


def _revertible(write: Write, run_id: int) -> RunRecord:
    run = runs_by_id(write.snapshot, [run_id]).get(run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id} in this fleet.", path=("input", "runId"))
    if run.status is RunStatus.NO_CHANGE:
        raise RunNotRevertible(f"Run {run_id} changed nothing.", path=("input", "runId"))
    if run.status is RunStatus.REVERTED:
        raise RunNotRevertible(
            f"Run {run_id} was reverted already, by run {run.reverted_by_run_id}.",
            path=("input", "runId"),
        )
    return run


def _plan(write: Write, run: RunRecord) -> _Plan:
    touched = {each.node_id: each.former(run) for each in touched_by(write, run)}
    former = {node_id: state for node_id, state in touched.items() if state is not None}
    change = reversal(
        write.graph(),
        {i: (state.validity, state.projected, bool(state.pinned)) for i, state in former.items()},
        later_causes(write, run, former),
    )
    left_alone = [node_id for node_id in touched if node_id not in former]
    return _Plan(former, left_alone, change)


def _order(write: Write, run: RunRecord, reason: str | None, plan: _Plan) -> RunOrder:
    """The run's effect is what its root then is."""
    after = dict(zip(plan.change.nodes, plan.change.after, strict=True)).get(run.root_id)
    if after is None:
        state = write.graph().state(run.root_id)
        after = Validity.CURRENTLY_VALID if state is None else state[1]
    return RunOrder(
        run.root_id, Validity(after), reason or f"REVERTED {run.id}", reverts_run_id=run.id
    )


def _restored(plan: _Plan) -> list[int]:
    """The nodes that have their former states, not felled again."""
    columns = zip(plan.change.nodes, plan.change.kinds, plan.change.depths, strict=True)
    return [
        node_id
        for node_id, kind, depth in columns
        if node_id in plan.former and depth == 0 and kind != ImpactKind.REEVALUATE
    ]

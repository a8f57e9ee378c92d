"""`recordStep` and `steps`: what an execution has done, so that nothing is done twice."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.checkpoints import check_execution, check_prefix
from retrograph.resolvers.commit_checkpoint import check_names
from retrograph.resolvers.retained import check_retained
from retrograph.resolvers.scope import Scope
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.checkpoint_errors import StepKeyReused
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import check_first
from retrograph.storage.checkpoint_records import Standing, StepRecord, StepReport, StepStatus
from retrograph.storage.executions import find_standing, open_execution
from retrograph.storage.filters import StepFilter
from retrograph.storage.records import Page
from retrograph.storage.steps import enter_step, finish_step, page_steps, step_by_key
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class Step:
    """What is told of a step; `result` is a JSON value of one that has finished.

    `sequence` is that of the checkpoint it belongs to, None: the head.
    """

    execution_id: str
    key: str
    status: StepStatus
    sequence: int | None = None
    name: str | None = None
    worker: str | None = None
    result: object = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The step; `replayed` tells that it was known already, and nothing was written."""

    step: StepRecord
    replayed: bool


def record_step(scope: Scope, fleet_id: int, step: Step) -> Recorded:
    """Enters a step of an execution, or its outcome; what is known already is given back.

    An execution begins with its first step, too.  Raises `InvalidInput`, and `StepKeyReused` where
    the key names a step with another name, checkpoint, outcome or result.
    """
    result = _check(step, scope.checkpoint_bytes)

    def job(write: Write) -> Recorded:
        s, name = write.snapshot, step.execution_id
        standing = find_standing(s, name)
        _check_sequence(step, standing)
        at = standing or open_execution(write, name)
        sequence = at.sequence if step.sequence is None else step.sequence
        report = StepReport(step.key, step.status, sequence, step.name, step.worker, result)
        known = step_by_key(s, at.id, name, step.key)
        if known is not None and _is_told(step, report, known):
            return Recorded(known, replayed=True)
        if known is None:
            enter_step(write, at.id, name, report)
        else:
            finish_step(write, at.id, known, report)
        made = step_by_key(s, at.id, name, step.key)
        assert made is not None  # noqa: S101 (it was just written)
        return Recorded(made, replayed=False)

    return scope.write(fleet_id, job)


def list_steps(
    scope: Scope,
    fleet_id: int,
    execution_id: str,
    filter: StepFilter,
    first: int,
    after: int | None = None,
    at: int | None = None,
) -> Page[StepRecord]:
    """A page of the steps of an execution in the order of their starts, behind an ordinal.

    Those that pass the filter.  Raises `CheckpointRemoved` for an execution that was purged.
    """
    check_execution(execution_id)
    check_prefix(filter.key_prefix)
    check_first(first)
    with scope.snapshot(fleet_id, at) as s:
        page = page_steps(s, execution_id, filter, first, after)
        if not page.rows and after is None:
            check_retained(s, execution_id, 2**63 - 1)
        return page


def _check(step: Step, most: int) -> str | None:
    """Raises `InvalidInput`; returns the canonical text of the result."""
    names = {"name": step.name, "worker": step.worker}
    given = {name: value for name, value in names.items() if value is not None}
    check_names(executionId=step.execution_id, key=step.key, **given)
    if step.status is StepStatus.STARTED and step.result is not None:
        raise InvalidInput(
            "A step that has only started has no result; report its outcome with it.",
            path=("input", "result"),
        )
    if step.result is None:
        return None
    return canonical_json(step.result, field=("input", "result"), most=most)


def _check_sequence(step: Step, standing: Standing | None) -> None:
    head = 0 if standing is None else standing.sequence
    if step.sequence is not None and not 0 <= step.sequence <= head:
        raise InvalidInput(
            f"The execution has no checkpoint {step.sequence}; its head is {head}.",
            path=("input", "sequence"),
        )


def _is_told(step: Step, report: StepReport, known: StepRecord) -> bool:
    """Whether a report brings nothing new; raises `StepKeyReused` where it says something else."""
    same = (
        step.name or known.name,
        report.sequence if step.sequence is not None else known.sequence,
    )
    finished = known.status is not StepStatus.STARTED
    if same != (known.name, known.sequence):
        raise _reused("names a step with another name or checkpoint")
    if report.status is StepStatus.STARTED:
        return True
    told = known.status, report.result if known.erased else known.result
    if finished and told != (report.status, report.result):
        raise _reused(f"names a step that {known.status.name} with another result")
    return finished


def _reused(how: str) -> StepKeyReused:
    return StepKeyReused(
        f"This key {how}; take a new key for a new step, or a new try.", path=("input", "key")
    )

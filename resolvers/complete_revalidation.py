"""`completeRevalidation`: what was judged of a node, recorded, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from retrograph.resolvers.leases import TASK, held_task
from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import InvalidInput, Overtaken, RequirementDead
from retrograph.rules.judgement import Retry, after_error
from retrograph.rules.limits import MAX_BATCH, check_confidence, check_text
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.claims import dead_requirements, is_overtaken, put_back, release_lease
from retrograph.storage.decisions import Decision, record_decisions
from retrograph.storage.judgements import cut_off, revalidate
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.open_work import open_tasks
from retrograph.storage.records import EventType, NodeRecord, RunRecord
from retrograph.storage.task_records import DecisionKind, TaskRecord, TaskStatus
from retrograph.storage.task_writes import end_tasks, release, tell_ready
from retrograph.storage.tasks import tasks_by_id
from retrograph.storage.write import Write

REASON = "REFUTED"


class Outcome(IntEnum):
    """What a judgement came to."""

    VERIFIED = 1
    REFUTED = 2
    ERROR = 3


@dataclass(frozen=True, slots=True)
class Completion:
    """A judgement: who judged (`by`), what, on which evidence.

    `unchanged` says that the verified node still says what it said.  `confidence` takes the place
    of the base confidence, from 0 to 1.
    """

    task_id: int
    lease_token: str
    outcome: Outcome
    unchanged: bool = False
    confidence: float | None = None
    evidence: Sequence[str] = ()
    note: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The task and its node after the judgement, the run of a refutation, whom a cut-off healed."""

    instant: int
    task: TaskRecord
    node: NodeRecord
    run: RunRecord | None
    restored: list[int]


def complete_revalidation(scope: Scope, fleet_id: int, completion: Completion) -> Completed:
    """Ends a task by a judgement.

    Raises `InvalidInput`, `NotFound`, `TaskCancelled`, `TaskClosed`, `LeaseLost`,
    `RequirementDead`, `RunTooLarge`: then nothing is changed.  Raises `Overtaken` where something
    that the node rests on has changed since the claim: then only the lease is given back.
    """
    _check(completion)

    def job(write: Write) -> Completed | None:
        task = held_task(write, completion.task_id, completion.lease_token)
        if is_overtaken(write.snapshot, task.node_id, task.claimed_at or 0):
            if release_lease(write, task, task.attempt):
                tell_ready(write, [task.node_id])
            return None
        return _judged(write, task, completion)

    done = scope.write(fleet_id, job)
    if done is None:
        raise Overtaken(
            "What the node rests on has changed since the claim. The task is ready again: claim "
            "it, and judge anew.",
            path=TASK,
        )
    return done


def _judged(write: Write, task: TaskRecord, completion: Completion) -> Completed:
    node = nodes_by_id(write.snapshot, [task.node_id])[task.node_id]
    run, restored = None, []
    if completion.outcome is Outcome.VERIFIED:
        restored = _verify(write, task, node, completion)
    elif completion.outcome is Outcome.REFUTED:
        run = _refute(write, task, node, completion)
    else:
        _put_off(write, task, completion)
    return Completed(
        write.instant,
        tasks_by_id(write.snapshot, [task.id])[task.id],
        nodes_by_id(write.snapshot, [node.id])[node.id],
        run,
        restored,
    )


def _verify(write: Write, task: TaskRecord, node: NodeRecord, completion: Completion) -> list[int]:
    dead = dead_requirements(write.snapshot, node.id)
    if dead:
        raise RequirementDead(
            f"Node {node.id} requires node {dead[0]}, which is invalid or superseded. Refute it, "
            "or repair what it requires first.",
            path=("input", "outcome"),
        )
    base = node.base_confidence if completion.confidence is None else completion.confidence
    mine = open_tasks(write.snapshot, [node.id])[node.id]
    end_tasks(write, [mine], TaskStatus.VERIFIED)
    confidence = revalidate(write, node, base, task.id)
    _record(write, task, completion, DecisionKind.VERIFIED, confidence=confidence)
    healed = cut_off(write, node.id) if completion.unchanged else []
    release(write, [mine, *healed])
    return sorted(each.node_id for each in healed)


def _refute(write: Write, task: TaskRecord, node: NodeRecord, completion: Completion) -> RunRecord:
    mine = open_tasks(write.snapshot, [node.id])[node.id]
    end_tasks(write, [mine], TaskStatus.REFUTED)
    write.emit(EventType.NODE_REFUTED, node_id=node.id, task_id=task.id)
    fallen = write.cascade(Seeds(roots={node.id: Validity.INVALID}))
    order = RunOrder(node.id, Validity.INVALID, completion.note or REASON)
    run = record_run(write, order, fallen, ended=[mine])
    _record(write, task, completion, DecisionKind.REFUTED, run_id=run.id)
    return run


def _put_off(write: Write, task: TaskRecord, completion: Completion) -> None:
    retry = after_error(task.id, task.attempt)
    _record(write, task, completion, DecisionKind.ERROR)
    if retry.delay is None:
        put_back(write, task.id, TaskStatus.DEAD_LETTER, attempt=retry.attempt)
        _tell_error(write, EventType.REVALIDATION_DEAD_LETTERED, task, retry)
        return
    due_at = write.instant + retry.delay
    put_back(write, task.id, TaskStatus.BACKING_OFF, attempt=retry.attempt, due_at=due_at)
    _tell_error(write, EventType.REVALIDATION_RETRY_SCHEDULED, task, retry)


def _tell_error(write: Write, kind: EventType, task: TaskRecord, retry: Retry) -> None:
    write.emit(kind, node_id=task.node_id, task_id=task.id, attempt=retry.attempt)


def _record(
    write: Write,
    task: TaskRecord,
    completion: Completion,
    kind: DecisionKind,
    *,
    run_id: int | None = None,
    confidence: float | None = None,
) -> None:
    decided = Decision(
        kind,
        task.node_id,
        task.id,
        run_id,
        unchanged=completion.unchanged and kind is DecisionKind.VERIFIED,
        confidence=confidence,
        evidence=tuple(completion.evidence),
        note=completion.note,
        decided_by=completion.by,
        worker=task.leased_by,
        attempt=task.attempt,
    )
    record_decisions(write, [decided])


def _check(completion: Completion) -> None:
    if completion.confidence is not None:
        check_confidence(completion.confidence, ("input", "confidence"))
    if len(completion.evidence) > MAX_BATCH:
        raise InvalidInput(f"Give at most {MAX_BATCH:,} pieces.", path=("input", "evidence"))
    for place, each in enumerate(completion.evidence):
        check_text(each, ("input", "evidence", str(place)))
    for name, text in (("note", completion.note), ("by", completion.by)):
        if text is not None:
            check_text(text, ("input", name))

"""Writes what a judgement makes of a node, and what heals with it."""

from __future__ import annotations

from collections.abc import Collection

from retrograph.rules.judgement import judged_confidence
from retrograph.rules.validity import Validity
from retrograph.storage.decisions import Decision, record_decisions
from retrograph.storage.nodes import states_by_id
from retrograph.storage.open_work import OpenTask, open_tasks
from retrograph.storage.records import EventType, NodeRecord
from retrograph.storage.spells import (
    disturbed,
    fallen_since,
    resting_on_health,
    unclaimed_dependents,
)
from retrograph.storage.support import supporters_of
from retrograph.storage.tables import node_state
from retrograph.storage.task_records import DecisionKind, TaskStatus
from retrograph.storage.task_writes import end_tasks
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write


def revalidate(write: Write, node: NodeRecord, base: float, task_id: int | None) -> float:
    """Makes a node `REVALIDATED`, under a pin in projection only; returns its confidence.

    `task_id` is the task that it ends, if there is one.
    """
    supporters = supporters_of(write.snapshot, [node.id])[node.id]
    confidence = judged_confidence(base, len(supporters.standing), len(supporters.every))
    _heal(write, {node.id: node.pinned}, Validity.REVALIDATED, confidence)
    write.emit(EventType.NODE_REVALIDATED, node_id=node.id, task_id=task_id)
    return confidence


def cut_off(write: Write, node_id: int) -> list[OpenTask]:
    """Restores what fell only because of a node that still says what it said; returns its tasks.

    Each restored node counts as verified unchanged in its turn.  The tasks have ended, but what
    waited behind them was not told yet.
    """
    ended: list[OpenTask] = []
    wave: Collection[int] = [node_id]
    while wave:
        wave = _restorable(write, wave)
        tasks = list(open_tasks(write.snapshot, wave).values())
        _restore(write, tasks)
        ended += tasks
    return ended


def _restorable(write: Write, wave: Collection[int]) -> set[int]:
    s = write.snapshot
    candidates = resting_on_health(s, unclaimed_dependents(s, wave))
    since = fallen_since(s, candidates)
    return since.keys() - disturbed(s, since)


def _restore(write: Write, tasks: list[OpenTask]) -> None:
    states = states_by_id(write.snapshot, [each.node_id for each in tasks])
    pins = {node_id: bool(state[2]) for node_id, state in states.items()}
    _heal(write, pins, Validity.CURRENTLY_VALID)
    end_tasks(write, tasks, TaskStatus.CUT_OFF)
    kind = DecisionKind.RESTORED_BY_CUTOFF
    decisions = [Decision(kind, each.node_id, each.id, unchanged=True) for each in tasks]
    record_decisions(write, decisions)
    for each in sorted(tasks, key=lambda each: each.node_id):
        write.emit(EventType.NODE_RESTORED, node_id=each.node_id, task_id=each.id)


def _heal(
    write: Write, pins: dict[int, bool], validity: Validity, confidence: float | None = None
) -> None:
    """Gives nodes a healthy state that no run accounts for; a pin keeps the stored one."""
    for pinned in (False, True):
        chosen = [node_id for node_id, each in pins.items() if each is pinned]
        told = {"projected": int(validity)} if pinned else _whole(validity, confidence)
        rows = [{"id": node_id, **told, "run_id": None, "run_ordinal": None} for node_id in chosen]
        open_next(write.snapshot, node_state, rows)
    stored = states_by_id(write.snapshot, pins)
    write.note(nodes=[(node_id, *state) for node_id, state in stored.items()])


def _whole(validity: Validity, confidence: float | None) -> dict[str, object]:
    told: dict[str, object] = {"validity": int(validity), "projected": int(validity)}
    return told if confidence is None else told | {"confidence": confidence}

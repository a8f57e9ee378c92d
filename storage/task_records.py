"""What is known of work that is to be done: tasks and the decisions that ended them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from retrograph.rules.cascade import ImpactKind
from retrograph.rules.validity import Validity


class TaskStatus(IntEnum):
    """Where a revalidation task stands; those up to `DEAD_LETTER` are open."""

    WAITING = 1
    READY = 2
    LEASED = 3
    BACKING_OFF = 4
    DEAD_LETTER = 5
    VERIFIED = 6
    REFUTED = 7
    CUT_OFF = 8
    CANCELLED_SUPERSEDED = 9


OPEN = tuple(status for status in TaskStatus if status <= TaskStatus.DEAD_LETTER)
LAST_OPEN = int(TaskStatus.DEAD_LETTER)


class DecisionKind(IntEnum):
    """What was decided of a node."""

    VERIFIED = 1
    REFUTED = 2
    ERROR = 3
    RESTORED_BY_CUTOFF = 4
    REPAIRED = 5


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A revalidation task as of an instant.

    `component_id` is shared by those of one circle.  `due_at` is when its lease ends or its
    back-off is over.  A lease that has ended, or a back-off that is over, shows as `READY`.
    """

    tenant_id: int
    fleet_id: int
    id: int
    node_id: int
    run_id: int | None
    run_ordinal: int | None
    opened_at: int
    component_id: int
    priority: int
    status: TaskStatus
    attempt: int
    due_at: int | None
    leased_by: str | None
    lease_token: str | None
    claimed_at: int | None
    valid_from: int
    as_of: int


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """Who decided what of a node, when, and on which evidence (texts)."""

    tenant_id: int
    fleet_id: int
    id: int
    task_id: int | None
    node_id: int
    run_id: int | None
    at: int
    kind: DecisionKind
    unchanged: bool
    confidence: float | None
    evidence: tuple[str, ...]
    note: str | None
    decided_by: str | None
    worker: str | None
    attempt: int
    as_of: int


class Opening(NamedTuple):
    """A task to open: its node, and the impact that asks for it, if one does.

    `awaiting`: a re-evaluation or a repair asks, whatever the node's state.
    """

    node_id: int
    run_id: int | None = None
    run_ordinal: int | None = None
    awaiting: bool = False


UNSURE = (Validity.POTENTIALLY_STALE, Validity.DEFINITELY_STALE)
"""A node of such a validity must be judged again, unless it is pinned."""


def openings_of(run_id: int, impacts: Iterable[tuple[int, int, int, int]]) -> list[Opening]:
    """The tasks that a run's impacts (node, kind, stored validity after, pinned) ask for.

    They come by ordinal.  Whom the run left potentially or definitely stale, and whom it only
    wants to be looked at again, needs one; a pinned node doesn't: its pin asks for a review.
    """
    changed, reevaluate = int(ImpactKind.CHANGED), int(ImpactKind.REEVALUATE)
    return [
        Opening(node, run_id, ordinal, awaiting=kind == reevaluate)
        for ordinal, (node, kind, stored, pinned) in enumerate(impacts)
        if not pinned and (kind == reevaluate or (kind == changed and stored in UNSURE))
    ]

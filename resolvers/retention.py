"""Retention by a rule, for every execution of a fleet: what `serve` does of itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.scope import Scope
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.errors import NotFound
from retrograph.rules.limits import unstorable
from retrograph.storage.chains import last_older
from retrograph.storage.checkpoints import damaged
from retrograph.storage.executions import execution_spans

PAGE = 100
"""Executions looked at in one snapshot."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """All but the last `keep_last` checkpoints of each execution go.

    With `max_age`, in microseconds, only those that were committed longer ago.  `by` and `reason`
    sign the anchors off.
    """

    keep_last: int = 1
    max_age: int | None = None
    by: str = "retention"
    reason: str = "the server's rule for all executions"


@dataclass(frozen=True, slots=True)
class RetainedExecution:
    """How many checkpoints of an execution went, or would; none where `fault` tells of damage."""

    fleet_id: int
    execution_id: str
    removed: int
    fault: CheckpointDamaged | None = None


def retain_fleet(
    scope: Scope, fleet_id: int, rule: RetentionRule, *, dry_run: bool = False
) -> Iterator[RetainedExecution]:
    """Applies a rule to the executions of a fleet, each in a transaction of its own.

    Those with nothing to remove are only looked at.  One that is damaged stops no other.  Raises
    `InvalidInput` and `NotFound`.
    """
    older = None if rule.max_age is None else scope.store.now() - rule.max_age
    after: int | None = None
    while True:
        with scope.snapshot(fleet_id) as s:
            spans = execution_spans(s, PAGE, after)
            due = [
                span.key
                for span in spans
                if span.first <= span.last - rule.keep_last
                and (older is None or last_older(s, span.id, older))
            ]
        for name in due:
            done = _retain(scope, fleet_id, rule, name, older, dry_run=dry_run)
            if done.removed or done.fault:
                yield done
        if len(spans) < PAGE:
            return
        after = spans[-1].id


def _retain(
    scope: Scope, fleet_id: int, rule: RetentionRule, name: str, older: int | None, *, dry_run: bool
) -> RetainedExecution:
    if unstorable(name):
        return RetainedExecution(fleet_id, name, 0, damaged(name, 0))
    retention = Retention(name, rule.by, rule.reason, rule.keep_last, older, dry_run)
    try:
        done = retain_checkpoints(scope, fleet_id, retention)
    except NotFound:  # it was deleted meanwhile
        return RetainedExecution(fleet_id, name, 0)
    except CheckpointDamaged as fault:
        return RetainedExecution(fleet_id, name, 0, fault)
    return RetainedExecution(fleet_id, name, done.removed)

"""The sweeper: what time brings by itself, beliefs that expire, invalidations that wait, and, by a
rule, checkpoints that go.

Whatever is due is due until a transaction has done it, so that any number of sweepers do it once.
Episodes are compacted by the sweeper whose turn it is: one turn among all processes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from uuid import uuid4

from retrograph import tracing
from retrograph.resolvers.compact import compacting
from retrograph.resolvers.lead import Lead
from retrograph.resolvers.retention import RetentionRule, retain_fleet
from retrograph.resolvers.schedule_invalidation import execute_scheduled
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import RetrographError, RunTooLarge, StorageError
from retrograph.rules.instant import SECOND
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.expiries import EXPIRED, Expiry, due_expiries
from retrograph.storage.scheduled import (
    ScheduleStatus,
    Settlement,
    due_orders,
    settle_scheduled,
)
from retrograph.storage.store import Store
from retrograph.storage.write import Write

BATCH = 200
"""How many nodes expire in one transaction, and how many orders are looked up at once."""
RETENTION_EVERY = 3600 * SECOND
"""Microseconds between two looks at every execution: far more than what is due is read for it."""
JOB = "sweep"
COMPACTION = "compact"

_UNRETAINED = "nothing was removed of an execution in fleet %s of tenant %s: %s"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """How many nodes expired, how many scheduled invalidations were run or failed.

    `removed` counts the checkpoints that a rule of retention has removed.
    """

    expired: int = 0
    executed: int = 0
    failed: int = 0
    removed: int = 0

    def __add__(self, other: Swept) -> Swept:
        return Swept(
            self.expired + other.expired,
            self.executed + other.executed,
            self.failed + other.failed,
            self.removed + other.removed,
        )


class Sweeper:
    """Sweeps every fleet of every tenant, if it leads: one does among all processes.

    A leader that doesn't come back within `LEASE_SECONDS` loses its lead to whoever asks then.  A
    rule of retention is applied with its first sweep, then every hour.  With `compact_seconds` the
    episodes of all fleets are compacted so often, whoever leads; sweeping goes on meanwhile.
    """

    def __init__(
        self,
        store: Store,
        rule: RetentionRule | None = None,
        compact_seconds: int | None = None,
    ) -> None:
        self._store = store
        self._rule = rule
        self._retained: int | None = None
        self._between = None if compact_seconds is None else compact_seconds * SECOND
        self._ask_at = 0
        self._lead = Lead(store, JOB)

    def step(self) -> Swept | None:
        """Sweeps once; None where another process leads.  A fleet that fails stops no other."""
        total = self._sweep()
        if total is None or not self._compacts():
            return total
        swept_at = self._store.now()
        for _ in self._compacting():
            # What is due doesn't wait until all is compacted.
            if self._store.now() - swept_at >= SECOND:
                total += self._sweep() or Swept()
                swept_at = self._store.now()
        return total

    def _sweep(self) -> Swept | None:
        now = self._store.now()
        if not self._lead.held():
            return None
        with tracing.span("sweep") as span:
            swept = self._sweep_all(now)
            for name, count in asdict(swept or Swept()).items():
                span.tell(**{f"retrograph__{name}": count})
        return swept

    def _sweep_all(self, now: int) -> Swept | None:
        total, rule = Swept(), self._rule if self._retains(now) else None
        for tenant_id in self._store.tenant_ids():
            scope = Scope(self._store, tenant_id, None, frozenset(Role))
            for fleet_id in scope.held_fleets():
                if not self._lead.held():
                    return None
                total += _guarded(scope, fleet_id, rule)
        self._retained = self._retained if rule is None else now
        return total

    def resign(self) -> None:
        """Leaves the lead to whoever asks next."""
        self._lead.resign()

    def _retains(self, now: int) -> bool:
        return self._retained is None or now - self._retained >= RETENTION_EVERY

    def _compacts(self) -> bool:
        """Takes the turn, where nobody has had it for so long; asked a hundred times a turn."""
        now = self._store.now()
        if self._between is None or now < self._ask_at:
            return False
        self._ask_at = now + self._between // 100
        return self._store.lead(COMPACTION, uuid4().hex, self._between)

    def _compacting(self) -> Iterator[None]:
        for tenant_id in self._store.tenant_ids():
            scope = Scope(self._store, tenant_id, None, frozenset(Role))
            for fleet_id in scope.held_fleets():
                try:
                    for _ in compacting(scope, fleet_id):
                        yield
                except RetrographError:
                    _log.exception("compacting fleet %s of tenant %s failed", fleet_id, tenant_id)


def sweep_fleet(scope: Scope, fleet_id: int) -> Swept:
    """Does all that is due in a fleet by now, in the order of its hours."""
    swept = Swept()
    for scheduled_id in _due_scheduled(scope, fleet_id):
        swept += _execute(scope, fleet_id, scheduled_id)
    for batch in _due_expiries(scope, fleet_id):
        swept += Swept(expired=_expire(scope, fleet_id, batch))
    return swept


def _guarded(scope: Scope, fleet_id: int, rule: RetentionRule | None) -> Swept:
    try:
        swept = sweep_fleet(scope, fleet_id)
        for each in retain_fleet(scope, fleet_id, rule) if rule is not None else ():
            swept += Swept(removed=each.removed)
            if each.fault is not None:
                _log.error(_UNRETAINED, fleet_id, scope.tenant_id, each.fault.message)
        return swept
    except StorageError:
        _log.exception("sweeping fleet %s of tenant %s failed", fleet_id, scope.tenant_id)
        return Swept()


def _due_scheduled(scope: Scope, fleet_id: int) -> Iterator[int]:
    """Each is settled before the next page is read."""
    while True:
        with scope.snapshot(fleet_id) as snapshot:
            due = due_orders(snapshot, scope.store.now(), BATCH)
        yield from due
        if len(due) < BATCH:
            return


def _execute(scope: Scope, fleet_id: int, scheduled_id: int) -> Swept:
    """Runs an order; one that is refused is settled as failed, by a write of its own."""
    try:
        scope.write(fleet_id, lambda write: execute_scheduled(write, scheduled_id))
    except StorageError:
        raise
    except RetrographError as error:
        failed = Settlement(ScheduleStatus.FAILED, None, error.code, error.message)
        scope.write(fleet_id, lambda write: settle_scheduled(write, scheduled_id, failed))
        return Swept(failed=1)
    return Swept(executed=1)


def _due_expiries(scope: Scope, fleet_id: int) -> Iterator[list[Expiry]]:
    after: Expiry | None = None
    while True:
        with scope.snapshot(fleet_id) as snapshot:
            due = due_expiries(snapshot, scope.store.now(), BATCH, after)
        if not due:
            return
        after = due[-1]
        yield due


def _expire(scope: Scope, fleet_id: int, batch: Sequence[Expiry]) -> int:
    """Expires nodes in one transaction; where one is refused, each in a transaction of its own."""
    try:
        return scope.write(fleet_id, lambda write: _expire_still_due(write, batch))
    except RunTooLarge:
        if len(batch) > 1:
            return sum(_expire(scope, fleet_id, [each]) for each in batch)
        _log.warning("node %s can't expire: its run would be too large", batch[0].node_id)
        return 0


def _expire_still_due(write: Write, batch: Sequence[Expiry]) -> int:
    """Nobody else wrote since they are looked up again."""
    before = Expiry(batch[0].at, batch[0].node_id - 1)
    due = set(due_expiries(write.snapshot, batch[-1].at, len(batch), before))
    mine = [each for each in batch if each in due]
    for each in mine:
        fallen = write.cascade(Seeds(roots={each.node_id: Validity.INVALID}))
        record_run(write, RunOrder(each.node_id, Validity.INVALID, EXPIRED, each.at), fallen)
    return len(mine)

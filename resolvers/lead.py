"""The lead of a job: one process has it among all that ask, for as long as it comes back."""

from __future__ import annotations

from uuid import uuid4

from retrograph.rules.instant import SECOND
from retrograph.storage.leaders import Lease
from retrograph.storage.store import Store

LEASE_SECONDS = 60
"""After so long without a sign of the leader another may take the lead."""


class Lead:
    """One process's claim to lead the job of a name; it shares no names with other jobs."""

    def __init__(self, store: Store, name: str) -> None:
        self.lease = Lease(name, uuid4().hex, LEASE_SECONDS * SECOND)
        self._store = store
        self._taken: int | None = None

    def held(self) -> bool:
        """Takes or keeps the lead; says whether this process has it.

        A lease with two thirds left is not taken again: that would be a write at each step.
        """
        now, lease = self._store.now(), self.lease
        if self._taken is not None and 0 <= now - self._taken < lease.micros // 3:
            return True
        leads = self._store.lead(lease.name, lease.holder, lease.micros)
        self._taken = now if leads else None
        return leads

    def lose(self) -> None:
        """Takes note that another process leads by now."""
        self._taken = None

    def resign(self) -> None:
        """Leaves the lead to whoever asks next; nothing where it isn't held."""
        if self._taken is not None:
            self._taken = None
            self._store.lead(self.lease.name, self.lease.holder, 0)

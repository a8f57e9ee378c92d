"""The relay: takes the outbox of every fleet to where it is wanted, in order, and marks how far.

One process leads among all that run a relay of one name. An event is marked when it has arrived,
so that whatever fails in between is sent again, and nothing is left out.
"""

from __future__ import annotations

from typing import Protocol
from uuid import uuid4

from retrograph.resolvers.event_objects import event_objects
from retrograph.resolvers.events import list_events
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.limits import MAX_ID
from retrograph.storage.leaders import Lease
from retrograph.storage.relays import Batch, Position, Progress
from retrograph.storage.store import Store

BATCH = 100
"""Events that are sent together at most."""
LEASE_SECONDS = 60
_LEASE = LEASE_SECONDS * 1_000_000
BEGINNING: Position = (0, 0)


class Sink(Protocol):
    """Where a relay takes events to; each method raises `DeliveryFailed` while it can't be had."""

    def forgot(self) -> bool:
        """Whether it may have lost what had arrived: then `last` is asked for every fleet."""

    def last(self, tenant_id: int, fleet_id: int) -> Position | None:
        """The last event of a fleet that it has; None: it has none."""

    def deliver(self, batch: Batch) -> None:
        """Takes a batch; what it has already it takes for arrived."""


class Relay:
    """Takes what is behind `since` (microseconds) to a sink, if it leads its name."""

    def __init__(self, store: Store, name: str, sink: Sink, since: int = 0) -> None:
        self.name = name
        self._store = store
        self._sink = sink
        self._start = (since, MAX_ID) if since else BEGINNING
        self._lease = Lease(name, uuid4().hex, _LEASE)
        self._taken: int | None = None
        self._read: dict[tuple[int, int], int] = {}
        self._forgot = False

    def step(self) -> int | None:
        """Delivers all there is and says how much; None where another process leads.

        Raises `DeliveryFailed`; what has arrived until then is marked.
        """
        if not self._leads():
            return None
        self._forgot, delivered = self._sink.forgot() or self._forgot, 0
        for tenant_id in self._store.tenant_ids():
            for fleet in self._store.relay_progress(tenant_id, self.name):
                more = self._relay(tenant_id, fleet)
                if more is None:
                    return None
                delivered += more
        self._forgot = False
        return delivered

    def resign(self) -> None:
        """Leaves the lead to whoever asks next."""
        if self._taken is not None:
            self._taken = None
            self._store.lead(self.name, self._lease.holder, 0)

    def _relay(self, tenant_id: int, fleet: Progress) -> int | None:
        """What has been delivered of a fleet; None when another leads."""
        key, position = (tenant_id, fleet.fleet_id), fleet.position or self._start
        if self._forgot:
            position = min(position, self._sink.last(*key) or BEGINNING)
        if fleet.clock < position[0] or not (self._forgot or fleet.clock > self._read.get(key, 0)):
            return 0
        scope, delivered = Scope(self._store, tenant_id, None, frozenset(Role)), 0
        while True:
            page = list_events(scope, fleet.fleet_id, None, position, BATCH)
            if page.rows:
                objects = event_objects(scope, fleet.fleet_id, page.as_of, page.rows)
                places = [(each.at, each.ordinal) for each in page.rows]
                self._sink.deliver(Batch(*key, places, objects))
                position, delivered = places[-1], delivered + len(places)
                if not self._store.mark_relayed(*key, self._lease, position):
                    self._taken = None
                    return None
            if not page.has_next:
                self._read[key] = page.as_of
                return delivered

    def _leads(self) -> bool:
        """A lease with two thirds left is not taken again: that would be a write at each step."""
        now = self._store.now()
        if self._taken is not None and 0 <= now - self._taken < _LEASE // 3:
            return True
        leads = self._store.lead(self.name, self._lease.holder, _LEASE)
        self._taken = now if leads else None
        return leads

"""The relay: takes the outbox of every fleet to where it is wanted, in order, and marks how far.

One process leads among all that run a relay of one name. An event is marked when it has arrived,
so that whatever fails in between is sent again, and nothing is left out.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from retrograph import tracing
from retrograph.resolvers.event_objects import event_objects
from retrograph.resolvers.events import list_events
from retrograph.resolvers.lead import Lead
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.limits import MAX_ID
from retrograph.storage.records import EventRecord, Page
from retrograph.storage.relays import BEGINNING, Arrived, Batch, Position, Progress
from retrograph.storage.store import Store

BATCH = 100
"""Events that are sent together at most."""


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
        self._lead = Lead(store, name)
        self._read: dict[tuple[int, int], int] = {}
        self._forgot = False

    def step(self) -> int | None:
        """Delivers all there is and says how much; None where another process leads.

        Raises `DeliveryFailed`; what has arrived until then is marked.
        """
        if not self._lead.held():
            return None
        fleets = self._fleets()
        if fleets is None:
            return None
        self._forgot, delivered = self._sink.forgot() or self._forgot, 0
        for tenant_id, fleet in fleets:
            more = self._relay(tenant_id, fleet)
            if more is None:
                return None
            delivered += more
        self._forgot = False
        return delivered

    def _fleets(self) -> list[tuple[int, Progress]] | None:
        """Every fleet by its tenant, and how far it has come in it; None when another leads.

        Where it begins in those that it is new to is noted first, for all: what is behind that
        counts as not delivered from now on, whatever fails.
        """
        found = []
        for tenant_id in self._store.tenant_ids():
            fleets = self._store.relay_progress(tenant_id, self.name)
            new = [each.fleet_id for each in fleets if each.position is None]
            begin = partial(self._store.begin_relay, tenant_id, self._lead.lease)
            if new and not begin(new, self._start):
                self._lead.lose()
                return None
            found += [(tenant_id, each) for each in fleets]
        return found

    def resign(self) -> None:
        """Leaves the lead to whoever asks next."""
        self._lead.resign()

    def _relay(self, tenant_id: int, fleet: Progress) -> int | None:
        """What has been delivered of a fleet; None when another leads."""
        key, arrived = (tenant_id, fleet.fleet_id), fleet.position or self._start
        position = arrived
        if self._forgot:  # but what was left out from the start stays out
            kept = self._sink.last(*key) or BEGINNING
            position = max(min(position, self._start), min(position, kept))
        if fleet.clock < position[0] or not (self._forgot or fleet.clock > self._read.get(key, 0)):
            return 0
        delivered = 0
        while True:
            with tracing.span("relay batch", retrograph__relay=self.name) as span:
                page = self._deliver(*key, position, arrived)
                if page is None:
                    self._lead.lose()
                    return None
                span.tell(retrograph__events=len(page.rows))
            delivered += len(page.rows)
            if not page.has_next:
                self._read[key] = page.as_of
                return delivered
            position = page.rows[-1].at, page.rows[-1].ordinal

    def _deliver(
        self, tenant_id: int, fleet_id: int, position: Position, arrived: Position
    ) -> Page[EventRecord] | None:
        """Delivers what is next behind a position, and marks it; None when another leads."""
        scope = Scope(self._store, tenant_id, None, frozenset(Role))
        page = list_events(scope, fleet_id, None, position, BATCH)
        if not page.rows:
            return page
        objects = event_objects(scope, fleet_id, page.as_of, page.rows)
        places = [(each.at, each.ordinal) for each in page.rows]
        self._sink.deliver(Batch(tenant_id, fleet_id, places, objects))
        new = sum(place > arrived for place in places)
        marked = Arrived(tenant_id, fleet_id, places[-1], new)
        return page if self._store.mark_relayed(self._lead.lease, marked) else None

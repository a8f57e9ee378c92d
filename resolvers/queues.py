"""What is open of all tenants' work, for whoever runs the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from retrograph.storage.queues import Queue, open_queues
from retrograph.storage.relays import BEGINNING, NOTHING, Waiting, oldest_behind, waiting
from retrograph.storage.store import Store
from retrograph.storage.task_records import OPEN, TaskStatus


@dataclass(frozen=True, slots=True)
class Backlog:
    """Added up over every fleet of every tenant, as of the machine's instant `at`; it names none.

    The open tasks by status; and for each relay what it has dispatched, and not yet.
    """

    at: int
    queues: Mapping[TaskStatus, Queue]
    relays: Mapping[str, Waiting]


def backlog_of(store: Store) -> Backlog:
    """Reads every fleet, one after another."""
    total, now = dict.fromkeys(OPEN, Queue()), store.now()
    relays: dict[tuple[int, int], dict[str, Waiting]] = {}
    for tenant_id in store.tenant_ids():
        for fleet_id in store.fleet_ids(tenant_id):
            with store.read(tenant_id, fleet_id) as snapshot:
                for status, queue in open_queues(snapshot, now).items():
                    total[status] += queue
                relays[tenant_id, fleet_id] = waiting(snapshot)
    return Backlog(now, total, _in_all_fleets(store, relays))


def _in_all_fleets(
    store: Store, fleets: Mapping[tuple[int, int], Mapping[str, Waiting]]
) -> dict[str, Waiting]:
    """What waits for each relay; in a fleet that it hasn't begun with, everything does."""
    names, total = {name for each in fleets.values() for name in each}, dict[str, Waiting]()
    for fleet, known in fleets.items():
        new = names - known.keys()
        if new:
            with store.read(*fleet) as snapshot:
                everything = Waiting(oldest_behind(snapshot, BEGINNING), 0)
            total |= {name: total.get(name, NOTHING) + everything for name in new}
        total |= {name: total.get(name, NOTHING) + each for name, each in known.items()}
    return total

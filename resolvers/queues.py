"""What is open of all tenants' work, for whoever runs the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from retrograph.storage.queues import Queue, open_queues
from retrograph.storage.relays import oldest_waiting
from retrograph.storage.store import Store
from retrograph.storage.task_records import OPEN, TaskStatus


@dataclass(frozen=True, slots=True)
class Backlog:
    """Added up over every fleet of every tenant, as of the machine's instant `at`; it names none.

    The open tasks by status; and for each relay the instant of the oldest event that it has not
    dispatched, None without one.
    """

    at: int
    queues: Mapping[TaskStatus, Queue]
    relays: Mapping[str, int | None]


def backlog_of(store: Store) -> Backlog:
    """Reads every fleet, one after another."""
    total, now = dict.fromkeys(OPEN, Queue()), store.now()
    relays: dict[str, int | None] = {}
    for tenant_id in store.tenant_ids():
        for fleet_id in store.fleet_ids(tenant_id):
            with store.read(tenant_id, fleet_id) as snapshot:
                for status, queue in open_queues(snapshot, now).items():
                    total[status] += queue
                for name, oldest in oldest_waiting(snapshot).items():
                    waiting = [at for at in (relays.get(name), oldest) if at is not None]
                    relays[name] = min(waiting, default=None)
    return Backlog(now, total, relays)

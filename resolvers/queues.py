"""How much is open of all tenants' revalidation, for whoever runs the server."""

from __future__ import annotations

from collections.abc import Mapping

from retrograph.storage.queues import Queue, open_queues
from retrograph.storage.store import Store
from retrograph.storage.task_records import OPEN, TaskStatus


def all_queues(store: Store) -> Mapping[TaskStatus, Queue]:
    """The open tasks by status, added up over every fleet of every tenant; it names none."""
    total, now = dict.fromkeys(OPEN, Queue()), store.now()
    for tenant_id in store.tenant_ids():
        for fleet_id in store.fleet_ids(tenant_id):
            with store.read(tenant_id, fleet_id) as snapshot:
                for status, queue in open_queues(snapshot, now).items():
                    total[status] += queue
    return total

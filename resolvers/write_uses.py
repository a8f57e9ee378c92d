"""Writes down how often episodes were used: many recalls, one transaction a fleet."""

from __future__ import annotations

from retrograph.rules.errors import NotFound
from retrograph.storage.episode_writes import add_uses
from retrograph.storage.store import Store
from retrograph.storage.uses import Uses
from retrograph.storage.write import Write


def write_uses(store: Store) -> int:
    """Writes what was noted since the last time; returns how many episodes were used.

    What can't be written is kept for the next time, and the `StorageError` is raised.  Uses in a
    fleet that is gone are nobody's.
    """
    waiting = store.uses.take()
    written = 0
    try:
        for key in [*waiting]:
            _write(store, *key, waiting[key])
            written += len(waiting.pop(key))
    finally:
        for key, uses in waiting.items():
            store.uses.give_back(key, uses)
    return written


def _write(store: Store, tenant_id: int, fleet_id: int, uses: Uses) -> None:
    def job(write: Write) -> None:
        add_uses(write, uses)

    try:
        store.write(tenant_id, fleet_id, job)
    except NotFound:
        return

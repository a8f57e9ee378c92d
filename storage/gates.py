"""Gates: how many edges from other open tasks lead into a component of open tasks.

A component that nothing blocks has no gate: its tasks are ready, or further.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Executable, delete, select

from retrograph.storage.bulk import insert_rows
from retrograph.storage.driven import drive
from retrograph.storage.id_set import id_rows
from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.set_writes import delete_named, update_paired
from retrograph.storage.tables import task_gate
from retrograph.storage.write import Write


def gates(write: Write, components: Collection[int]) -> dict[int, int]:
    """The blockers of those components that have a gate."""
    if not components:
        return {}
    return {row[0]: row[1] for row in fetch(write.snapshot, _of, ids=components)}


def put_gates(write: Write, blockers: Mapping[int, int]) -> None:
    """Puts gates before components that have none; where nothing blocks there is none."""
    s = write.snapshot
    rows = (
        (s.tenant_id, s.fleet_id, component, count)
        for component, count in blockers.items()
        if count
    )
    columns = ("tenant_id", "fleet_id", "component_id", "blockers")
    insert_rows(s.connection, s.profile, task_gate.name, columns, rows)


def drop_gates(write: Write, components: Collection[int]) -> None:
    """Takes the gates of components away, where they have one."""
    if components:
        delete_named(write.snapshot, task_gate.c.component_id, components)


def drop_all_gates(write: Write) -> None:
    """Takes every gate of the fleet away."""
    s = write.snapshot
    s.connection.execute(
        delete(task_gate).where(
            task_gate.c.tenant_id == s.tenant_id, task_gate.c.fleet_id == s.fleet_id
        )
    )


def shift_gates(write: Write, changes: Mapping[int, int]) -> set[int]:
    """Adds to the blockers of components; returns those that nothing blocks any more."""
    before = gates(write, changes.keys())
    after = {component: before.get(component, 0) + each for component, each in changes.items()}
    freed = {component for component in before if not after[component]}
    blocked = {component for component in after if component not in before and after[component]}
    drop_gates(write, freed)
    put_gates(write, {component: after[component] for component in blocked})
    moved = {each: after[each] for each in before if after[each] not in {0, before[each]}}
    if moved:
        key, blockers = task_gate.c.component_id, task_gate.c.blockers
        update_paired(write.snapshot, key, blockers, moved)
    return freed


@prepared
def _of(frame: Frame) -> Executable:  # noqa: ARG001 (gates are kept for the present only)
    ids = id_rows()
    tenant, fleet = scoped(task_gate)
    found = (task_gate.c.component_id == ids.c.value) & tenant & fleet
    return select(task_gate.c.component_id, task_gate.c.blockers).select_from(
        drive(ids, (task_gate, found))
    )

"""Which tasks a run asks for, read back from its impacts where they lie in the database."""

from __future__ import annotations

from sqlalchemy import select

from retrograph.storage.driven import drive
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import impact, node_state
from retrograph.storage.task_records import Opening, openings_of


def openings_by(s: Snapshot, run_id: int) -> list[Opening]:
    """The tasks that the impacts of a run ask for, its states being written."""
    states = node_state.current
    scope = (
        condition
        for table in (impact, states)
        for condition in (table.c.tenant_id == s.tenant_id, table.c.fleet_id == s.fleet_id)
    )
    rows = s.connection.execute(
        select(impact.c.node_id, impact.c.kind, states.c.validity, states.c.pinned)
        .select_from(drive(impact, (states, states.c.id == impact.c.node_id)))
        .where(*scope, impact.c.run_id == run_id)
        .order_by(impact.c.ordinal)
    )
    return openings_of(run_id, [(*row,) for row in rows])

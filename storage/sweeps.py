"""Which tasks a run asks for, read back from its impacts where they lie in the database."""

from __future__ import annotations

from sqlalchemy import Executable, bindparam, select

from retrograph.storage.driven import drive
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import impact, node_state
from retrograph.storage.task_records import Opening, openings_of


def openings_by(s: Snapshot, run_id: int) -> list[Opening]:
    """The tasks that the impacts of a run ask for, its states being written."""
    rows = fetch(s, _impacted, run_id=run_id)
    return openings_of(run_id, [(row[0], row[1], row[2], row[3]) for row in rows])


@prepared
def _impacted(frame: Frame) -> Executable:  # noqa: ARG001 (writers read the present)
    states = node_state.current
    return (
        select(impact.c.node_id, impact.c.kind, states.c.validity, states.c.pinned)
        .select_from(drive(impact, (states, states.c.id == impact.c.node_id)))
        .where(*scoped(impact), impact.c.run_id == bindparam("run_id"), *within_scope(states))
        .order_by(impact.c.ordinal)
    )

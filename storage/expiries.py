"""Which nodes are past their `expiresAt`, and have not been invalidated for it yet."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Executable, Text, and_, bindparam, or_, select

from retrograph.storage.prepared import Frame, fetch, prepared, scoped
from retrograph.storage.same_text import same_text
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import node_content, run

EXPIRED = "EXPIRED"
"""The reason of a run that time has started; its `effective_at` is the node's `expires_at`."""


class Expiry(NamedTuple):
    """A node and when it expired; in this order they are swept."""

    at: int
    node_id: int


def due_expiries(s: Snapshot, now: int, most: int, after: Expiry | None = None) -> list[Expiry]:
    """The first expiries by `now` that no run tells of, in order, behind `after`."""
    at, node_id = after or (0, 0)
    rows = fetch(
        s, _due, after is not None, now=now, reason=EXPIRED, at=at, node_id=node_id, rows=most
    )
    return [Expiry(*row) for row in rows]


@prepared
def _due(frame: Frame, resumed: bool) -> Executable:  # noqa: ARG001 (the present)
    content = node_content.current
    at, node_id = content.c.expires_at, content.c.id
    told = (
        select(run.c.id)
        .where(
            *scoped(run),
            run.c.root_id == node_id,
            run.c.effective_at == at,
            same_text(run.c.reason, bindparam("reason", type_=Text)),
        )
        .correlate(content)
        .exists()
    )
    due = select(at, node_id).where(*scoped(content), at <= bindparam("now"), ~told)
    if resumed:
        later = and_(at == bindparam("at"), node_id > bindparam("node_id"))
        due = due.where(at >= bindparam("at"), or_(at > bindparam("at"), later))
    return due.order_by(at, node_id).limit(bindparam("rows"))

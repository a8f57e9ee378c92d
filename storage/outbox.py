"""The outbox: every event of a fleet, in the order of instants and, within one, of ordinals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Executable, Select, bindparam, select, union_all

from retrograph.rules.validity import Validity
from retrograph.storage.aside import aside
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped
from retrograph.storage.records import EventRecord, EventType, Page
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import impact, outbox

_TYPES = {int(kind): kind for kind in EventType}


def page_events(
    s: Snapshot,
    types: frozenset[EventType] | None,
    after: tuple[int, int] | None,
    first: int,
) -> Page[EventRecord]:
    """The events up to the instant, after the cursor `after`.

    The detail of an event that tells of an impact is {"depth", "from", "to"}, read from it.
    """
    at, ordinal = (None, None) if after is None else after
    rows = fetch(
        s,
        _page,
        after is not None,
        types is not None,
        types=types,
        at=at,
        ordinal=ordinal,
        rows=first + 1,
    )
    return page_of(s, [_record(s, row) for row in rows], first)


def _record(s: Snapshot, row: Sequence[Any]) -> EventRecord:
    at, ordinal, kind, node_id, run_id, detail, *impact = row
    return EventRecord(
        tenant_id=s.tenant_id,
        fleet_id=s.fleet_id,
        at=at,
        ordinal=ordinal,
        type=_TYPES[kind],
        node_id=node_id,
        run_id=run_id,
        detail=_detail(*impact) if detail is None else detail,
    )


@lru_cache(maxsize=1024)
def _detail(before: int | None, after: int | None, depth: int | None) -> str | None:
    if before is None or after is None:
        return None
    told = {"depth": depth, "from": Validity(before).name, "to": Validity(after).name}
    return orjson.dumps(told).decode()


@prepared
def _page(frame: Frame, resumed: bool, typed: bool) -> Executable:  # noqa: ARG001
    at, ordinal = outbox.c.at, outbox.c.ordinal
    rest = _events(typed).where(at <= INSTANT)
    if not resumed:
        return rest.order_by(at, ordinal).limit(bindparam("rows"))
    # Two ranges of the primary key: a cascade gives one instant a hundred thousand events.
    same = _events(typed).where(
        at == bindparam("at"), ordinal > bindparam("ordinal"), aside(at) <= INSTANT
    )
    later = rest.where(at > bindparam("at"))
    return union_all(same, later).order_by("at", "ordinal").limit(bindparam("rows"))


def _events(typed: bool) -> Select[Any]:
    told = (
        (impact.c.tenant_id == outbox.c.tenant_id)
        & (impact.c.fleet_id == outbox.c.fleet_id)
        & (impact.c.run_id == outbox.c.run_id)
        & (impact.c.ordinal == outbox.c.run_ordinal)
    )
    events = (
        select(
            outbox.c.at.label("at"),
            outbox.c.ordinal.label("ordinal"),
            outbox.c.type,
            outbox.c.node_id,
            outbox.c.run_id,
            outbox.c.detail,
            impact.c.before,
            impact.c.after,
            impact.c.depth,
        )
        .select_from(outbox.outerjoin(impact, told))
        .where(*scoped(outbox))
    )
    if typed:
        events = events.where(outbox.c.type.in_(bindparam("types", expanding=True)))
    return events

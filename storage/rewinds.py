"""Sets the present of versioned tables back to an instant: the past is read, never written.

A row that was current at the instant and still is needs nothing.  Of all others the version of
then is among the closed ones, so what differs is found from the rows that began since and from
the versions that ended since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Table,
    bindparam,
    insert,
    literal,
    or_,
    select,
    update,
)

from retrograph.storage.as_of import Arm, over_arms
from retrograph.storage.id_set import id_set
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned, edge, evidence, node_content, node_state, task
from retrograph.storage.task_records import LAST_OPEN, UNSURE, Opening
from retrograph.storage.versions import end
from retrograph.storage.write import Write

REWOUND: Mapping[str, Versioned] = {
    "nodes": node_state,
    "contents": node_content,
    "edges": edge,
    "evidence": evidence,
}
"""What a rewind sets back, by what it tells of it."""
_FRAMING = ("id", "tenant_id", "fleet_id", "valid_from")


@dataclass(frozen=True, slots=True)
class Difference:
    """Ids of rows that a rewind removes (made since), restores (changed) and returns (gone)."""

    removed: list[int]
    restored: list[int]
    returned: list[int]


def difference(s: Snapshot, versioned: Versioned, to: int) -> Difference:
    """What separates the present of a table from the instant `to`; two statements."""
    since = fetch(s, _begun_since, versioned, to=to)
    return Difference(
        [id for id, then in since if then is None],
        [id for id, then in since if then is not None],
        [id for (id,) in fetch(s, _gone_since, versioned, to=to)],
    )


def set_back(write: Write, versioned: Versioned, to: int, found: Difference) -> None:
    """Makes the rows of then those of the present; what they were is closed at this instant."""
    s = write.snapshot
    if found.removed:
        end(s, versioned, found.removed)
    if found.restored:
        s.profile.keep_history(s, versioned, found.restored)
        s.connection.execute(_restore(s, versioned, to, found.restored))
    if found.returned:
        s.connection.execute(_return(s, versioned, to, found.returned))


def openings_at(s: Snapshot) -> list[Opening]:
    """The tasks that the law asks for at the instant, by node, whether or not they were open.

    Whoever was unsure needs one, and whoever awaited a judgement then.
    """
    found = {id: Opening(id, run_id, place) for id, run_id, place in fetch(s, _unsure)}
    for node_id, run_id, place, awaiting in fetch(s, _open):
        if awaiting or node_id in found:
            found[node_id] = Opening(node_id, run_id, place, awaiting=bool(awaiting))
    return [found[node_id] for node_id in sorted(found)]


def _told(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.name not in _FRAMING]


def _held(closed: Any, to: Any) -> tuple[ColumnElement[bool], ...]:
    return closed.c.valid_from <= to, closed.c.valid_to > to


@prepared
def _begun_since(frame: Frame, versioned: Versioned) -> Executable:  # noqa: ARG001 (the present)
    now, then = versioned.current, versioned.history
    to: ColumnElement[int] = bindparam("to")
    differs = (now.c[name].is_distinct_from(then.c[name]) for name in _told(now))
    held = (then.c.id == now.c.id, *_held(then, to), *within_scope(then))
    return (
        select(now.c.id, then.c.id)
        .select_from(now.outerjoin(then, _all(held)))
        .where(*scoped(now), now.c.valid_from > to, or_(then.c.id.is_(None), *differs))
        .order_by(now.c.id)
    )


@prepared
def _gone_since(frame: Frame, versioned: Versioned) -> Executable:  # noqa: ARG001
    now, then = versioned.current, versioned.history
    kept = select(now.c.id).where(now.c.id == then.c.id, *within_scope(now))
    present = kept.correlate(then).exists()
    return (
        select(then.c.id)
        .where(*scoped(then), *_held(then, bindparam("to")), ~present)
        .order_by(then.c.id)
    )


def _all(conditions: tuple[ColumnElement[bool], ...]) -> ColumnElement[bool]:
    first, *rest = conditions
    for each in rest:
        first &= each
    return first


def _then(s: Snapshot, versioned: Versioned, to: int, ids: list[int]) -> Select[Any]:
    """The versions of `ids` that held at `to`."""
    table = versioned.history
    names = [column.name for column in versioned.current.columns if column.name != "valid_from"]
    return select(*(table.c[name] for name in names)).where(
        table.c.tenant_id == s.tenant_id,
        table.c.fleet_id == s.fleet_id,
        *_held(table, to),
        table.c.id.in_(id_set(ids)),
    )


def _restore(s: Snapshot, versioned: Versioned, to: int, ids: list[int]) -> Executable:
    now, then = versioned.current, _then(s, versioned, to, ids).subquery("then_held")
    values: dict[str, Any] = {name: then.c[name] for name in _told(now)}
    if not s.profile.fills_periods:
        values["valid_from"] = s.instant
    return (
        update(now)
        .where(now.c.id == then.c.id, now.c.tenant_id == s.tenant_id, now.c.fleet_id == s.fleet_id)
        .values(values)
    )


def _return(s: Snapshot, versioned: Versioned, to: int, ids: list[int]) -> Executable:
    then = _then(s, versioned, to, ids)
    names = [column.name for column in then.selected_columns]
    if not s.profile.fills_periods:
        names.append("valid_from")
        then = then.add_columns(literal(s.instant))
    return insert(versioned.current).from_select(names, then)


@prepared
def _unsure(frame: Frame) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        unsure = arm.c.validity.in_([int(each) for each in UNSURE])
        chosen = select(arm.c.id, arm.c.run_id, arm.c.run_ordinal).select_from(arm.table)
        return chosen.where(*scoped(arm), unsure, arm.c.pinned == 0)

    return over_arms(frame.arms(node_state), build)


@prepared
def _open(frame: Frame) -> Executable:
    def build(arm: Arm) -> Select[Any]:
        chosen = select(arm.c.node_id, arm.c.run_id, arm.c.run_ordinal, arm.c.awaiting)
        return chosen.select_from(arm.table).where(*scoped(arm), arm.c.status <= LAST_OPEN)

    return over_arms(frame.arms(task), build)

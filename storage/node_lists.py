"""Nodes as of an instant, page by page, narrowed down by a filter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    SmallInteger,
    Text,
    bindparam,
    literal_column,
    select,
    union_all,
)

from retrograph.rules.limits import MIN_ID
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.as_of import Arm
from retrograph.storage.aside import aside
from retrograph.storage.driven import drive
from retrograph.storage.filters import NodeFilter, after_prefix
from retrograph.storage.has_key import has_key
from retrograph.storage.id_set import id_rows, key_rows
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.pages import page_of
from retrograph.storage.prepared import Frame, fetch, prepared, scoped, within_scope
from retrograph.storage.presence import is_node
from retrograph.storage.records import NodeRecord, Page
from retrograph.storage.same_text import has_prefix
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import node, node_state

Names = frozenset[str]

_LOOKED_UP = frozenset({"ids", "keys", "least_key"})
"""What leads to few nodes directly, better than any order of ids."""


def page_nodes(s: Snapshot, filter: NodeFilter, first: int, after: int | None) -> Page[NodeRecord]:
    """The nodes that pass the filter, by ascending id, after the id `after`; three statements."""
    values = _values(filter)
    given = frozenset(values)
    sick = () if filter.validity is None else tuple(sorted(filter.validity))
    if s.current and sick and not any(map(is_healthy, sick)) and given.isdisjoint(_LOOKED_UP):
        statement = partial(fetch, s, _sick_page, given, sick)
    else:
        statement = partial(fetch, s, _page, given)
    rows = statement(**values, after=MIN_ID if after is None else after, rows=first + 1)
    ids = [row[0] for row in rows]
    nodes = nodes_by_id(s, ids)
    return page_of(s, [nodes[id] for id in ids], first)


def _values(filter: NodeFilter) -> dict[str, object]:
    """The parameters for what the filter gives; their names name the conditions, too."""
    prefix = filter.key_prefix
    values = {
        "kind": filter.kind,
        "validity": filter.validity,
        "pinned": filter.pinned,
        "ids": filter.ids,
        "keys": filter.keys,
        "least_key": prefix,
        "next_key": None if prefix is None else after_prefix(prefix),
    }
    return {name: value for name, value in values.items() if value is not None}


@prepared
def _page(frame: Frame, given: Names) -> Executable:
    """Driven by ids, keys or a range of keys, else by all the fleet's nodes in their order."""
    order = node.c.id if given.isdisjoint(_LOOKED_UP) else aside(node.c.id)
    return (
        select(node.c.id)
        .where(order > bindparam("after"), *_of_identity(given))
        .where(is_node(frame, node.c.id, lambda arm: _of_state(arm, given)))
        .order_by(node.c.id)
        .limit(bindparam("rows"))
    )


@prepared
def _sick_page(frame: Frame, given: Names, validities: tuple[Validity, ...]) -> Executable:
    """Driven by the index of what isn't healthy: each validity gives its ids in order."""
    selects = [
        _of_validity(arm, given, validity)
        for arm in frame.arms(node_state)
        for validity in validities
    ]
    return union_all(*selects).order_by("id").limit(bindparam("rows"))


def _of_validity(arm: Arm, given: Names, validity: Validity) -> Select[Any]:
    literal = literal_column(str(int(validity)), SmallInteger)  # what a partial index asks for
    return (
        select(arm.c.id.label("id"))
        .select_from(drive(arm.table, (node, node.c.id == arm.c.id)))
        .where(*scoped(arm), arm.c.validity == literal, arm.c.id > bindparam("after"))
        .where(*arm.visible, *_of_identity(given), *_of_state(arm, given - {"validity"}))
    )


def _of_identity(given: Names) -> Iterator[ColumnElement[bool]]:
    least, following = (bindparam(name, type_=Text) for name in ("least_key", "next_key"))
    conditions: dict[str, ColumnElement[bool]] = {
        "kind": node.c.kind == bindparam("kind"),
        "ids": node.c.id.in_(select(id_rows().c.value)),
        "keys": node.c.id.in_(_ids_of_keys()),
        "least_key": has_prefix(node.c.key, least, following if "next_key" in given else None),
    }
    yield from (scoped if given.isdisjoint(("ids", "keys")) else within_scope)(node)
    yield from (condition for name, condition in conditions.items() if name in given)


def _ids_of_keys() -> Select[Any]:
    keys, named = key_rows(), node.alias("named")
    found = drive(keys, (named, has_key(named.c.key, keys.c.value)))
    return select(named.c.id).select_from(found).where(*scoped(named))


def _of_state(arm: Arm, given: Names) -> Iterator[ColumnElement[bool]]:
    if "validity" in given:
        yield arm.c.validity.in_(bindparam("validity", expanding=True))
    if "pinned" in given:
        yield arm.c.pinned == bindparam("pinned")

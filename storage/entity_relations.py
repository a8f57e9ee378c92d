"""How entities relate: written once, followed both ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Executable, select

from retrograph.rules.entity import RelationType
from retrograph.rules.errors import InvalidInput
from retrograph.storage.bulk import insert_rows
from retrograph.storage.driven import drive
from retrograph.storage.episode_records import RelationRecord, hashed
from retrograph.storage.id_set import key_rows
from retrograph.storage.memory_tables import entity_relation
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, scoped
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write, take_ids

MAX_EXPANDED = 10_000
"""Entities that a query may be expanded to."""

Relation = tuple[str, str, RelationType]
_COLUMNS = ("id", "source", "target", "type", "related_at")
_WRITTEN = ("id", "tenant_id", "fleet_id", "source_hash", "target_hash", *_COLUMNS[1:])


def relate(write: Write, relations: Sequence[Relation]) -> list[RelationRecord]:
    """The relations in their order; those that are new are made."""
    s, wanted = write.snapshot, list(dict.fromkeys(relations))
    found = {(r.source, r.target, r.type): r for r in relations_of(s, {r[0] for r in wanted})}
    fresh = [each for each in wanted if each not in found]
    scope = (s.tenant_id, s.fleet_id)
    for id, (source, target, kind) in zip(
        take_ids(write, "relation", len(fresh)), fresh, strict=True
    ):
        found[source, target, kind] = RelationRecord(id, source, target, kind, s.instant)
    rows = [
        (
            found[each].id,
            *scope,
            hashed(each[0]),
            hashed(each[1]),
            *each[:2],
            int(each[2]),
            s.instant,
        )
        for each in fresh
    ]
    insert_rows(s.connection, s.profile, "entity_relation", _WRITTEN, rows)
    return [found[each] for each in relations]


def relations_of(s: Snapshot, urns: Collection[str]) -> list[RelationRecord]:
    """The relations out of these entities."""
    rows = fetch(s, _along, True, keys=[hashed(urn) for urn in urns]) if urns else []
    return [RelationRecord(r[0], r[1], r[2], RelationType(r[3]), r[4]) for r in rows]


def related(s: Snapshot, urns: Collection[str], hops: int) -> dict[str, set[str]]:
    """The relations around these entities up to a number of hops, each both ways.

    Raises `InvalidInput` where more than 10,000 entities are reached.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    seen = edge = set(urns)
    for _ in range(hops):
        keys = [hashed(urn) for urn in edge]
        rows = [row for out in (True, False) for row in fetch(s, _along, out, keys=keys)]
        for _, source, target, *_ in rows:
            found[source].add(target)
            found[target].add(source)
        edge = {urn for row in rows for urn in row[1:3]} - seen
        seen = seen | edge
        if len(seen) > MAX_EXPANDED:
            raise InvalidInput(
                f"More than {MAX_EXPANDED:,} entities are so near; give fewer hops.",
                path=("input", "hops"),
            )
    return found


@prepared
def _along(frame: Frame, out: bool) -> Executable:  # noqa: ARG001 (a relation is there for ever)
    keys, table = key_rows(), entity_relation
    end = table.c.source_hash if out else table.c.target_hash
    joined = drive(keys, (table, end == keys.c.value))
    columns: list[Any] = [table.c[name] for name in _COLUMNS]
    chosen = select(*columns).select_from(joined)
    return chosen.where(*scoped(table), table.c.related_at <= INSTANT)

"""Compaction: retires what is worn out, and merges what says the same into an axiom.

The plan is made of a snapshot; what a writer has changed since is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from retrograph.resolvers.scope import Scope
from retrograph.rules.compaction import Compaction, Kept, planning, worn_out
from retrograph.rules.reflection import EpisodeStatus
from retrograph.rules.utility import utility
from retrograph.storage.domain_indexes import DomainView
from retrograph.storage.episode_records import (
    Domain,
    EpisodeContent,
    EpisodeRecord,
    EpisodeState,
)
from retrograph.storage.episode_writes import add_uses, create_episodes, retire, set_state
from retrograph.storage.episodes import active_in, domains_of, episodes_by_id, vectors_of
from retrograph.storage.records import EventType
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write

T = TypeVar("T")

BY = "compaction"
"""Who decided, as episodes tell."""
_ROWS = 1_000
_BATCH = 200
"""Episodes to retire, or groups to merge, of one transaction."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What was done in a domain, or on a dry run would be.

    `merged` are ids in groups, `axioms` what they became, `skipped` how many were not compared.
    """

    domain: str
    retired: tuple[int, ...]
    merged: tuple[tuple[int, ...], ...]
    axioms: tuple[int, ...]
    skipped: int


def compact_fleet(scope: Scope, fleet_id: int, *, dry_run: bool = False) -> list[Compacted]:
    """Compacts every domain of a fleet; raises `NotFound`, `DomainTooLarge`."""
    slices = compacting(scope, fleet_id, dry_run=dry_run)
    return [each for each in slices if each is not None]


def compacting(scope: Scope, fleet_id: int, *, dry_run: bool = False) -> Iterator[Compacted | None]:
    """The same in slices, between which other work may be done: None until a domain is done.

    A slice reads or writes some episodes, or compares those about the same entities.
    """
    with scope.snapshot(fleet_id) as snapshot:
        domains = domains_of(snapshot)
    for domain in domains:
        now = scope.store.now()
        for plan in _planning(scope, fleet_id, domain, now):
            if plan is None:
                yield None
            elif dry_run:
                yield Compacted(domain.name, plan.retired, plan.merged, (), plan.skipped)
            else:
                yield from _carrying_out(scope, fleet_id, domain, plan, now)


def _planning(scope: Scope, fleet_id: int, domain: Domain, now: int) -> Iterator[Compaction | None]:
    kept: list[Kept] = []
    with scope.snapshot(fleet_id) as s:
        view = scope.store.indexes.view(s, domain)
        for some in _batches(active_in(s, domain.id), _ROWS):
            kept += _kept(s, view, some)
            yield None
    yield from planning(kept, view.index.vectors, now)


def _carrying_out(
    scope: Scope, fleet_id: int, domain: Domain, plan: Compaction, now: int
) -> Iterator[Compacted | None]:
    retired: list[int] = []
    merged: list[tuple[int, ...]] = []
    axioms: list[int] = []
    for ids in _batches(plan.retired, _BATCH):
        retired += scope.write(fleet_id, partial(_retire, ids=ids, now=now))
        yield None
    for groups in _batches(plan.merged, _BATCH):
        done = scope.write(fleet_id, partial(_merge_all, domain=domain, groups=groups))
        merged += (group for group, _ in done)
        axioms += (axiom for _, axiom in done)
        yield None
    yield Compacted(domain.name, tuple(retired), tuple(merged), tuple(axioms), plan.skipped)


def _kept(s: Snapshot, view: DomainView, ids: Sequence[int]) -> Iterator[Kept]:
    for record in episodes_by_id(s, ids).values():
        yield _as_kept(record, int(view.index.places_of([record.id])[0]))


def _as_kept(record: EpisodeRecord, place: int = 0) -> Kept:
    urns = frozenset(each.urn for each in record.content.entities)
    return Kept(record.id, place, record.stored_at, record.last_used_at, record.uses, urns)


def _active(write: Write, ids: Collection[int]) -> dict[int, EpisodeRecord]:
    found = episodes_by_id(write.snapshot, ids)
    return {id: e for id, e in found.items() if e.state.status is EpisodeStatus.ACTIVE}


def _retire(write: Write, ids: Sequence[int], now: int) -> list[int]:
    """Those that are worn out still."""
    active = _active(write, ids).items()
    worn = sorted(id for id, each in active if worn_out(_as_kept(each), now))
    retire(write, worn, BY, "unused for 60 days, and worth less than 0.25")
    return worn


def _merge_all(
    write: Write, domain: Domain, groups: Sequence[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], int]]:
    done = []
    known = _active(write, {id for group in groups for id in group})
    for group in groups:
        members = [known[id] for id in group if id in known]
        if len(members) > 1:
            ids = tuple(each.id for each in members)
            done.append((ids, _merge(write, domain, members)))
    return done


def _merge(write: Write, domain: Domain, members: Sequence[EpisodeRecord]) -> int:
    """The axiom says what the most useful says, and rests on all that any of them rests on."""
    best = max(members, key=lambda each: (_worth(each, write.instant), -each.id))
    content: EpisodeContent = replace(
        best.content,
        based_on=tuple(sorted({node for each in members for node in each.content.based_on})),
        members=tuple(each.id for each in members),
        node_id=None,
        execution=None,
        agent=None,
    )
    vector = vectors_of(write.snapshot, [best.id])[best.id]
    state = EpisodeState(EpisodeStatus.ACTIVE, BY, note=f"merged from {len(members)} episodes")
    (axiom,) = create_episodes(write, domain, [(content, vector)], state)
    gone = EpisodeState(EpisodeStatus.MERGED, BY, note="says the same as others", axiom_id=axiom)
    set_state(write, [each.id for each in members], gone)
    told = [str(each.id) for each in members]
    write.emit(EventType.EPISODES_MERGED, episodeIds=told, axiomId=str(axiom))
    used = [each.last_used_at for each in members if each.last_used_at is not None]
    if used:
        add_uses(write, {axiom: (sum(each.uses for each in members), max(used))})
    return axiom


def _worth(record: EpisodeRecord, now: int) -> float:
    return utility(record.stored_at, record.uses, now)


def _batches(items: Sequence[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while some := list(islice(remaining, size)):
        yield some

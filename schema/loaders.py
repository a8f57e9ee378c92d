"""Loaders: what the rows of a page ask for is fetched together, in one call for all of them.

A loader's key is an item and its group: the fleet, the instant and the arguments. Items of one
group are fetched by one use case in one hop to a thread. Whatever the instant, the past is final:
what was loaded once need not be loaded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from strawberry.dataloader import DataLoader

from retrograph.resolvers import checkpoints, edges, nodes, runs, tasks, walks
from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import ImpactKind
from retrograph.schema.shared import wait_for_shared
from retrograph.storage.checkpoint_records import CheckpointRecord
from retrograph.storage.checkpoints import NamedPlace
from retrograph.storage.id_set import Place
from retrograph.storage.records import (
    Direction,
    EdgeRecord,
    EvidenceRecord,
    ImpactRecord,
    NodeRecord,
    Page,
    ReachedRecord,
    RunRecord,
    StalenessRecord,
)
from retrograph.storage.task_records import DecisionRecord, TaskRecord

Item = TypeVar("Item", bound=Hashable)
Value = TypeVar("Value")
Group = tuple[Any, ...]
Call = Callable[..., Coroutine[Any, Any, Any]]


class GroupLoader(Generic[Item, Value]):
    """Loads items by groups; `use_case(scope, *group, items)` answers a mapping of the items."""

    def __init__(self, call: Call, use_case: Callable[..., Mapping[Any, Value]]) -> None:
        self._call = call
        self._use_case = use_case
        self._loader: DataLoader[tuple[Group, Item], Value | None] = DataLoader(self._load)

    async def find(self, item: Item, *group: Any) -> Value | None:
        """The item's value, None where the use case knows none.

        A field that fails cancels its siblings, but not what other fields wait for, too.
        """
        return await wait_for_shared(self._loader.load((group, item)))

    async def find_all(self, items: Collection[Item], *group: Any) -> Mapping[Item, Value]:
        """The values of those items that the use case knows, by one call; none is kept."""
        found: Mapping[Item, Value] = await self._call(self._use_case, *group, items)
        return found

    async def load(self, item: Item, *group: Any) -> Value:
        """The item's value; a `LookupError`, a fault of ours, where the use case knows none."""
        value = await self.find(item, *group)
        if value is None:
            raise LookupError(f"{self._use_case.__name__} knows no {item} in {group}")
        return value

    async def load_all(self, items: Sequence[Item], *group: Any) -> list[Value]:
        """The values of several items, in their order."""
        return list(await asyncio.gather(*(self.load(item, *group) for item in items)))

    async def _load(self, keys: list[tuple[Group, Item]]) -> list[Value | BaseException | None]:
        groups: dict[Group, list[Item]] = {}
        for group, item in keys:
            groups.setdefault(group, []).append(item)
        answers = await asyncio.gather(
            *(self._call(self._use_case, *group, items) for group, items in groups.items()),
            return_exceptions=True,
        )
        found = dict(zip(groups, answers, strict=True))
        return [_pick(found[group], item) for group, item in keys]


def _pick(answer: Any, item: Any) -> Any:
    return answer if isinstance(answer, BaseException) else answer.get(item)


def _edges_around(
    scope: Scope, fleet_id: int, at: int, outgoing: bool, *rest: Any
) -> Mapping[int, Page[EdgeRecord]]:
    types, first, after, ids = rest
    return edges.edges_around(scope, fleet_id, at, ids, outgoing, types, first, after)


def _reached(
    scope: Scope, fleet_id: int, at: int, direction: Direction, *rest: Any
) -> Mapping[int, Page[ReachedRecord]]:
    max_depth, first, after, ids = rest
    return walks.reached(scope, fleet_id, at, ids, direction, max_depth, first, after)


def _histories(
    scope: Scope, fleet_id: int, at: int, first: int, after: int | None, ids: list[int]
) -> Mapping[int, Page[NodeRecord]]:
    return nodes.history_of(scope, fleet_id, at, ids, first, after)


def _staleness(
    scope: Scope, fleet_id: int, at: int, records: list[NodeRecord]
) -> Mapping[NodeRecord, StalenessRecord | None]:
    found = nodes.staleness_of(scope, fleet_id, at, records)
    return {record: found[record.version_id] for record in records}


def _impacts(
    scope: Scope, fleet_id: int, at: int, kind: ImpactKind | None, *rest: Any
) -> Mapping[int, Page[ImpactRecord]]:
    first, after, ids = rest
    if kind is None:
        return runs.impacts_of(scope, fleet_id, at, ids, first, after)
    return {each: runs.list_impacts(scope, fleet_id, at, each, kind, first, after) for each in ids}


def _impact_paths(
    scope: Scope, fleet_id: int, at: int, limit: int, keys: list[tuple[int, int]]
) -> Mapping[tuple[int, int], list[int]]:
    return runs.impact_paths(scope, fleet_id, at, keys, limit)


class Loaders:
    """The loaders of one operation; their groups begin with the fleet and the instant.

    Those whose items are `Place`s, which have instants of their own, begin with the fleet alone.
    Each is made when it is first needed: most operations need few.
    """

    def __init__(self, call: Call) -> None:
        self._call = call

    @cached_property
    def nodes_then(self) -> GroupLoader[Place, NodeRecord]:
        return GroupLoader(self._call, nodes.load_nodes_then)

    @cached_property
    def edges(self) -> GroupLoader[int, EdgeRecord]:
        return GroupLoader(self._call, edges.load_edges)

    @cached_property
    def edges_around(self) -> GroupLoader[int, Page[EdgeRecord]]:
        return GroupLoader(self._call, _edges_around)

    @cached_property
    def reached(self) -> GroupLoader[int, Page[ReachedRecord]]:
        return GroupLoader(self._call, _reached)

    @cached_property
    def evidence(self) -> GroupLoader[int, list[EvidenceRecord]]:
        return GroupLoader(self._call, nodes.evidence_of)

    @cached_property
    def history(self) -> GroupLoader[int, Page[NodeRecord]]:
        return GroupLoader(self._call, _histories)

    @cached_property
    def staleness(self) -> GroupLoader[NodeRecord, StalenessRecord | None]:
        return GroupLoader(self._call, _staleness)

    @cached_property
    def runs(self) -> GroupLoader[int, RunRecord]:
        return GroupLoader(self._call, runs.load_runs)

    @cached_property
    def runs_then(self) -> GroupLoader[Place, RunRecord]:
        return GroupLoader(self._call, runs.load_runs_then)

    @cached_property
    def impacts(self) -> GroupLoader[int, Page[ImpactRecord]]:
        return GroupLoader(self._call, _impacts)

    @cached_property
    def impact_paths(self) -> GroupLoader[tuple[int, int], list[int]]:
        return GroupLoader(self._call, _impact_paths)

    @cached_property
    def known_nodes(self) -> GroupLoader[int, NodeRecord]:
        return GroupLoader(self._call, nodes.load_known)

    @cached_property
    def tasks(self) -> GroupLoader[int, TaskRecord]:
        return GroupLoader(self._call, tasks.load_tasks)

    @cached_property
    def tasks_then(self) -> GroupLoader[Place, TaskRecord]:
        return GroupLoader(self._call, tasks.load_tasks_then)

    @cached_property
    def checkpoints_then(self) -> GroupLoader[NamedPlace, CheckpointRecord]:
        return GroupLoader(self._call, checkpoints.load_checkpoints_then)

    @cached_property
    def open_tasks(self) -> GroupLoader[int, TaskRecord]:
        return GroupLoader(self._call, tasks.open_tasks_of)

    @cached_property
    def blockers(self) -> GroupLoader[TaskRecord, list[TaskRecord]]:
        return GroupLoader(self._call, tasks.blockers_of)

    @cached_property
    def standing_supporters(self) -> GroupLoader[int, list[int]]:
        return GroupLoader(self._call, tasks.standing_supporters_of)

    @cached_property
    def decisions(self) -> GroupLoader[RunRecord, DecisionRecord | None]:
        return GroupLoader(self._call, tasks.decisions_of_runs)

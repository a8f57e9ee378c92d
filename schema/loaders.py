"""Loaders: what the rows of a page ask for is fetched together, in one call for all of them.

A loader's key is an item and its group: the fleet, the instant and the arguments. Items of one
group are fetched by one use case in one hop to a thread. Whatever the instant, the past is final:
what was loaded once need not be loaded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from strawberry.dataloader import DataLoader

from retrograph.resolvers import edges, nodes, runs, tasks, walks
from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import ImpactKind
from retrograph.schema.shared import wait_for_shared
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
    """The loaders of one operation; their groups begin with the fleet and the instant."""

    def __init__(self, call: Call) -> None:
        self.nodes: GroupLoader[int, NodeRecord] = GroupLoader(call, nodes.load_nodes)
        self.known_nodes: GroupLoader[int, NodeRecord] = GroupLoader(call, nodes.load_known)
        self.edges: GroupLoader[int, EdgeRecord] = GroupLoader(call, edges.load_edges)
        self.edges_around: GroupLoader[int, Page[EdgeRecord]] = GroupLoader(call, _edges_around)
        self.reached: GroupLoader[int, Page[ReachedRecord]] = GroupLoader(call, _reached)
        self.evidence: GroupLoader[int, list[EvidenceRecord]] = GroupLoader(call, nodes.evidence_of)
        self.history: GroupLoader[int, Page[NodeRecord]] = GroupLoader(call, _histories)
        self.staleness: GroupLoader[NodeRecord, StalenessRecord | None] = GroupLoader(
            call, _staleness
        )
        self.runs: GroupLoader[int, RunRecord] = GroupLoader(call, runs.load_runs)
        self.impacts: GroupLoader[int, Page[ImpactRecord]] = GroupLoader(call, _impacts)
        self.impact_paths: GroupLoader[tuple[int, int], list[int]] = GroupLoader(
            call, _impact_paths
        )
        self.tasks: GroupLoader[int, TaskRecord] = GroupLoader(call, tasks.load_tasks)
        self.open_tasks: GroupLoader[int, TaskRecord] = GroupLoader(call, tasks.open_tasks_of)
        self.blockers: GroupLoader[TaskRecord, list[TaskRecord]] = GroupLoader(
            call, tasks.blockers_of
        )
        self.standing_supporters: GroupLoader[int, list[int]] = GroupLoader(
            call, tasks.standing_supporters_of
        )
        self.decisions: GroupLoader[RunRecord, DecisionRecord | None] = GroupLoader(
            call, tasks.decisions_of_runs
        )

"""Writes what the plans of an import file's fleets say, with ids that ascend in file order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from retrograph.resolvers.importing.batch import Batch
from retrograph.resolvers.importing.plan import FleetPlan
from retrograph.resolvers.importing.stream import Progress
from retrograph.rules.edge_type import PROPAGATING
from retrograph.storage.imports import (
    GivenState,
    LoadedNode,
    load_edges,
    load_evidence,
    load_nodes,
    load_notes,
    load_states,
)
from retrograph.storage.node_writes import forget_confidences, update_contents
from retrograph.storage.task_records import UNSURE, Opening
from retrograph.storage.task_writes import settle, stir
from retrograph.storage.write import Write, take_ids

T = TypeVar("T")

_STEP = 10_000
"""Rows between two words of progress."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows a load made and changed."""

    nodes: int = 0
    nodes_changed: int = 0
    edges: int = 0
    evidence: int = 0
    evidence_changed: int = 0


@dataclass(frozen=True, slots=True)
class _FirstIds:
    """The id of the file's first node, edge and evidence: later ones follow by their numbers."""

    node: int
    edge: int
    evidence: int


def write_plans(
    batch: Batch, plans: Sequence[tuple[Write, FleetPlan]], progress: Progress
) -> Loaded:
    """Writes all plans and says how much that was.  What is stored already leaves its id unused."""
    told = _Told(progress, sum(_size(plan) for _, plan in plans))
    loaded = _count([plan for _, plan in plans])
    first = _FirstIds(
        _first_id(plans, "node", batch.nodes, loaded.nodes),
        _first_id(plans, "edge", batch.edges, loaded.edges),
        _first_id(plans, "evidence", batch.evidence, loaded.evidence),
    )
    for write, plan in plans:
        if _size(plan):
            _write(write, plan, first, told)
    return loaded


def _write(write: Write, plan: FleetPlan, first: _FirstIds, told: _Told) -> None:
    ids = plan.ids | {node.place: node.id or first.node + node.ordinal for node in plan.nodes}
    nodes = [
        LoadedNode(ids[n.place], n.key, n.kind, n.state, n.content, n.id is not None)
        for n in plan.nodes
    ]
    load_nodes(write, list(told.each(nodes)))
    load_states(write, plan.states)
    update_contents(write, plan.contents)
    forget_confidences(write, plan.rebased)
    load_edges(
        write,
        (
            (first.edge + number, (ids[source], ids[target], kind))
            for number, (source, target, kind) in told.each(plan.edges)
        ),
    )
    load_evidence(
        write,
        (
            (first.evidence + number, ids[place], uri, note)
            for number, place, uri, note in told.each(plan.evidence)
        ),
    )
    load_notes(write, plan.notes)
    write.forget_graph()
    _settle(write, {node.id: node.state for node in nodes}, plan.states)
    new = [(ids[s], ids[t]) for _, (s, t, kind) in plan.edges if kind in PROPAGATING]
    stir(write, new=new)


def _settle(
    write: Write, made: Mapping[int, GivenState], restated: Mapping[int, GivenState]
) -> None:
    """Opens tasks of what the file leaves unsure, and ends those that it leaves without need."""
    unsure = [
        Opening(node_id)
        for node_id, state in (*made.items(), *restated.items())
        if state.validity in UNSURE and not state.pinned
    ]
    settle(write, [*restated, *(each.node_id for each in unsure)], unsure)


def _first_id(
    plans: Sequence[tuple[Write, FleetPlan]], sequence: str, numbers: int, needed: int
) -> int:
    """Draws an id for each number of the file, if any is needed; sequences serve all fleets."""
    return take_ids(plans[0][0], sequence, numbers)[0] if needed else 0


def _count(plans: Sequence[FleetPlan]) -> Loaded:
    return Loaded(
        nodes=sum(len(plan.nodes) for plan in plans),
        nodes_changed=sum(len(plan.states.keys() | plan.contents.keys()) for plan in plans),
        edges=sum(len(plan.edges) for plan in plans),
        evidence=sum(len(plan.evidence) for plan in plans),
        evidence_changed=sum(len(plan.notes) for plan in plans),
    )


def _size(plan: FleetPlan) -> int:
    changed = len(plan.states) + len(plan.contents) + len(plan.notes)
    return len(plan.nodes) + len(plan.edges) + len(plan.evidence) + changed


class _Told:
    """Counts rows on their way to the database, and says how many of all there are."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def each(self, rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            if self._done % _STEP == 0:
                self._progress("Writing", self._done, self._total)
            self._done += 1
            yield row

"""Compares a fleet's part of an import file with what is stored: what there is to write."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrograph.resolvers.importing.batch import Batch, EdgePlace, FleetBatch, GivenNode
from retrograph.resolvers.importing.nodes import (
    content_of,
    kind_of,
    state_of,
    stored_content,
    stored_state,
)
from retrograph.resolvers.importing.runs import own_runs
from retrograph.rules.errors import ImportRejected, InvalidInput
from retrograph.storage.evidence import evidence_of
from retrograph.storage.imports import EdgeRow, GivenState, edges_out_of
from retrograph.storage.node_writes import Content
from retrograph.storage.nodes import departed_nodes, find_nodes, nodes_by_id
from retrograph.storage.records import NodeKind, NodeRecord, NodeRef
from retrograph.storage.runs import runs_by_id
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to make: its number among the file's nodes, and its place.

    `id` is that of a node which had left the present, and comes back by its key.
    """

    ordinal: int
    place: int
    key: str
    kind: NodeKind
    state: GivenState
    content: Content
    id: int | None = None


@dataclass(slots=True)
class FleetPlan:
    """What one fleet's part of a file changes.

    `ids` holds the stored nodes' ids by place.  Edges and evidence are named by place, with their
    numbers in the file, until the new nodes have ids.
    """

    ids: dict[int, int] = field(default_factory=dict)
    nodes: list[NewNode] = field(default_factory=list)
    states: dict[int, GivenState] = field(default_factory=dict)
    contents: dict[int, Content] = field(default_factory=dict)
    rebased: list[int] = field(default_factory=list)
    edges: list[tuple[int, EdgePlace]] = field(default_factory=list)
    evidence: list[tuple[int, int, str, str | None]] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)


def plan_fleet(
    batch: Batch, fleet_id: int, stored: dict[str, NodeRecord], write: Write
) -> FleetPlan:
    """The plan of one fleet; `stored` are the nodes at present by key, of all that are named.

    Raises `ImportRejected` for a line that doesn't fit what is stored.
    """
    part = batch.fleet(fleet_id)
    _check_keys(batch, fleet_id, stored)
    plan = FleetPlan()
    keys = [key for key, place in part.keys.items() if place in part.nodes and key not in stored]
    _plan_nodes(plan, part, stored, departed_nodes(write.snapshot, keys))
    own = own_runs(batch, fleet_id, stored)
    if own and plan.states:
        _leave_own_runs(plan, own, stored, write)
    _plan_edges(plan, part, write)
    _plan_evidence(plan, part, write)
    return plan


def stored_nodes(batch: Batch, fleet_id: int, write: Write) -> dict[str, NodeRecord]:
    """The nodes at present by key, of all that the file names in a fleet."""
    named = {run.by.key: None for run in batch.runs if run.fleet_id == fleet_id and run.by}
    named |= {run.key: None for run in batch.runs if run.fleet_id == fleet_id}
    refs = [NodeRef(key=key) for key in (batch.fleet(fleet_id).keys | named)]
    found = find_nodes(write.snapshot, refs)
    nodes = nodes_by_id(write.snapshot, list(found.values()))
    return {ref.key: nodes[node_id] for ref, node_id in found.items() if ref.key is not None}


def _check_keys(batch: Batch, fleet_id: int, stored: dict[str, NodeRecord]) -> None:
    """Raises `ImportRejected` where an edge or evidence names an unknown node."""
    part = batch.fleet(fleet_id)
    for key, place in part.keys.items():
        if place not in part.nodes and key not in stored:
            raise batch.no_node(part.lines[place], fleet_id, key)


def _plan_nodes(
    plan: FleetPlan,
    part: FleetBatch,
    stored: dict[str, NodeRecord],
    departed: dict[str, tuple[int, NodeKind]],
) -> None:
    for key, place in part.keys.items():
        known, given = stored.get(key), part.nodes.get(place)
        if known is not None:
            plan.ids[place] = known.id
        if given is not None:
            try:
                _plan_node(plan, key, place, given, known, departed.get(key))
            except InvalidInput as error:
                reason = ".".join(("node", *error.path))
                raise ImportRejected(given.line, f"{reason}: {error.message}") from None
    plan.nodes.sort(key=lambda node: node.ordinal)


def _plan_node(
    plan: FleetPlan,
    key: str,
    place: int,
    given: GivenNode,
    known: NodeRecord | None,
    departed: tuple[int, NodeKind] | None,
) -> None:
    back, departed_kind = (None, None) if known or departed is None else departed
    kind = kind_of(given.fields, departed_kind if known is None else known.kind)
    state, content = state_of(given.fields, known), content_of(given.fields, known)
    if known is None:
        plan.nodes.append(NewNode(given.ordinal, place, key, kind, state, content, back))
        return
    if state != stored_state(known):
        plan.states[known.id] = state
    if content != stored_content(known):
        plan.contents[known.id] = content
        if known.confidence != known.base_confidence != content.base_confidence:
            plan.rebased.append(known.id)


def _leave_own_runs(
    plan: FleetPlan,
    own: set[tuple[int, int, str]],
    stored: dict[str, NodeRecord],
    write: Write,
) -> None:
    """Leaves alone what the file's own runs have made, on an earlier import, of given states."""
    felled = {n.id: n.run_id for n in stored.values() if n.id in plan.states and n.run_id}
    runs = runs_by_id(write.snapshot, set(felled.values()))
    for node_id, run_id in felled.items():
        run = runs[run_id]
        if (run.root_id, run.effect, run.reason) in own:
            del plan.states[node_id]


def _plan_edges(plan: FleetPlan, part: FleetBatch, write: Write) -> None:
    sources = {plan.ids[place] for place, _, _ in part.edges if place in plan.ids}
    known = edges_out_of(write, sources) if sources else set()
    plan.edges = [
        (ordinal, edge)
        for edge, ordinal in part.edges.items()
        if not known or _with_ids(plan.ids, edge) not in known
    ]


def _with_ids(ids: dict[int, int], edge: EdgePlace) -> EdgeRow | None:
    source, target, kind = edge
    return (ids[source], ids[target], kind) if source in ids and target in ids else None


def _plan_evidence(plan: FleetPlan, part: FleetBatch, write: Write) -> None:
    nodes = {plan.ids[place] for place, _ in part.evidence if place in plan.ids}
    found = evidence_of(write.snapshot, nodes) if nodes else {}
    known = {(each.node_id, each.uri): each for rows in found.values() for each in rows}
    for (place, uri), given in part.evidence.items():
        stored = known.get((plan.ids[place], uri)) if place in plan.ids else None
        if stored is None:
            plan.evidence.append((given.ordinal, place, uri, given.note))
        elif given.note is not None and given.note != stored.note:
            plan.notes[stored.id] = given.note

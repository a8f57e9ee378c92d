"""A fleet as tests talk of it: nodes by key, edges as text, answers as plain values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from retrograph.resolvers.inputs import EdgeInput, Invalidation, NodeInput, OnChange
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.resolvers.outcomes import NodesLinked, NodesPut
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.limits import MAX_FIRST
from retrograph.rules.validity import Validity
from retrograph.storage.filters import NodeFilter, RunFilter, TaskFilter
from retrograph.storage.impacts import impact_paths, page_impacts
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.outbox import page_events
from retrograph.storage.records import EventRecord, NodeKind, NodeRecord, NodeRef, RunRecord
from retrograph.storage.runs import page_runs
from retrograph.storage.store import Store
from retrograph.storage.task_records import TaskRecord
from retrograph.storage.tasks import page_tasks
from tests.planting import new_node, plant_nodes

NEW = NodeKind.ASSERTION


def ref(key: str) -> NodeRef:
    return NodeRef(key=key)


def edge(text: str) -> EdgeInput:
    """`"a REQUIRES b"`: b depends on a."""
    source, kind, target = text.split()
    return EdgeInput(ref(source), ref(target), EdgeType[kind])


@dataclass(frozen=True, slots=True)
class Memory:
    """One fleet of a caller."""

    scope: Scope
    fleet: int = 1

    @property
    def store(self) -> Store:
        return self.scope.store

    def plant(
        self, *keys: str, validity: Validity = Validity.CURRENTLY_VALID, pinned: bool = False
    ) -> list[int]:
        nodes = [new_node(key, validity, pinned=pinned) for key in keys]
        return list(plant_nodes(self.store, nodes, fleet=self.fleet))

    def put(self, *inputs: NodeInput, on_change: OnChange = OnChange.PROPAGATE) -> NodesPut:
        return put_nodes(self.scope, self.fleet, inputs, on_change)

    def link(self, *edges: str) -> NodesLinked:
        return link_nodes(self.scope, self.fleet, [edge(text) for text in edges])

    def fell(self, key: str, effect: Validity = Validity.INVALID, **more: Any) -> RunRecord:
        """Invalidates; `more` are other fields of the request."""
        request = Invalidation(ref(key), more.pop("reason", "wrong"), effect, **more)
        return invalidate(self.scope, self.fleet, request)

    def nodes(self, at: int | None = None) -> dict[str, NodeRecord]:
        with self.scope.snapshot(self.fleet, at) as snapshot:
            page = page_nodes(snapshot, NodeFilter(), MAX_FIRST, None)
        assert not page.has_next
        return {node.key or str(node.id): node for node in page.rows}

    def node(self, key: str, at: int | None = None) -> NodeRecord:
        return self.nodes(at)[key]

    def states(self, at: int | None = None) -> dict[str, str]:
        """Stored validities by key, as names."""
        return {key: node.validity.name for key, node in self.nodes(at).items()}

    def sick(self, at: int | None = None) -> dict[str, str]:
        """Those of the states that are not CURRENTLY_VALID."""
        healthy = Validity.CURRENTLY_VALID.name
        return {key: state for key, state in self.states(at).items() if state != healthy}

    def impacts(self, run: RunRecord) -> list[dict[str, Any]]:
        """Each impact with the keys of its path."""
        names = {node.id: key for key, node in self.nodes().items()}
        with self.scope.snapshot(self.fleet) as snapshot:
            rows = page_impacts(snapshot, run.id, None, MAX_FIRST, None).rows
            paths = impact_paths(snapshot, [(run.id, row.ordinal) for row in rows], MAX_FIRST)
        return [
            {
                "node": names[row.node_id],
                "kind": row.kind.name,
                "from": row.before.name,
                "to": row.after.name,
                "depth": row.depth,
                "path": [names[node_id] for node_id in paths[run.id, row.ordinal]],
            }
            for row in rows
        ]

    def fallen(self, run: RunRecord) -> dict[str, tuple[str, Sequence[str]]]:
        """What each impact made of its node, and the path to it."""
        return {each["node"]: (each["to"], each["path"]) for each in self.impacts(run)}

    def runs(self) -> list[RunRecord]:
        """Newest first."""
        with self.scope.snapshot(self.fleet) as snapshot:
            return page_runs(snapshot, RunFilter(), MAX_FIRST, None).rows

    def run(self, run: RunRecord, at: int | None = None) -> RunRecord:
        """The run as it is seen now, or at an instant."""
        with self.scope.snapshot(self.fleet, at) as snapshot:
            page = page_runs(snapshot, RunFilter(), MAX_FIRST, None)
        return next(each for each in page.rows if each.id == run.id)

    def tasks(self) -> list[TaskRecord]:
        """All tasks, open and closed, by id."""
        with self.scope.snapshot(self.fleet) as snapshot:
            return page_tasks(snapshot, TaskFilter(), MAX_FIRST, None).rows

    def events(self, at: Collection[int] = ()) -> list[EventRecord]:
        """All events, or those of some instants."""
        with self.scope.snapshot(self.fleet) as snapshot:
            rows = page_events(snapshot, None, None, MAX_FIRST).rows
        return [event for event in rows if not at or event.at in at]

    def told(self, at: int) -> list[tuple[str, str | None]]:
        """The events of an instant, but those of work: their types and the keys of their nodes."""
        return [each for each in self._told(at) if not each[0].startswith("REVALIDATION_")]

    def work_told(self, at: int) -> list[tuple[str, str | None]]:
        """The events of work: what became ready, was put off or was cancelled."""
        return [each for each in self._told(at) if each[0].startswith("REVALIDATION_")]

    def _told(self, at: int) -> list[tuple[str, str | None]]:
        names = {node.id: key for key, node in self.nodes().items()}
        return [
            (event.type.name, None if event.node_id is None else names[event.node_id])
            for event in self.events([at])
        ]

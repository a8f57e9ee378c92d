"""One fleet's side of a write transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

import orjson

from retrograph import tracing
from retrograph.rules.cascade import Cascade, ImpactKind, Seeds
from retrograph.rules.graph import Graph
from retrograph.rules.limits import MAX_IMPACTS
from retrograph.storage.graph_cache import Delta, EdgeRow, NodeRow, WarmGraph
from retrograph.storage.prepared import enter
from retrograph.storage.records import EventType
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import outbox
from retrograph.storage.tallies import CascadeCost
from retrograph.storage.verdicts import Verdict


@dataclass(slots=True)
class Write:
    """A fleet in a write transaction; everything written takes the snapshot's instant.

    `snapshot` reads what this transaction has written so far.  `warm` is the fleet's graph before
    the write, where one is at hand.
    """

    snapshot: Snapshot
    warm: WarmGraph | None
    delta: Delta = field(default_factory=Delta)
    next_event: int = 0
    cascades: list[CascadeCost] = field(default_factory=list)

    @property
    def instant(self) -> int:
        """The instant of this write (UTC microseconds)."""
        return self.snapshot.instant

    def graph(self) -> Graph:
        """The fleet's graph as this transaction has made it so far."""
        if self.delta.graph is None:
            self.delta.graph = self._graph_so_far()
        return self.delta.graph

    def cascade(self, seeds: Seeds) -> Verdict:
        """What falls with `seeds`; decided where the engine does it best, by one law."""
        began = perf_counter()
        with tracing.part("cascade") as span:
            verdict = self.snapshot.profile.cascade(self, seeds, MAX_IMPACTS)
            span.tell(retrograph__impacts=len(verdict))
        self.cascades.append((len(verdict), perf_counter() - began))
        return verdict

    def note(
        self,
        *,
        nodes: Iterable[NodeRow] = (),
        added: Iterable[EdgeRow] = (),
        removed: Iterable[EdgeRow] = (),
    ) -> None:
        """Tells what was written, so that the graph follows; `nodes` are upserts of states."""
        nodes, added, removed = list(nodes), list(added), list(removed)
        if self.delta.graph is not None:
            self.delta.graph = self.delta.graph.changed(
                nodes=nodes, edges_added=added, edges_removed=removed
            )
            return
        self.delta.nodes += nodes
        self.delta.added += added
        self.delta.removed += removed

    def note_cascade(self, cascade: Cascade) -> None:
        """Tells what a cascade did to the states."""
        columns = (cascade.nodes, cascade.stored_after, cascade.after, cascade.kinds)
        # Plain numbers: comparing with a member of an enum takes several times as long.
        pinned, reevaluate = int(ImpactKind.PINNED), int(ImpactKind.REEVALUATE)
        self.note(
            nodes=[
                (node, stored, projected, kind == pinned)
                for node, stored, projected, kind in zip(*columns, strict=True)
                if kind != reevaluate
            ]
        )

    def forget_graph(self) -> None:
        """Drops the warm graph, where so much was written that following it would cost more."""
        self.warm, self.delta = None, Delta()

    def emit(
        self,
        kind: EventType,
        *,
        node_id: int | None = None,
        run_id: int | None = None,
        run_ordinal: int | None = None,
        task_id: int | None = None,
        **more: object,
    ) -> None:
        """Adds an event to the outbox, after those that this write has added before.

        The task and `more` are told in its detail.
        """
        told = more if task_id is None else {"taskId": str(task_id), **more}
        row = {
            "tenant_id": self.snapshot.tenant_id,
            "fleet_id": self.snapshot.fleet_id,
            "at": self.instant,
            "ordinal": self.next_event,
            "type": int(kind),
            "node_id": node_id,
            "run_id": run_id,
            "run_ordinal": run_ordinal,
            "detail": orjson.dumps(told).decode() if told else None,
        }
        enter(self.snapshot, outbox, row)
        self.next_event += 1

    def warm_after(self) -> WarmGraph | None:
        """The fleet's graph after this write, for the cache."""
        if self.delta.graph is not None:
            return WarmGraph(self.instant, self.delta.graph)
        return None if self.warm is None else self.warm.after(self.instant, self.delta)

    def _graph_so_far(self) -> Graph:
        if self.warm is None:
            return self.snapshot.profile.load_graph(self.snapshot)
        return self.warm.after(self.instant, self.delta).graph()


def take_ids(write: Write, name: str, count: int) -> range:
    """The next `count` ids of a sequence (`node`, `edge`, `task` and so on), ascending."""
    snapshot = write.snapshot
    first = snapshot.profile.take_ids(snapshot.connection, name, count)
    return range(first, first + count)

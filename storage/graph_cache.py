"""Warm graphs, each true at one instant of its fleet's clock and used at no other.

The clock is read inside the transaction that uses the graph, so another process's commit is seen
as a clock that moved, and the graph is loaded anew.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

from retrograph.rules.graph import Graph

FleetKey = tuple[int, int]
NodeRow = tuple[int, int, int, int]
EdgeRow = tuple[int, int, int]

DEFAULT_ELEMENTS = 10_000_000
"""How many nodes and edges all warm graphs together may hold (about 40 bytes each)."""
_LAZY_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class WarmGraph:
    """A graph and the changes that are still to be worked into it; `clock` is when it is true."""

    clock: int
    base: Graph
    nodes: tuple[NodeRow, ...] = ()
    added: tuple[EdgeRow, ...] = ()
    removed: tuple[EdgeRow, ...] = ()

    def graph(self) -> Graph:
        """The graph with all changes in it."""
        if not (self.nodes or self.added or self.removed):
            return self.base
        return self.base.changed(
            nodes=self.nodes, edges_added=self.added, edges_removed=self.removed
        )

    def after(self, clock: int, delta: Delta) -> WarmGraph:
        """The graph at a later clock, after `delta`."""
        if delta.graph is not None:
            return WarmGraph(clock, delta.graph)
        if not delta:
            return replace(self, clock=clock)
        nodes, added, removed = tuple(delta.nodes), tuple(delta.added), tuple(delta.removed)
        mixed = (self.removed and added) or (self.added and removed)
        if mixed or len(self.nodes) + len(self.added) + len(self.removed) > _LAZY_ROWS:
            return WarmGraph(clock, self.graph(), nodes, added, removed)
        return WarmGraph(
            clock, self.base, self.nodes + nodes, self.added + added, self.removed + removed
        )


@dataclass(slots=True)
class Delta:
    """What one write has changed; `graph` is the whole graph after it, where it was needed."""

    graph: Graph | None = None
    nodes: list[NodeRow] = field(default_factory=list)
    added: list[EdgeRow] = field(default_factory=list)
    removed: list[EdgeRow] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.graph is not None or bool(self.nodes or self.added or self.removed)


class GraphCache:
    """The least recently used graphs leave when there are too many elements."""

    def __init__(self, most: int = DEFAULT_ELEMENTS) -> None:
        self._most = most
        self._warm: OrderedDict[FleetKey, WarmGraph] = OrderedDict()
        self._lock = Lock()
        self.requests = {"hit": 0, "miss": 0}

    def get(self, key: FleetKey, clock: int) -> WarmGraph | None:
        """The fleet's graph, if it is true at `clock`."""
        with self._lock:
            warm = self._warm.get(key)
            if warm is None or warm.clock != clock:
                self.requests["miss"] += 1
                return None
            self.requests["hit"] += 1
            self._warm.move_to_end(key)
            return warm

    def put(self, key: FleetKey, warm: WarmGraph | None) -> None:
        """Keeps a graph, unless a later one is there; None forgets the fleet's graph."""
        with self._lock:
            if warm is None:
                self._warm.pop(key, None)
                return
            known = self._warm.get(key)
            if known is None or known.clock <= warm.clock:
                self._warm[key] = warm
                self._warm.move_to_end(key)
                self._shrink()

    def _shrink(self) -> None:
        while len(self._warm) > 1 and sum(map(_size, self._warm.values())) > self._most:
            self._warm.popitem(last=False)


def _size(warm: WarmGraph) -> int:
    return warm.base.node_count + warm.base.edge_count

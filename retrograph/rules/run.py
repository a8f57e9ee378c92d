"""A cascade while it runs: what has risen so far, and why."""

from __future__ import annotations

import numpy as np

from retrograph.rules.arrays import Ints
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.graph import Graph
from retrograph.rules.structure import Structure
from retrograph.rules.support import Support


class Run:
    """The state that rounds in plain Python and rounds on columns share; nodes by place.

    `severity` is that of the round before, `before` that before the run: a node was raised where
    they differ. `cause` tells for a raised node who raised it last: a node that had risen by
    then, the node itself (a root), or `~source` for a source that had not risen. `offers` are
    effects that sources which have not risen pass in the first round: target -> (effect, cause).
    `frozen` nodes never rise. No more than `limit` nodes may rise. Rounds of at most `most` nodes
    and edges go node by node, larger ones as columns.
    """

    __slots__ = (
        "before", "cause", "frozen", "graph", "limit", "most", "narrow_risen",
        "offers", "risen_count", "scratch", "severity", "structure", "support_started",
        "wide_risen",
    )  # fmt: skip

    def __init__(self, graph: Graph, frozen: frozenset[int], limit: int, most: int) -> None:
        count = graph.node_count
        self.graph = graph
        self.structure: Structure = graph.structure
        self.before: bytes = graph.severity
        self.severity = bytearray(graph.severity)
        self.cause: Ints = np.empty(count, np.int64)
        self.scratch: Ints = np.empty(count, np.int64)
        self.offers: dict[int, tuple[int, int]] = {}
        self.frozen = frozen
        self.limit = limit
        self.most = most
        self.narrow_risen: list[int] = []
        self.wide_risen: list[Ints] = []
        self.risen_count = 0
        self.support_started: Support | None = None

    def support(self) -> Support:
        """Return the state of `SUPPORTED_BY` edges: not made before a run meets such an edge."""
        if self.support_started is None:
            self.support_started = Support(self.graph, self.severity, self.most, self.scratch)
        return self.support_started

    def count_risen(self, count: int) -> None:
        """Count nodes that rose for the first time; raises `RunTooLarge` beyond the limit."""
        self.risen_count += count
        if self.risen_count > self.limit:
            raise RunTooLarge(self.limit)

    def risen(self) -> Ints:
        """Return all nodes that rose, ascending."""
        narrow = np.array(self.narrow_risen, np.int64)
        return np.sort(np.concatenate((narrow, *self.wide_risen)))


def smaller(cause: int, other: int) -> bool:
    """Say whether a cause names a smaller source than another, whether or not they had risen."""
    return max(cause, ~cause) < max(other, ~other)

"""The `SUPPORTED_BY` edges of a cascade while it runs."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from retrograph.rules.arrays import Ints
from retrograph.rules.standing_change import StandingChange
from retrograph.rules.validity import FALLEN

if TYPE_CHECKING:
    from retrograph.rules.graph import Graph


class Support:
    """What a target of `SUPPORTED_BY` edges is judged by; nodes by place.

    `raised` is the worst severity, at most 2, among the supporters of a target that were raised
    or that pass their severity on unraised; the latter are marked in `passing`, by position
    among the supporters. `judged` and `judged_wide` collect the targets to judge in the next
    round: those whose supporters rose or lost their standing.
    """

    __slots__ = (
        "before", "change", "judged", "judged_wide", "passing", "raised", "severity", "standing",
        "structure",
    )  # fmt: skip

    def __init__(self, graph: Graph, severity: bytearray, most: int, scratch: Ints) -> None:
        self.structure = graph.structure
        self.before = graph.severity
        self.severity = severity
        self.standing = graph.standing().copy()
        self.change = StandingChange(self.structure, self.standing, severity, most, scratch)
        self.raised = bytearray(graph.node_count)
        self.passing: bytearray | None = None
        self.judged: list[int] = []
        self.judged_wide: list[Ints] = []

    def pass_on(self, source: int, target: int) -> None:
        """Let an unhealthy supporter pass its severity on although the run did not raise it."""
        supporters = self.structure.supporters
        start, end = int(supporters.start[target]), int(supporters.start[target + 1])
        position = bisect_left(supporters.node.data, source, start, end)
        if self.passing is None:
            self.passing = bytearray(len(supporters.node))
        self.passing[position] = 1
        self.raised[target] = max(self.raised[target], min(self.severity[source], FALLEN))
        self.judged.append(target)

    def take_judged(self) -> set[int]:
        """Return the targets to judge, and forget them."""
        targets = set(self.judged)
        self.judged.clear()
        if self.judged_wide:
            targets.update(np.concatenate(self.judged_wide).tolist())
            self.judged_wide.clear()
        return targets

    def take_judged_wide(self) -> Ints:
        """Return the targets to judge, some of them repeatedly, and forget them."""
        targets = np.concatenate((np.array(self.judged, np.int64), *self.judged_wide))
        self.judged.clear()
        self.judged_wide.clear()
        return targets

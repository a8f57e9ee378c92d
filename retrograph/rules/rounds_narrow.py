"""Rounds of a cascade node by node: the faster way while few nodes rise at a time."""

from __future__ import annotations

from retrograph.rules.edge_type import EFFECT
from retrograph.rules.run import Run, smaller
from retrograph.rules.support_narrow import NarrowSupport


class NarrowRounds:
    """Works on views of the same arrays as `WideRounds`, by the same laws."""

    def __init__(self, run: Run) -> None:
        dependents = run.structure.dependents
        self._run = run
        self._start = dependents.start.data
        self._target = dependents.node.data
        self._ceiling = run.structure.ceilings.data
        self._supported = run.structure.supported.start.data
        self._fan_out = run.structure.fan_out.data
        self._cause = run.cause.data
        self._support: NarrowSupport | None = None

    def fits(self, frontier: list[int]) -> bool:
        """Say whether the nodes and the edges out of them are few enough for this way."""
        left = self._run.most - len(frontier)
        if left < 0:
            return False
        fan_out = self._fan_out
        for node in frontier:
            left -= fan_out[node + 1] - fan_out[node]
        return left >= 0

    def rounds(self, frontier: list[int]) -> list[int]:
        """Judge the dependents of a frontier, and so on; one round at least.

        A frontier is the nodes that rose last, ascending. Returns the first that is
        too wide, or an empty one at the fixpoint.
        """
        while True:
            pending = self._judge(frontier)
            if self._run.offers:
                self._judge_offers(pending)
            if self._run.support_started is not None:
                self._supports().judge(pending, self._cause)
            frontier = self.commit(pending)
            if not frontier or not self.fits(frontier):
                return frontier

    def _judge(self, frontier: list[int]) -> dict[int, int]:
        """Return what rises by the edges out of the frontier: target -> severity.

        The frontier is ascending, so the first source of an effect is its cause.
        """
        start, targets, ceilings = self._start, self._target, self._ceiling
        severities, cause = self._run.severity, self._cause
        pending: dict[int, int] = {}
        for node in frontier:
            effects = EFFECT[severities[node]]
            for edge in range(start[node], start[node + 1]):
                effect = effects[ceilings[edge]]
                target = targets[edge]
                if effect > severities[target] and effect > pending.get(target, 0):
                    pending[target] = effect
                    cause[target] = node
        return pending

    def _judge_offers(self, pending: dict[int, int]) -> None:
        severities, causes = self._run.severity, self._cause
        for target, (effect, cause) in self._run.offers.items():
            known = max(severities[target], pending.get(target, 0))
            tie = effect == pending.get(target) and smaller(cause, causes[target])
            if effect > known or tie:
                pending[target] = effect
                causes[target] = cause
        self._run.offers = {}

    def commit(self, pending: dict[int, int]) -> list[int]:
        """Raise nodes to severities; return them, ascending."""
        run, supported = self._run, self._supported
        severities, before, risen = run.severity, run.before, run.narrow_risen
        if run.frozen:
            for node in pending.keys() & run.frozen:
                del pending[node]
        rising = sorted(pending)
        known = len(risen)
        supporters = []
        for node in rising:
            old = severities[node]
            if old == before[node]:
                risen.append(node)
            severities[node] = pending[node]
            if supported[node] != supported[node + 1]:
                supporters.append((node, old))
        if supporters:
            self._supports().hear(supporters)
        run.count_risen(len(risen) - known)
        return rising

    def _supports(self) -> NarrowSupport:
        if self._support is None:
            self._support = NarrowSupport(self._run.support())
        return self._support

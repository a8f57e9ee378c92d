"""Rounds of a cascade as columns: the faster way while many nodes rise at a time."""

from __future__ import annotations

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets
from retrograph.rules.run import Run
from retrograph.rules.support_wide import WideSupport


class WideRounds:
    """Works on the same arrays as `NarrowRounds`, by the same laws."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._severity: Octets = np.frombuffer(run.severity, np.uint8)
        self._before: Octets = np.frombuffer(run.before, np.uint8)
        self._pending: Octets = np.zeros(len(run.severity), np.uint8)
        self._frozen: Flags = np.zeros(len(run.severity) if run.frozen else 0, np.bool_)
        self._frozen[list(run.frozen)] = True
        self._support: WideSupport | None = None

    def rounds(self, frontier: list[int]) -> list[int]:
        """Judge the dependents of a frontier, and so on, while they are many; one round at least.

        A frontier is the nodes that rose last, ascending. Returns the first that is narrow
        enough to leave to the other way, or an empty one at the fixpoint.
        """
        risen = np.array(frontier, np.int64)
        while True:
            found = [self._judge(risen)]
            if self._run.offers:
                found.append(self._judge_offers())
            if self._run.support_started is not None:
                found.append(self._add(*self._supports().judge(self._pending)))
            risen = self._commit(np.concatenate(found))
            if not len(risen) or len(risen) <= self._run.most:
                left: list[int] = risen.tolist()
                return left

    def _judge(self, frontier: Ints) -> Ints:
        """Make pending what rises by the edges out of the frontier; return these targets.

        NumPy leaves behind the last value that is assigned to a place. Edges are assigned by
        ascending effect, then descending source: what stays is the greatest effect, and of its
        sources the smallest.
        """
        dependents = self._run.structure.dependents
        positions, counts = dependents.spread(frontier)
        targets = dependents.node[positions]
        sources = np.repeat(frontier, counts)
        effects = np.minimum(self._run.structure.ceilings[positions], self._severity[sources])
        rises = np.flatnonzero(effects > self._severity[targets])[::-1]
        rises = rises[np.argsort(effects[rises], kind="stable")]
        targets, order = targets[rises], np.arange(len(rises))
        scratch = self._run.scratch
        scratch[targets] = order
        last = scratch[targets] == order
        raised: Ints = targets[last]
        rises = rises[last]
        self._pending[raised] = effects[rises]
        self._run.cause[raised] = sources[rises]
        return raised

    def _judge_offers(self) -> Ints:
        offers = self._run.offers
        targets = np.array(list(offers), np.int64)
        effects, causes = np.array(list(offers.values()), np.int64).T
        self._run.offers = {}
        rises = effects > self._severity[targets]
        return self._add(targets[rises], effects[rises].astype(np.uint8), causes[rises])

    def _add(self, targets: Ints, effects: Octets, causes: Ints) -> Ints:
        """Make pending what is greater, or of a smaller source; return the targets that are new."""
        known, present = self._pending[targets], self._run.cause[targets]
        smaller = np.maximum(causes, ~causes) < np.maximum(present, ~present)
        better = (effects > known) | ((effects == known) & smaller)
        self._pending[targets[better]] = effects[better]
        self._run.cause[targets[better]] = causes[better]
        new: Ints = targets[known == 0]
        return new

    def _commit(self, rising: Ints) -> Ints:
        """Raise the nodes to what is pending for them; return them, ascending."""
        run = self._run
        if len(self._frozen):
            frozen = self._frozen[rising]
            self._pending[rising[frozen]] = 0
            rising = rising[~frozen]
        rising = np.sort(rising)
        old = self._severity[rising]
        self._severity[rising] = self._pending[rising]
        self._pending[rising] = 0
        first = rising[old == self._before[rising]]
        run.wide_risen.append(first)
        run.count_risen(len(first))
        start = run.structure.supported.start
        supporters = start[rising + 1] > start[rising]
        if supporters.any():
            self._supports().hear(rising[supporters], old[supporters])
        return rising

    def _supports(self) -> WideSupport:
        if self._support is None:
            self._support = WideSupport(self._run.support(), self._run.scratch)
        return self._support

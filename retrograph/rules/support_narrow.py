"""Judging `SUPPORTED_BY` edges node by node."""

from __future__ import annotations

from itertools import chain

from retrograph.rules.edge_type import SUPPORT_EFFECT, support_case
from retrograph.rules.run import smaller
from retrograph.rules.support import Support
from retrograph.rules.validity import FALLEN


class NarrowSupport:
    """Works on views of the same arrays as `WideSupport`, by the same laws."""

    def __init__(self, support: Support) -> None:
        supported, supporters = support.structure.supported, support.structure.supporters
        self._support = support
        self._start = supported.start.data
        self._supported = supported.node.data
        self._supporters_start = supporters.start.data
        self._supporters = supporters.node.data
        self._standing = support.standing.standing.data
        self._mild = support.standing.mild.data

    def hear(self, rising: list[tuple[int, int]]) -> None:
        """Tell the targets of supporters that rose, each given with its severity before."""
        support, start, supported, mild = self._support, self._start, self._supported, self._mild
        raised, judged = support.raised, support.judged
        fallen = []
        for node, old in rising:
            grade = min(support.severity[node], FALLEN)
            heavier = old < FALLEN <= grade
            for edge in range(start[node], start[node + 1]):
                target = supported[edge]
                raised[target] = max(raised[target], grade)
                mild[target] -= heavier
                judged.append(target)
            if support.standing.stands[node]:
                fallen.append(node)
        if fallen:
            self._lose(fallen)

    def _lose(self, fallen: list[int]) -> None:
        """Let standing go with the fallen, and judge the raised targets of whoever lost it."""
        support, start = self._support, self._start
        for node in chain.from_iterable(support.change.settle(fallen)):
            for edge in range(start[node], start[node + 1]):
                if support.raised[self._supported[edge]]:
                    support.judged.append(self._supported[edge])

    def judge(self, pending: dict[int, int], causes: memoryview) -> None:
        """Add to `pending` what rises by its supporters: target -> severity."""
        support, standing, mild = self._support, self._standing, self._mild
        for target in support.take_judged():
            stands = standing[target] > 0
            case = support_case(support.raised[target], stands, mild[target] > 0)
            effect = SUPPORT_EFFECT[case]
            known = pending.get(target, 0)
            if effect <= support.severity[target] or effect < known:
                continue
            cause = self._cause(target, FALLEN if stands else 0)
            if effect > known or smaller(cause, causes[target]):
                pending[target] = effect
                causes[target] = cause

    def _cause(self, target: int, least: int) -> int:
        """Return the smallest supporter of at least this severity that was raised or passes on.

        It is looked for only where the target rises by it, so at most three times a target.
        """
        support, supporters = self._support, self._supporters
        start, end = self._supporters_start[target], self._supporters_start[target + 1]
        severity, before, passing = support.severity, support.before, support.passing
        for position in range(start, end):
            source = supporters[position]
            if severity[source] < least:
                continue
            if severity[source] != before[source]:
                return source
            if passing is not None and passing[position]:
                return ~source
        raise AssertionError("a target is judged only if a supporter was raised")

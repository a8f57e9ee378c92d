"""Judging `SUPPORTED_BY` edges node by node."""

from __future__ import annotations

from itertools import chain

from retrograph.rules.edge_type import SUPPORT_EFFECT
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
        self._standing = support.standing.standing_supporters.data
        self._mild = support.standing.mild_supporters.data

    def hear(self, rising: list[tuple[int, int]]) -> None:
        """Tell the targets of supporters that rose, each given with its severity before."""
        support, start, supported, mild = self._support, self._start, self._supported, self._mild
        raised, judged, stands = support.raised, support.judged, support.standing.stands
        severity, fallen = support.severity, []
        for node, old in rising:
            grade = min(severity[node], FALLEN)
            heavier = old < FALLEN <= grade
            for edge in range(start[node], start[node + 1]):
                target = supported[edge]
                if raised[target] < grade:  # noqa: PLR1730 - max() takes thrice as long here
                    raised[target] = grade
                if heavier:
                    mild[target] -= 1
                judged.append(target)
            if stands[node]:
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
        raised, severity = support.raised, support.severity
        for target in support.take_judged():
            stands = standing[target] > 0
            effect = SUPPORT_EFFECT[raised[target] * 4 + stands * 2 + (mild[target] > 0)]
            if effect <= severity[target]:
                continue
            known = pending.get(target, 0)
            if effect < known:
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

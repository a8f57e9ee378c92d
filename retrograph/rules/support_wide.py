"""Judging `SUPPORTED_BY` edges as columns."""

from __future__ import annotations

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets, distinct
from retrograph.rules.edge_type import SUPPORT_EFFECT
from retrograph.rules.support import Support
from retrograph.rules.validity import FALLEN, STALE

EFFECTS: Octets = np.frombuffer(SUPPORT_EFFECT, np.uint8)


class WideSupport:
    """Works on the same arrays as `NarrowSupport`, by the same laws."""

    def __init__(self, support: Support, scratch: Ints) -> None:
        self._support = support
        self._scratch = scratch
        self._supported = support.structure.supported
        self._supporters = support.structure.supporters
        self._severity: Octets = np.frombuffer(support.severity, np.uint8)
        self._before: Octets = np.frombuffer(support.before, np.uint8)
        self._raised: Octets = np.frombuffer(support.raised, np.uint8)
        self._stands: Octets = np.frombuffer(support.standing.stands, np.uint8)

    def hear(self, rising: Ints, old: Octets) -> None:
        """Tell the targets of supporters that rose; `old` is their severity before."""
        support, raised = self._support, self._raised
        positions, counts = self._supported.spread(rising)
        targets = self._supported.node[positions]
        new = self._severity[rising]
        heavy: Flags = np.repeat(new >= FALLEN, counts)
        light = targets[~heavy]
        raised[light] = np.maximum(raised[light], STALE)
        raised[targets[heavy]] = FALLEN
        heavier = np.repeat((old < FALLEN) & (new >= FALLEN), counts)
        np.subtract.at(support.standing.mild_supporters, targets[heavier], 1)
        support.judged_wide.append(targets)
        for wave in support.change.settle(rising[self._stands[rising] > 0]):
            shaken = self._supported.of(np.asarray(wave, np.int64))
            support.judged_wide.append(shaken[raised[shaken] > 0])

    def judge(self, pending: Octets) -> tuple[Ints, Octets, Ints]:
        """Return what rises by its supporters: distinct targets, their severities, and causes."""
        support, standing = self._support, self._support.standing
        targets = distinct(support.take_judged_wide(), self._scratch)
        stands = standing.standing_supporters[targets] > 0
        mild = standing.mild_supporters[targets] > 0
        effects = EFFECTS[self._raised[targets] * 4 + stands * 2 + mild]
        rises = (effects > self._severity[targets]) & (effects >= pending[targets])
        targets, effects = targets[rises], effects[rises]
        return targets, effects, self._causes(targets, stands[rises])

    def _causes(self, targets: Ints, stands: Flags) -> Ints:
        """Return the smallest supporter of each that was raised or passes on.

        Where a supporter stands, only those of severity 2 and above are asked.
        """
        positions, counts = self._supporters.spread(targets)
        sources = self._supporters.node[positions]
        severity = self._severity[sources]
        was_raised = severity != self._before[sources]
        counted = was_raised.copy()
        if self._support.passing is not None:
            counted |= np.frombuffer(self._support.passing, np.bool_)[positions]
        counted &= (severity >= FALLEN) | ~np.repeat(stands, counts)
        owner = np.repeat(np.arange(len(targets)), counts)[counted][::-1]
        causes = np.empty(len(targets), np.int64)
        causes[owner] = np.where(was_raised, sources, ~sources)[counted][::-1]
        return causes

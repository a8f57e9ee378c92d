"""Which nodes stand as supporters.

A node stands if its projected severity is 0 and it has no supporters of its own, or is
REVALIDATED or pinned (it has ground of its own), or one of its supporters stands: the least such
set, so that a circle of beliefs that only support each other does not stand.

To lose standing without looking at everything again, each node that stands by another has a
rank above that of one supporter that stands: as long as a node has a standing supporter of
lower rank, it stands, whatever circles it is part of. `cursor` is the place among its supporters
up to which none will do; it only moves on, so a node with many supporters is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets, distinct
from retrograph.rules.structure import Structure
from retrograph.rules.validity import STALE, Validity

NARROW = 64
"""Waves of fewer nodes than this spread node by node, larger ones as columns."""


@dataclass(slots=True)
class Standing:
    """By place: whether a node stands, whether it has ground of its own, its rank and cursor, how
    many of its supporters stand, and how many are mild, of severity 0 or 1.

    `stands` and `grounded` are 0 or 1; `top` is the highest rank so far.
    """

    stands: bytearray
    grounded: bytes
    rank: Ints
    cursor: Ints
    standing_supporters: Ints
    mild_supporters: Ints
    top: int

    @classmethod
    def build(
        cls, structure: Structure, severity: bytes, projected: Octets, pinned: Octets
    ) -> Standing:
        """Compute the standing of every node."""
        count = len(structure.ids)
        supporters = structure.supporters
        own = has_ground(structure, np.arange(count), projected, pinned)
        severities = np.frombuffer(severity, np.uint8)
        made = cls(
            stands=bytearray(count),
            grounded=own.tobytes(),
            rank=np.zeros(count, np.int64),
            cursor=supporters.start[:-1].copy(),
            standing_supporters=np.zeros(count, np.int64),
            mild_supporters=np.zeros(count, np.int64),
            top=0,
        )
        made._found(structure, severity, np.flatnonzero(own & (severities == 0)))
        made._count(structure, severities)
        return made

    def copy(self) -> Standing:
        """Return one that may lose standing while this one stays."""
        return Standing(
            self.stands.copy(),
            self.grounded,
            self.rank.copy(),
            self.cursor.copy(),
            self.standing_supporters.copy(),
            self.mild_supporters.copy(),
            self.top,
        )

    def _found(self, structure: Structure, severity: bytes, wave: Ints) -> None:
        """Let `wave` stand, then whoever stands by it, rank by rank."""
        stands = np.frombuffer(self.stands, np.uint8)
        healthy = np.frombuffer(severity, np.uint8) == 0
        stands[wave] = 1
        scratch = np.empty(len(stands), np.int64)
        while len(wave):
            if len(wave) < NARROW:
                wave = self._found_next(structure, severity, wave)
            else:
                reached = structure.supported.of(wave)
                wave = distinct(reached[healthy[reached] & (stands[reached] == 0)], scratch)
                stands[wave] = 1
            self.top += 1
            self.rank[wave] = self.top

    def _found_next(self, structure: Structure, severity: bytes, wave: Ints) -> Ints:
        stands = self.stands
        start, supported = structure.supported.start, structure.supported.node
        found = []
        for node in wave.tolist():
            for target in supported[start[node] : start[node + 1]].tolist():
                if not severity[target] and not stands[target]:
                    stands[target] = 1
                    found.append(target)
        return np.array(found, np.int64)

    def _count(self, structure: Structure, severities: Octets) -> None:
        supporters = structure.supporters
        owner = np.repeat(np.arange(len(severities)), np.diff(supporters.start))
        stands: Flags = np.frombuffer(self.stands, np.bool_)[supporters.node]
        mild = severities[supporters.node] <= STALE
        self.standing_supporters += np.bincount(owner[stands], minlength=len(severities))
        self.mild_supporters += np.bincount(owner[mild], minlength=len(severities))


def has_ground(structure: Structure, places: Ints, projected: Octets, pinned: Octets) -> Flags:
    """Say of each place whether its node, if healthy, stands without any supporter.

    `projected` and `pinned` are given for these places.
    """
    start = structure.supporters.start
    alone = start[places + 1] == start[places]
    own: Flags = alone | (projected == Validity.REVALIDATED) | (pinned > 0)
    return own

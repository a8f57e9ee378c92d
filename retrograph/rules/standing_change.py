"""How standing changes with the state of some nodes: over-delete, then stand again what may.

Whoever stood by a fallen node alone, or has only supporters of its own rank and above left,
loses its standing for the moment, and so on. Then those that a standing supporter is left for
stand again, with a rank above all others, and those that stand by them. Nothing else is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets, distinct
from retrograph.rules.standing import Standing
from retrograph.rules.structure import Structure

Wave: TypeAlias = Sequence[int] | Ints


TAIL = 16
"""So few cursors are moved one by one."""


class StandingChange:
    """Changes a standing in place, by the severities as they are at each call.

    Spreads waves of at most `most` nodes and edges node by node, larger ones as columns. `scratch`
    has a place for every node.
    """

    def __init__(
        self,
        structure: Structure,
        standing: Standing,
        severity: bytes | bytearray,
        most: int,
        scratch: Ints,
    ) -> None:
        supporters = structure.supporters
        self._standing = standing
        self._severities = severity
        self._most = most
        self._scratch = scratch
        self._supported = structure.supported
        self._supporters = supporters
        self._start = self._supported.start.data
        self._target = self._supported.node.data
        self._first = supporters.start.data
        self._supporter = supporters.node.data
        self._rank = standing.rank.data
        self._cursor = standing.cursor.data
        self._count = standing.standing_supporters.data
        self._stands: Octets = np.frombuffer(standing.stands, np.uint8)
        self._grounded: Octets = np.frombuffer(standing.grounded, np.uint8)
        self._severity: Octets = np.frombuffer(severity, np.uint8)

    def settle(self, fallen: Wave, idle: Wave = ()) -> list[Wave]:
        """Take standing from the fallen and from all that only stood by them.

        The fallen stood, and are no longer healthy or have no ground of their own any more. The
        idle didn't stand, and are given it if they may by now. Returns in waves who else lost
        standing; some of them may have it again.
        """
        if isinstance(fallen, np.ndarray):
            self._stands[fallen] = 0
        else:
            for node in fallen:
                self._standing.stands[node] = 0
        dropped: list[Wave] = []
        wave = fallen
        while len(wave):
            small = self._small(wave)
            wave = self._drop_wide(_array(wave)) if small is None else self._drop(small)
            dropped.append(wave)
        wave = self._first_to_stand([fallen, idle, *dropped])
        while len(wave):
            small = self._small(wave)
            wave = self._revive_wide(_array(wave)) if small is None else self._revive(small)
        return dropped

    def _small(self, wave: Wave) -> Sequence[int] | None:
        """Return the nodes of a wave that is to be spread node by node."""
        left = self._most - len(wave)
        if left < 0:
            return None
        nodes = wave.tolist() if isinstance(wave, np.ndarray) else wave
        for node in nodes:
            left -= self._start[node + 1] - self._start[node]
        return nodes if left >= 0 else None

    def _drop(self, wave: Sequence[int]) -> list[int]:
        """Return whose standing goes with that of the wave."""
        start, targets = self._start, self._target
        stands, grounded, count = self._standing.stands, self._standing.grounded, self._count
        dropped = []
        for node in wave:
            for edge in range(start[node], start[node + 1]):
                target = targets[edge]
                count[target] -= 1
                if stands[target] and not grounded[target] and not self._holds(target):
                    stands[target] = 0
                    dropped.append(target)
        return dropped

    def _holds(self, node: int) -> bool:
        """Say whether a supporter of lower rank stands, and move the cursor to it."""
        if not self._count[node]:
            return False
        stands, rank, supporters = self._standing.stands, self._rank, self._supporter
        own, end = rank[node], self._first[node + 1]
        for position in range(self._cursor[node], end):
            supporter = supporters[position]
            if stands[supporter] and rank[supporter] < own:
                self._cursor[node] = position
                return True
        self._cursor[node] = end
        return False

    def _drop_wide(self, wave: Ints) -> Ints:
        targets = self._supported.of(wave)
        np.subtract.at(self._standing.standing_supporters, targets, 1)
        shaken = targets[(self._stands[targets] > 0) & (self._grounded[targets] == 0)]
        shaken = distinct(shaken, self._scratch)
        dropped = shaken[~self._hold_wide(shaken)]
        self._stands[dropped] = 0
        return dropped

    def _hold_wide(self, nodes: Ints) -> Flags:
        """Say for each node whether a supporter of lower rank stands; move the cursors."""
        standing, supporters = self._standing, self._supporters
        holds = np.zeros(len(nodes), np.bool_)
        end = supporters.start[nodes + 1]
        asked = np.flatnonzero(standing.standing_supporters[nodes] > 0)
        while len(asked) and len(asked) > min(self._most, TAIL):
            asked = asked[standing.cursor[nodes[asked]] < end[asked]]
            owner = nodes[asked]
            supporter = supporters.node[standing.cursor[owner]]
            found = (self._stands[supporter] > 0) & (
                standing.rank[supporter] < standing.rank[owner]
            )
            holds[asked[found]] = True
            asked = asked[~found]
            standing.cursor[nodes[asked]] += 1
        for place in asked.tolist():
            holds[place] = self._holds(int(nodes[place]))
        return holds

    def _first_to_stand(self, deleted: list[Wave]) -> Wave:
        """Return those of the nodes that may stand, standing."""
        if not any(isinstance(wave, np.ndarray) for wave in deleted):
            return [node for node in chain.from_iterable(deleted) if self._may_stand(node)]
        nodes = np.concatenate([_array(wave) for wave in deleted])
        founded = (self._standing.standing_supporters[nodes] > 0) | (self._grounded[nodes] > 0)
        nodes = distinct(nodes[founded & (self._severity[nodes] == 0)], self._scratch)
        self._stand_wide(nodes)
        return nodes

    def _may_stand(self, node: int) -> bool:
        """Let a node stand if it may and didn't; say whether it stands by that."""
        standing = self._standing
        if standing.stands[node] or self._severities[node]:
            return False
        if not self._count[node] and not standing.grounded[node]:
            return False
        standing.top += 1
        standing.stands[node] = 1
        self._rank[node] = standing.top
        self._cursor[node] = self._first[node]
        return True

    def _stand_wide(self, nodes: Ints) -> None:
        standing = self._standing
        standing.top += 1
        self._stands[nodes] = 1
        standing.rank[nodes] = standing.top
        standing.cursor[nodes] = self._supporters.start[nodes]

    def _revive(self, wave: Sequence[int]) -> list[int]:
        """Return who stands again by the wave, which does."""
        start, targets, count = self._start, self._target, self._count
        revived = []
        for node in wave:
            for edge in range(start[node], start[node + 1]):
                target = targets[edge]
                count[target] += 1
                if self._may_stand(target):
                    revived.append(target)
        return revived

    def _revive_wide(self, wave: Ints) -> Ints:
        targets = self._supported.of(wave)
        np.add.at(self._standing.standing_supporters, targets, 1)
        idle = targets[(self._stands[targets] == 0) & (self._severity[targets] == 0)]
        revived = distinct(idle, self._scratch)
        self._stand_wide(revived)
        return revived


def _array(wave: Wave) -> Ints:
    return np.asarray(wave, np.int64)

"""Strongly connected components, and how many edges enter each from outside.

What lies on no cycle is taken off first, wave by wave from both ends; only the rest needs the
depth-first search of Tarjan (1972), which is written without recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Adjacency, Flags, Ints, distinct

NARROW = 64
"""Waves of fewer nodes than this are taken off node by node, larger ones as columns."""


@dataclass(frozen=True, slots=True)
class Condensation:
    """The components of a graph of `count` places.

    By place: `component` is the smallest place of its component; `blockers` is the number of edges
    from outside into its component, given at each component's smallest place and 0 elsewhere.
    """

    component: Ints
    blockers: Ints


def condense(count: int, sources: Ints, targets: Ints) -> Condensation:
    """Return the components of the edges `sources[i]` -> `targets[i]`, both below `count`."""
    component = np.arange(count)
    cyclic = _core(count, sources, targets)
    inside = cyclic[sources] & cyclic[targets]
    if inside.any():
        _join(component, adjacency(sources[inside], targets[inside], count), cyclic)
    entered = component[targets]
    blockers = np.bincount(entered[component[sources] != entered], minlength=count)
    return Condensation(component, blockers)


def adjacency(sources: Ints, targets: Ints, count: int) -> Adjacency:
    """Return the targets by source."""
    order = np.argsort(sources, kind="stable")
    return Adjacency.build(sources[order], targets[order], count)


def waves(edges: Adjacency, indegree: Ints) -> list[Ints]:
    """Return the places in waves: each wave is entered by edges out of earlier ones only.

    Places on a cycle, and those behind one, are in none. `indegree` is used up: what is above 0 at
    the end was never reached.
    """
    scratch = np.empty(len(indegree), np.int64)
    wave = np.flatnonzero(indegree == 0)
    found = []
    while len(wave):
        found.append(wave)
        if len(wave) < NARROW:
            wave = _next_narrow(edges, indegree, wave)
            continue
        reached = edges.of(wave)
        np.subtract.at(indegree, reached, 1)
        wave = distinct(reached[indegree[reached] == 0], scratch)
    return found


def _next_narrow(edges: Adjacency, indegree: Ints, wave: Ints) -> Ints:
    start, node, left = edges.start.data, edges.node.data, indegree.data
    found = []
    for place in wave.tolist():
        for target in node[start[place] : start[place + 1]]:
            left[target] -= 1
            if not left[target]:
                found.append(target)
    return np.array(found, np.int64)


def _core(count: int, sources: Ints, targets: Ints) -> Flags:
    """Mark the places that may lie on a cycle: none is left out that does."""
    left = np.bincount(targets, minlength=count)
    waves(adjacency(sources, targets, count), left)
    alive: Flags = left > 0
    inside = alive[sources] & alive[targets]
    sources, targets = sources[inside], targets[inside]
    left = np.bincount(sources, minlength=count)
    waves(adjacency(targets, sources, count), left)
    return left > 0


def _join(component: Ints, edges: Adjacency, cyclic: Flags) -> None:
    """Give the members of each component among the `cyclic` places their smallest one."""
    search = _Search(edges, len(component))
    for place in np.flatnonzero(cyclic).tolist():
        if not search.seen[place]:
            for members in search.run(place):
                component[members] = min(members)


class _Search:
    """Tarjan's search; `seen` holds the number of a place's discovery, 0 before it."""

    def __init__(self, edges: Adjacency, count: int) -> None:
        self._start, self._node = edges.start.data, edges.node.data
        self.seen = [0] * count
        self._low = [0] * count
        self._open = bytearray(count)
        self._stack: list[int] = []
        self._time = 0

    def run(self, root: int) -> list[list[int]]:
        """Return the components that are reached from a place not yet seen."""
        found: list[list[int]] = []
        path = [(root, self._enter(root))]
        while path:
            place, edge = path[-1]
            if edge == self._start[place + 1]:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._low[above] = min(self._low[above], self._low[place])
                if self._low[place] == self.seen[place]:
                    found.append(self._close(place))
                continue
            path[-1] = (place, edge + 1)
            target = self._node[edge]
            if not self.seen[target]:
                path.append((target, self._enter(target)))
            elif self._open[target]:
                self._low[place] = min(self._low[place], self.seen[target])
        return found

    def _enter(self, place: int) -> int:
        """Discover a place; return where its edges begin."""
        self._time += 1
        self.seen[place] = self._low[place] = self._time
        self._open[place] = 1
        self._stack.append(place)
        return int(self._start[place])

    def _close(self, place: int) -> list[int]:
        """Return the component whose first discovered member is `place`."""
        members = []
        while True:
            member = self._stack.pop()
            self._open[member] = 0
            members.append(member)
            if member == place:
                return members

"""Breadth-first walks from many starts at once, over neighbours that are supplied level by level.

    walk = Walk(starts, max_depth)
    while not walk.done:
        walk.advance(load(walk.wanted()))

so that a walk of depth d costs d loads, however many starts share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Reached:
    """A node that a walk reached, `depth` edges from its start."""

    node: int
    depth: int
    _parents: Mapping[int, int | None] = field(repr=False, compare=False)

    @property
    def path(self) -> tuple[int, ...]:
        """The node ids from the start to this node, both included: the least shortest path."""
        backwards = [self.node]
        while (parent := self._parents[backwards[-1]]) is not None:
            backwards.append(parent)
        return tuple(reversed(backwards))


class Walk:
    """Walks from every start, each reaching a node once, at its smallest depth of at least 1.

    A start is not reached by its own walk, not even on a cycle. The path is the shortest; among
    several, the one whose sequence of node ids is the least.

    A walk stops at `max_depth`, or, where `enough` is given, after the level on which it has
    reached that many nodes whose (depth, id) follow `after`: a full page needs no more.
    """

    def __init__(
        self,
        starts: Iterable[int],
        max_depth: int,
        *,
        enough: int | None = None,
        after: tuple[int, int] = (0, 0),
    ) -> None:
        self._max_depth = max_depth
        self._depth = 0
        self._neighbours: dict[int, Sequence[int]] = {}
        self._walks = {start: _SingleWalk(start, enough, after) for start in starts}
        self._active = list(self._walks.values()) if max_depth > 0 else []

    @property
    def done(self) -> bool:
        """Whether no walk has a level left to go."""
        return not self._active

    def wanted(self) -> set[int]:
        """The ids whose neighbours the next level needs and that nobody has supplied yet."""
        frontiers = {node for walk in self._active for node in walk.frontier}
        return frontiers - self._neighbours.keys()

    def advance(self, neighbours: Mapping[int, Sequence[int]]) -> None:
        """Go one level further from every start.

        `neighbours` gives those of the wanted ids, in any order, repetitions allowed; a wanted id
        that it lacks has none.
        """
        for node in self.wanted():
            self._neighbours[node] = sorted(set(neighbours.get(node, ())))
        self._depth += 1
        for walk in self._active:
            walk.advance(self._neighbours)
        exhausted = self._depth >= self._max_depth
        self._active = [] if exhausted else [w for w in self._active if w.wants_more]

    def reached(self, start: int) -> list[Reached]:
        """What the walk from `start` has reached, ordered by (depth, node id)."""
        return self._walks[start].reached()


class _SingleWalk:
    """The walk from one start.

    The frontier is kept in the order of its nodes' least paths, so that the first to reach a node
    gives it the least path.
    """

    def __init__(self, start: int, enough: int | None, after: tuple[int, int]) -> None:
        self.frontier = [start]
        self._parents: dict[int, int | None] = {start: None}
        self._levels: list[list[int]] = []
        self._missing = enough
        self._after = after

    @property
    def wants_more(self) -> bool:
        full = self._missing is not None and self._missing <= 0
        return bool(self.frontier) and not full

    def advance(self, neighbours: Mapping[int, Sequence[int]]) -> None:
        parents = self._parents
        level: list[int] = []
        for node in self.frontier:
            for neighbour in neighbours[node]:
                if neighbour not in parents:
                    parents[neighbour] = node
                    level.append(neighbour)
        self.frontier = level
        self._levels.append(sorted(level))
        self._count(level)

    def _count(self, level: list[int]) -> None:
        if self._missing is not None:
            depth = len(self._levels)
            self._missing -= sum((depth, node) > self._after for node in level)

    def reached(self) -> list[Reached]:
        return [
            Reached(node, depth, self._parents)
            for depth, level in enumerate(self._levels, start=1)
            for node in level
        ]

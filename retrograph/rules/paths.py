"""All simple paths between two nodes, shortest first, over edges that are supplied lazily.

    search = PathSearch(source, target, max_depth)
    while not search.done:
        search.feed(load_incoming(search.wanted()))
        page.extend(search.paths())

Level by level backwards from the target, the search learns from which nodes a walk of exactly k
edges leads there; forwards from the source it then enters only nodes that can still arrive in time.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from retrograph.rules.errors import InvalidCursor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

DEFAULT_BUDGET = 200_000
"""Steps of one search: next nodes looked at and paths found."""


class DependencyPath(NamedTuple):
    """A path of `len(edges)` edges; `edges[i]` runs from `nodes[i]` to `nodes[i + 1]`."""

    nodes: tuple[int, ...]
    edges: tuple[int, ...]


class PathSearch:
    """The simple paths of 1 to `max_depth` edges from `source` to `target`.

    Ordered by length, then by node ids as a sequence, then by edge ids as a sequence; with `after`,
    only what follows that path. None leads from a node to itself. Parallel edges make paths of
    their own.

    A search takes at most `budget` steps; when they are used up it stops and `truncated` is true.
    `InvalidCursor` if `after` is no path from `source` to `target`.
    """

    def __init__(
        self,
        source: int,
        target: int,
        max_depth: int,
        *,
        after: DependencyPath | None = None,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        if after is not None:
            _check_after(after, source, target)
        self.truncated = False
        self._source = source
        self._target = target
        self._max_depth = max_depth
        self._after = after
        self._budget = budget
        # leads[k]: the nodes from which a walk of exactly k edges leads to the target
        self._leads = [frozenset({target})]
        self._sources: dict[int, frozenset[int]] = {}
        self._edges: dict[int, dict[int, list[int]]] = {}  # edge ids by source, then by target

    @property
    def length(self) -> int:
        """The number of edges of the paths that `paths` gives now."""
        return len(self._leads) - 1

    @property
    def done(self) -> bool:
        """Whether no level is left: the depth is reached, nothing leads on, or `truncated`."""
        nothing_leads_on = self._leads[-1] <= {self._source}
        return self.truncated or nothing_leads_on or self.length >= self._max_depth

    def wanted(self) -> set[int]:
        """The ids whose incoming edges the next level needs and that nobody has supplied yet."""
        # A simple path never comes back to its source, so what leads there is of no use.
        return set(self._leads[-1] - self._sources.keys() - {self._source})

    def feed(self, incoming: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """Complete one more level: `paths` then gives those one edge longer.

        `incoming` gives the (edge id, source id) pairs of each wanted id, in any order; a wanted id
        that it lacks has none.
        """
        for node in self.wanted():
            pairs = incoming.get(node, ())
            self._sources[node] = frozenset(source for _, source in pairs)
            for edge, source in pairs:
                self._edges.setdefault(source, {}).setdefault(node, []).append(edge)
        previous = (self._sources.get(node, frozenset()) for node in self._leads[-1])
        self._leads.append(frozenset().union(*previous) - {self._target})

    def paths(self) -> Iterator[DependencyPath]:
        """The paths of exactly `length` edges, in order, found as they are asked for."""
        length, after = self.length, self._after
        passed = after is not None and len(after.edges) > length
        if length == 0 or passed or self._source not in self._leads[-1]:
            return
        low = after if after and len(after.edges) == length else None
        for nodes in self._sequences((self._source,), length, low and low.nodes):
            choices = [sorted(self._edges[tail][head]) for tail, head in pairwise(nodes)]
            same_nodes = low is not None and nodes == low.nodes
            for edges in _combinations(choices, low.edges if low and same_nodes else None):
                if not self._spend(1):
                    return
                yield DependencyPath(nodes, edges)

    def _sequences(
        self, nodes: tuple[int, ...], missing: int, low: tuple[int, ...] | None
    ) -> Iterator[tuple[int, ...]]:
        """The simple ways from `nodes` on to the target by `missing` edges, none less than `low`.

        `low`, if given, begins with `nodes`.
        """
        if missing == 0:
            yield nodes
            return
        least = low[len(nodes)] if low else None
        for node in self._next_nodes(nodes, missing - 1):
            if least is None or node >= least:
                rest = low if node == least else None
                yield from self._sequences((*nodes, node), missing - 1, rest)

    def _next_nodes(self, nodes: tuple[int, ...], missing: int) -> list[int]:
        """The nodes that may follow, ascending; none once the budget is used up."""
        heads: Collection[int] = self._edges.get(nodes[-1], {}).keys()
        leads: Collection[int] = self._leads[missing]
        few, many = (heads, leads) if len(heads) < len(leads) else (leads, heads)
        if not self._spend(len(few)):
            return []
        return sorted(node for node in few if node in many and node not in nodes)

    def _spend(self, steps: int) -> bool:
        self.truncated = self.truncated or steps > self._budget
        self._budget -= steps
        return not self.truncated


def _combinations(
    choices: list[list[int]], low: tuple[int, ...] | None
) -> Iterator[tuple[int, ...]]:
    """One of each list of `choices`, as ordered sequences; only what follows `low`, if given."""
    if low is None:
        yield from product(*choices)
        return
    known = [edge in edges for edge, edges in zip(low, choices, strict=True)]
    shared = known.index(False) if False in known else len(low) - 1
    # What shares most with `low` follows it first.
    for at in range(shared, -1, -1):
        later = [edge for edge in choices[at] if edge > low[at]]
        yield from ((*low[:at], *rest) for rest in product(later, *choices[at + 1 :]))


def _check_after(after: DependencyPath, source: int, target: int) -> None:
    fits = len(after.nodes) == len(after.edges) + 1 >= 2
    if not fits or (after.nodes[0], after.nodes[-1]) != (source, target):
        raise InvalidCursor(
            "The cursor belongs to the paths between other nodes. Pass one that this list gave, or "
            "none to begin at the start.",
            path=("after",),
        )

"""Which components the tasks that open belong to, and what blocks them: found near by, not in all.

A component that changes holds one of the nodes that stir, so it lies among what leads to them and
what they lead to. Both ways are walked in turn, over open tasks only, the smaller first; the first
that comes to its end holds all there is to know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from retrograph.rules.agenda import Agenda, Edges, agenda, edges_among
from retrograph.storage.open_work import Pair, any_open, edges_out, open_sources, open_targets
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The components that the stirring nodes belong to.

    `leaders` names the component of each of their nodes by its smallest node, `blockers` tells by
    leader how many edges from other open tasks enter.  `waiting` is how many tasks wait on each
    node (an estimate: see `retrograph.rules.waiting`; of tasks that were open before, only those
    that were walked over are counted). `passed_on` are the edges from fresh nodes into tasks that
    were open before.
    """

    leaders: dict[int, int]
    blockers: dict[int, int]
    waiting: dict[int, int]
    passed_on: list[Pair]


def arrange(write: Write, fresh: Collection[int], stirred: Collection[int] = ()) -> Arrangement:
    """Arranges nodes whose tasks are about to open (`fresh`) and open ones (`stirred`)."""
    among = _edges_among_fresh(write, fresh)
    if not any_open(write.snapshot):
        return _arranged(agenda(list(fresh), among), {*fresh}, [])
    between = list(zip(*among, strict=True))
    passed_on = open_targets(write.snapshot, fresh)
    ahead = [pair for pair in passed_on if pair[1] not in fresh]
    core = {*fresh, *stirred}
    region, complete = _walked(write, core, fresh, [*between, *ahead])
    found = agenda(sorted(region.nodes), _columns(region.edges))
    arranged = _arranged(found, core, ahead)
    return arranged if complete else _with_blockers(write, arranged, [*between, *ahead])


@dataclass
class _Region:
    """What a walk has reached; `frontier` are the nodes that it has not gone beyond yet."""

    nodes: set[int]
    frontier: set[int]
    edges: list[Pair] = field(default_factory=list)

    def advance(self, found: Iterable[Pair], far: int) -> None:
        """Takes in the edges of the frontier and what lies at their far end."""
        pairs = list(found)
        self.edges += pairs
        self.frontier = {pair[far] for pair in pairs} - self.nodes
        self.nodes |= self.frontier


def _walked(
    write: Write, core: set[int], fresh: Collection[int], fresh_edges: list[Pair]
) -> tuple[_Region, bool]:
    """The smaller of what leads to the core and what it leads to; whether it is the former.

    What leads to the core holds all edges that enter its components.  `fresh_edges` are those out
    of fresh nodes.
    """
    s = write.snapshot
    # A circle may lead back into fresh nodes, whose tasks no statement finds open yet.
    back_in = open_sources(s, fresh)
    into, out = _by_end(fresh_edges, 1), _by_end([*fresh_edges, *back_in], 0)
    back, fore = _Region(set(core), set(core)), _Region(set(core), set(core))
    while True:
        if not back.frontier:
            return back, True
        if not fore.frontier:
            return fore, False
        if len(back.frontier) <= len(fore.frontier):
            back.advance([*open_sources(s, back.frontier), *into(back.frontier)], 0)
        else:
            fore.advance([*open_targets(s, fore.frontier), *out(fore.frontier)], 1)


def _by_end(edges: list[Pair], end: int) -> Callable[[set[int]], list[Pair]]:
    """Looks edges up by one of their ends."""
    found: dict[int, list[Pair]] = {}
    for pair in edges:
        found.setdefault(pair[end], []).append(pair)
    return lambda nodes: [pair for node in nodes for pair in found.get(node, ())]


def _arranged(found: Agenda, core: set[int], passed_on: list[Pair]) -> Arrangement:
    pairs = list(zip(found.nodes, found.leaders, strict=True))
    touched = {leader for node, leader in pairs if node in core}
    return Arrangement(
        leaders={node: leader for node, leader in pairs if leader in touched},
        blockers={
            leader: count
            for leader, count in zip(found.leaders, found.blockers, strict=True)
            if leader in touched
        },
        waiting=dict(zip(found.nodes, found.waiting, strict=True)),
        passed_on=passed_on,
    )


def _with_blockers(write: Write, arranged: Arrangement, fresh_edges: list[Pair]) -> Arrangement:
    """Counts what enters the components from outside of the region that was walked."""
    leaders = arranged.leaders
    entering = [*open_sources(write.snapshot, leaders.keys()), *fresh_edges]
    counts = Counter(
        leaders[target]
        for source, target in entering
        if target in leaders and leaders.get(source) != leaders[target]
    )
    return replace(arranged, blockers={leader: counts[leader] for leader in arranged.blockers})


def _edges_among_fresh(write: Write, fresh: Collection[int]) -> Edges:
    if write.delta.graph is not None:
        return edges_among(write.delta.graph, sorted(fresh))
    inside = set(fresh)
    return _columns(pair for pair in edges_out(write.snapshot, fresh) if pair[1] in inside)


def _columns(pairs: Iterable[Pair]) -> Edges:
    listed = list(pairs)
    return [source for source, _ in listed], [target for _, target in listed]

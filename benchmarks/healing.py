"""How many judgements a cascade takes until all is healthy again: with and without early cut-off.

Counted, not timed. Tens of thousands of judgements for each of many draws would take hours, so they
are played through in memory by the laws of docs/revalidation.md; a test holds that against the
real thing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.graphs import FLEET, TENANT
from benchmarks.measure import Row
from benchmarks.sizes import Sizes
from retrograph.resolvers.importing.graph import import_graph
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.agenda import edges_among
from retrograph.rules.validity import Validity
from retrograph.storage.open_work import OpenTask, all_open
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store

CHANGED = 0.1
"""The share of the nodes that a judgement finds changed; the others still say what they said."""

Order = Callable[[OpenTask], tuple[int, ...]]


def by_priority(task: OpenTask) -> tuple[int, ...]:
    """As claims hand tasks out: those first on which most wait."""
    return (-task.priority, task.id)


def first_come(task: OpenTask) -> tuple[int, ...]:
    """The order in which tasks were opened."""
    return (task.id,)


def healing(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """The whole graph of the file, after its first root has fallen."""
    if not sizes.file.exists():
        print(f"skipped: no {sizes.file.name}")
        return
    with closing(open_store(str(folder / "healing.db"))) as store:
        scope = Scope(store, TENANT, None, frozenset(Role))
        with sizes.file.open("rb") as file:
            import_graph(scope, file, FLEET)
        invalidate(scope, FLEET, Invalidation(NodeRef(key=sizes.root), "measured"))
        work = Work.read(scope)
    yield from _rows(work, sizes.draws)


def _rows(work: Work, draws: int) -> Iterator[Row]:
    total = len(work.tasks)
    drawn = [changed_among(work.tasks, Random(seed)) for seed in range(draws)]
    ours = [work.judged(changed) for changed in drawn]
    theirs = [work.judged(changed, first_come) for changed in drawn]
    told = f"{total:,} open tasks, {1 - CHANGED:.0%} of them verified unchanged"
    every = [len(each) / total for each in ours]
    yield Row(
        f"Judgements until all is healthy, against one each: {told}",
        tuple(every),
        1.0,
        f"{median(map(len, ours)):,.0f} with cut-off / {total:,} without; {draws} draws",
    )
    halves = [
        (half(one, total), half(other, total)) for one, other in zip(ours, theirs, strict=True)
    ]
    yield Row(
        f"Judgements until half is healthy, by priority against first-come: {told}",
        tuple(one / other for one, other in halves),
        1.0,
        f"{median(one for one, _ in halves):,.0f} by priority / "
        f"{median(other for _, other in halves):,.0f} first-come",
    )


def changed_among(nodes: Collection[int], chance: Random) -> frozenset[int]:
    """One in ten, whoever they are: also those on which nearly everything rests."""
    return frozenset(node for node in sorted(nodes) if chance.random() < CHANGED)


def half(left: list[int], total: int) -> int:
    """How many judgements it takes until at most half of the tasks are left."""
    return next(place for place, count in enumerate(left, 1) if 2 * count <= total)


@dataclass(slots=True)
class Work:
    """Open tasks by node, and the edges between their nodes and from the `dead`, who have none."""

    tasks: dict[int, OpenTask]
    dead: set[int]
    sources: dict[int, set[int]]
    targets: dict[int, list[int]]
    members: defaultdict[int, list[int]] = field(init=False)
    blocked: dict[int, list[int]] = field(init=False)
    gates: Counter[int] = field(init=False)

    @classmethod
    def read(cls, scope: Scope) -> Work:
        """All that is open in the fleet."""
        with scope.snapshot(FLEET) as snapshot:
            tasks = all_open(snapshot)
            graph = snapshot.profile.load_graph(snapshot)
        ids = graph.structure.ids.tolist()
        healthy = {Validity.CURRENTLY_VALID, Validity.REVALIDATED}
        sick = {node for node in ids if (state := graph.state(node)) and state[1] not in healthy}
        sources: defaultdict[int, set[int]] = defaultdict(set)
        targets: defaultdict[int, list[int]] = defaultdict(list)
        for source, target in zip(*edges_among(graph, sorted(sick)), strict=True):
            sources[target].add(source)
            targets[source].append(target)
        return cls(tasks, sick - tasks.keys(), sources, targets)

    def __post_init__(self) -> None:
        """Groups the tasks by component, and finds which others each node blocks, and how often."""
        self.members = defaultdict(list)
        for node, task in self.tasks.items():
            self.members[task.component_id].append(node)
        home = {node: task.component_id for node, task in self.tasks.items()}
        self.blocked = {
            node: [home[t] for t in self.targets.get(node, ()) if home.get(t, mine) != mine]
            for node, mine in home.items()
        }
        self.gates = Counter(each for homes in self.blocked.values() for each in homes)

    def judged(self, changed: Collection[int], order: Order = by_priority) -> list[int]:
        """After each judgement, how many tasks are left; `changed` are verified as changed."""
        played = _Play(self, changed, order)
        left = []
        while (node := played.next()) is not None:
            played.judge(node)
            left.append(len(played.open))
        return left


class _Play:
    """One way through the work."""

    def __init__(self, work: Work, changed: Collection[int], order: Order) -> None:
        self._work, self._changed, self._order = work, changed, order
        self.open = set(work.tasks)
        self._spoilt = set(work.dead)
        self._gates = work.gates.copy()
        ready = (each for each in work.tasks.items() if not self._gates[each[1].component_id])
        self._ready = [(order(task), node) for node, task in ready]
        heapify(self._ready)

    def next(self) -> int | None:
        """The node to be judged next."""
        while self._ready:
            _, node = heappop(self._ready)
            if node in self.open:
                return node
        return None

    def judge(self, node: int) -> None:
        """Verifies a node; what heals with it ends, too, and then what waited is let go."""
        self.open.discard(node)
        ended, wave = [node], [node]
        if node in self._changed:
            self._spoilt.add(node)
            wave = []
        while wave:
            wave = [each for each in self._ahead(wave) if self._heals(each)]
            self.open.difference_update(wave)
            ended += wave
        for each in ended:
            self._let_go(each)

    def _ahead(self, wave: list[int]) -> set[int]:
        targets = self._work.targets
        return {each for node in wave for each in targets.get(node, ())} & self.open

    def _heals(self, node: int) -> bool:
        sources = self._work.sources[node]
        return sources.isdisjoint(self._spoilt) and sources.isdisjoint(self.open)

    def _let_go(self, node: int) -> None:
        for home in self._work.blocked[node]:
            self._gates[home] -= 1
            if not self._gates[home]:
                for each in self._work.members[home]:
                    heappush(self._ready, (self._order(self._work.tasks[each]), each))

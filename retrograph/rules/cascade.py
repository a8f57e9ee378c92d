"""A cascade: what falls, how far, and why, when nodes lose their validity.

A cascade is the least fixpoint of rounds. In each, the severity of every target becomes the
greatest of its own and of the effects of its raised sources, all judged on the severities of the
round before; whoever rose is raised. Severities only rise and there are four of them, so it ends
on any graph, and does not depend on the order of nodes or edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets
from retrograph.rules.chains import NO_CAUSE, Chains, chains
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.graph import Graph
from retrograph.rules.limits import MAX_IMPACTS
from retrograph.rules.rounds_narrow import NarrowRounds
from retrograph.rules.rounds_wide import WideRounds
from retrograph.rules.run import Run
from retrograph.rules.seeding import sow
from retrograph.rules.validity import RAISED, Validity

NARROW = 100
"""Rounds of at most so many nodes and edges go node by node, larger ones as columns: about where
the two ways cost the same."""

AFTER: Octets = np.array([RAISED.get(number, 0) for number in range(4)], np.uint8)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a cascade starts.

    `roots` are given an effect; one that it raises has an impact of depth 0. `SUPERSEDED` on a
    node whose projected validity is INVALID has such an impact as well, but no cascade.

    `passing` are edges (source, target, type) of the graph over which an unhealthy source passes
    its severity on although the run did not raise it: new edges, say.

    `touched` are nodes whose content changed: every propagating edge out of them passes severity
    1 to its target in the first round, whatever other supporters there are. They themselves never
    rise and have no impact.
    """

    roots: Mapping[int, Validity] = field(default_factory=dict)
    passing: Sequence[tuple[int, int, int]] = ()
    touched: Sequence[int] = ()


class ImpactKind(IntEnum):
    """What a run did to a node; the numbers are the ones that are stored.

    `PINNED`: a pin kept the stored state. `REEVALUATE`: the node stays as it is and awaits another
    look, for what held it down has died.
    """

    CHANGED = 1
    PINNED = 2
    REEVALUATE = 3


@dataclass(frozen=True, slots=True)
class Cascade:
    """The impacts of a run as columns, ordered by (depth, node id), one a node.

    `before` and `after` are projected validities, `stored_before` and `stored_after` the stored
    ones, which differ from the projected at pinned nodes. `causes` are ordinals in these columns,
    None where the cause has no impact; `origins` is then the node id of the cause, if it has one.
    `depths` count the edges of the path. No impact at all means that the run changes nothing.
    """

    nodes: list[int]
    kinds: list[int]
    before: list[int]
    after: list[int]
    stored_before: list[int]
    stored_after: list[int]
    causes: list[int | None]
    origins: list[int | None]
    depths: list[int]

    def __len__(self) -> int:
        return len(self.nodes)

    def path(self, ordinal: int, limit: int | None = None) -> list[int]:
        """Return the node ids from the root, or the origin, to an impact's node.

        With a `limit`, only the first so many. Raises `IndexError` for an unknown ordinal.
        """
        reversed_path = []
        step: int | None = ordinal
        last = ordinal
        while step is not None:
            last = step
            reversed_path.append(self.nodes[step])
            step = self.causes[step]
        origin = self.origins[last]
        if origin is not None:
            reversed_path.append(origin)
        return reversed_path[::-1][:limit]


def cascade(
    graph: Graph, seeds: Seeds, limit: int = MAX_IMPACTS, *, narrow: int = NARROW
) -> Cascade:
    """Return all impacts of the seeds, down to the fixpoint.

    Rounds of at most `narrow` nodes and edges go node by node, larger ones as columns; the answer
    is the same. Raises `NotFound` for a root or touched node that is not in the graph, and
    `RunTooLarge` if there are more than `limit` impacts.
    """
    run = Run(graph, frozenset(graph.places(seeds.touched)), limit, narrow)
    start = sow(run, seeds.roots, seeds.passing)
    _to_the_fixpoint(run, start.rising)
    found = chains(run, np.array(start.replaced, np.int64))
    if len(found.nodes) > limit:
        raise RunTooLarge(limit)
    return _cascade(run, found, start.effects)


def _to_the_fixpoint(run: Run, rising: dict[int, int]) -> None:
    narrow, wide = NarrowRounds(run), WideRounds(run)
    frontier = narrow.commit(rising)
    while True:
        frontier = narrow.rounds(frontier) if narrow.fits(frontier) else wide.rounds(frontier)
        if not frontier:
            return


def _cascade(run: Run, found: Chains, effects: Mapping[int, Validity]) -> Cascade:
    graph, nodes = run.graph, found.nodes
    before, stored = graph.projected[nodes], graph.validity[nodes]
    after = AFTER[np.frombuffer(run.severity, np.uint8)[nodes]]
    for ordinal in np.flatnonzero(found.depths == 0).tolist():
        after[ordinal] = effects[int(nodes[ordinal])]
    after[found.reevaluated] = before[found.reevaluated]
    pinned = graph.pinned[nodes] > 0
    kinds = np.where(pinned, np.uint8(ImpactKind.PINNED), np.uint8(ImpactKind.CHANGED))
    kinds[found.reevaluated] = ImpactKind.REEVALUATE
    kept = pinned | found.reevaluated
    return Cascade(
        nodes=graph.structure.ids[nodes].tolist(),
        kinds=kinds.tolist(),
        before=before.tolist(),
        after=after.tolist(),
        stored_before=stored.tolist(),
        stored_after=np.where(kept, stored, after).tolist(),
        causes=_or_none(found.causes, found.causes == NO_CAUSE),
        origins=_or_none(graph.structure.ids[found.origins], found.origins == NO_CAUSE),
        depths=_shallow(found.depths).tolist(),
    )


def _shallow(depths: Ints) -> Ints | Octets:
    """Return depths as octets where they fit: those become a list three times as fast."""
    deepest = int(depths[-1]) if len(depths) else 0
    return depths.astype(np.uint8) if deepest < 256 else depths


def _or_none(values: Ints, missing: Flags) -> list[int | None]:
    """Return the values, None where one is missing."""
    if missing.all():
        return [None] * len(values)
    listed: list[int | None] = values.tolist()
    for ordinal in np.flatnonzero(missing).tolist():
        listed[ordinal] = None
    return listed

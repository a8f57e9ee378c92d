"""The chains of causes of a finished run: depths, re-evaluations, and the order of impacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import Flags, Ints
from retrograph.rules.run import Run
from retrograph.rules.validity import DEAD

NO_CAUSE = -1


@dataclass(frozen=True, slots=True)
class Chains:
    """The impacts of a run as columns, by (depth, node).

    `nodes` are places; `causes` are ordinals, -1 where the cause has no impact; `origins` are the
    places of such causes, -1 where there is none; `reevaluated` marks the nodes that only await
    another look.
    """

    nodes: Ints
    depths: Ints
    causes: Ints
    origins: Ints
    reevaluated: Flags


def chains(run: Run, replaced: Ints) -> Chains:
    """Return the impacts of a run, and of the dead nodes that it only marks as superseded."""
    nodes = np.sort(np.concatenate((run.risen(), replaced)))
    run.cause[replaced] = replaced
    ordinal = run.scratch
    ordinal[nodes] = np.arange(len(nodes))
    given = run.cause[nodes]
    origins = np.where(given < 0, ~given, NO_CAUSE)
    parents = np.where(given < 0, np.arange(len(nodes)), ordinal[np.maximum(given, 0)])
    depths = _depths(parents, origins)
    causes = np.where(parents == np.arange(len(nodes)), NO_CAUSE, parents)
    lifted, lifters = _lifted(run, nodes, depths, replaced)
    return _ordered(
        np.concatenate((nodes, lifted)),
        np.concatenate((depths, depths[lifters] + 1)),
        np.concatenate((causes, lifters)),
        np.concatenate((origins, np.full(len(lifted), NO_CAUSE))),
        len(nodes),
    )


def _depths(parents: Ints, origins: Ints) -> Ints:
    """Return the lengths of the chains, all at once: each step doubles what a pointer spans.

    A chain ends at a node that is its own parent; one with an origin is a step away from it.
    """
    depths: Ints = (parents != np.arange(len(parents))).astype(np.int64)
    while True:
        further = parents[parents]
        if np.array_equal(further, parents):
            depths += origins[parents] != NO_CAUSE
            return depths
        depths += depths[parents]
        parents = further


def _lifted(run: Run, nodes: Ints, depths: Ints, replaced: Ints) -> tuple[Ints, Ints]:
    """Return whom the dead held down, and by ordinal the nearest dead, among equals the smallest.

    That is: the unhealthy targets, not raised themselves, of `CONTRADICTS` and `SUPERSEDES` edges
    out of nodes that this run raised to severity 3.
    """
    edges = run.structure.lifted
    if not len(edges.node):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    severity = np.frombuffer(run.severity, np.uint8)
    before = np.frombuffer(run.before, np.uint8)
    dead = np.flatnonzero((severity[nodes] == DEAD) & (before[nodes] < DEAD))
    positions, counts = edges.spread(nodes[dead])
    lifters, targets = np.repeat(dead, counts), edges.node[positions]
    spared = np.concatenate((replaced, np.array(sorted(run.frozen), np.int64)))
    held = (before[targets] > 0) & (severity[targets] == before[targets])
    held &= ~np.isin(targets, spared)
    lifters, targets = lifters[held], targets[held]
    order = np.lexsort((lifters, depths[lifters], targets))
    lifters, targets = lifters[order], targets[order]
    first = np.concatenate((targets[:1] == targets[:1], targets[1:] != targets[:-1]))
    return targets[first], lifters[first]


def _ordered(nodes: Ints, depths: Ints, causes: Ints, origins: Ints, raised: int) -> Chains:
    order = np.argsort(depths << 31 | nodes)
    ordinal = np.empty(len(order), np.int64)
    ordinal[order] = np.arange(len(order))
    causes = causes[order]
    return Chains(
        nodes=nodes[order],
        depths=depths[order],
        causes=np.where(causes == NO_CAUSE, NO_CAUSE, ordinal[causes]),
        origins=origins[order],
        reevaluated=order >= raised,
    )

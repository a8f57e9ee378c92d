"""How many places wait on each, directly or not: behind it in the condensation of a graph.

Exact for graphs of up to `EXACT` places, by sets of bits. Beyond, an estimate by the size
estimation framework of Cohen (1997): each place draws `SKETCH` numbers from an exponential
distribution, and the least of all that lie behind a place tell how many these are. The relative
standard error is 1 / sqrt(SKETCH - 2), some 27 per cent. The numbers are drawn from a fixed seed,
so that the same graph gives the same answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrograph.rules.arrays import Adjacency, Ints
from retrograph.rules.condensation import NARROW, Condensation, adjacency, waves

EXACT = 4_096
SKETCH = 16
_CHUNK = 1 << 16
"""How many edges are gathered at once: bounds the memory a wide wave takes."""

Sketches = NDArray[np.float32]


def waiting(condensation: Condensation, sources: Ints, targets: Ints) -> Ints:
    """Return by place how many places lie behind it and outside of its component."""
    component = condensation.component
    count = len(component)
    source, target = component[sources], component[targets]
    outward = source != target
    behind = adjacency(source[outward], target[outward], count)
    # Sinks come first: a component is counted when all that lie behind it are.
    order = waves(
        adjacency(target[outward], source[outward], count),
        np.bincount(source[outward], minlength=count),
    )
    if count <= EXACT:
        return _exact(component, behind, order)[component]
    return _estimated(component, behind, order)[component]


def _exact(component: Ints, behind: Adjacency, order: list[Ints]) -> Ints:
    members = [0] * len(component)
    for place, leader in enumerate(component.tolist()):
        members[leader] |= 1 << place
    after = [0] * len(component)
    start, node = behind.start.tolist(), behind.node.tolist()
    for leader in np.concatenate(order).tolist() if order else ():
        reached = 0
        for target in node[start[leader] : start[leader + 1]]:
            reached |= members[target] | after[target]
        after[leader] = reached
    return np.array([each.bit_count() for each in after], np.int64)


def _estimated(component: Ints, behind: Adjacency, order: list[Ints]) -> Ints:
    count = len(component)
    drawn = np.random.default_rng(count).standard_exponential((count, SKETCH), np.float32)
    own: Sketches = drawn
    members = np.flatnonzero(component != np.arange(count))
    np.minimum.at(own, component[members], drawn[members])
    least: Sketches = np.full((count, SKETCH), np.inf, np.float32)
    for wave in order:
        for part in _parts(behind, wave):
            _gather(own, least, behind, part)
        # From here on a component stands for itself and for all behind it.
        own[wave] = np.minimum(own[wave], least[wave])
    totals = least.sum(axis=1, dtype=np.float64)
    return np.rint(np.where(np.isfinite(totals), (SKETCH - 1) / totals, 0)).astype(np.int64)


def _parts(behind: Adjacency, wave: Ints) -> list[Ints]:
    """Return a wave in parts of about `_CHUNK` edges at most; one place may have more."""
    degrees = behind.start[wave + 1] - behind.start[wave]
    busy = degrees > 0
    wave, degrees = wave[busy], degrees[busy]
    if len(wave) < NARROW or degrees.sum() <= _CHUNK:
        return [wave]
    cuts = np.flatnonzero(np.diff(np.cumsum(degrees) // _CHUNK)) + 1
    return np.split(wave, cuts)


def _gather(own: Sketches, least: Sketches, behind: Adjacency, part: Ints) -> None:
    """Take into `least` what lies behind each place of `part`; each has an edge at least."""
    if not len(part):
        return
    positions, degrees = behind.spread(part)
    first = np.concatenate(([0], np.cumsum(degrees)[:-1]))
    least[part] = np.minimum.reduceat(own[behind.node[positions]], first, axis=0)

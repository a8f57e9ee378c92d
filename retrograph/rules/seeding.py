"""How a cascade is started: what rises at once, and what is offered in the first round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from retrograph.rules.edge_type import CEILING, EdgeType
from retrograph.rules.run import Run
from retrograph.rules.validity import SEVERITY, STALE, Validity


@dataclass(slots=True)
class Start:
    """By place: `rising` roots with their severities, the `effects` that roots are given, and the
    `replaced`, INVALID roots that only become SUPERSEDED.
    """

    rising: dict[int, int] = field(default_factory=dict)
    effects: dict[int, Validity] = field(default_factory=dict)
    replaced: list[int] = field(default_factory=list)


def sow(run: Run, roots: Mapping[int, Validity], passing: Iterable[tuple[int, int, int]]) -> Start:
    """Return how the run starts, and let it hear what unraised sources pass in the first round.

    Raises `NotFound` for an unknown root. An edge that is not in the graph passes nothing.
    """
    start = _start(run, roots)
    _offer_touched(run)
    structure = run.structure
    for source_id, target_id, kind in passing:
        source, target = structure.place(source_id), structure.place(target_id)
        if structure.has(source, target, kind) and source not in start.rising:
            _pass(run, source, target, kind)
    return start


def _start(run: Run, roots: Mapping[int, Validity]) -> Start:
    start = Start()
    for place, effect in zip(run.graph.places(roots), roots.values(), strict=True):
        if place in run.frozen:
            continue
        start.effects[place] = effect
        if SEVERITY[effect] > run.before[place]:
            start.rising[place] = SEVERITY[effect]
            run.cause[place] = place
        elif effect == Validity.SUPERSEDED and run.graph.projected[place] == Validity.INVALID:
            start.replaced.append(place)
    return start


def _offer_touched(run: Run) -> None:
    """Let the touched nodes, the frozen ones, pass severity 1; the smallest is the cause."""
    touched = np.array(sorted(run.frozen, reverse=True), np.int64)
    for adjacency in (run.structure.dependents, run.structure.supported):
        positions, counts = adjacency.spread(touched)
        sources = np.repeat(touched, counts).tolist()
        for source, target in zip(sources, adjacency.node[positions].tolist(), strict=True):
            _offer(run, target, STALE, source)


def _pass(run: Run, source: int, target: int, kind: int) -> None:
    severity = run.before[source]
    if kind == EdgeType.SUPPORTED_BY and severity:
        run.support().pass_on(source, target)
    elif severity and kind in CEILING:
        _offer(run, target, min(severity, CEILING[kind]), source)


def _offer(run: Run, target: int, effect: int, source: int) -> None:
    known, cause = run.offers.get(target, (0, 0))
    if effect > known or (effect == known and source < ~cause):
        run.offers[target] = effect, ~source

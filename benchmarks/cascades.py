"""Cascades in storage: against bare `executemany`, by size, and by shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare_cascade import CascadeRows
from benchmarks.databases import fresh, opened
from benchmarks.graphs import FLEET, ROOT, chain, layered, plant
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.sizes import Sizes
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Scope
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef

WARM = "storage, warm"
COLD = "storage, cold"
BARE = "four bare executemany"


def fell(scope: Scope, count: int, root: int = ROOT, effect: Validity = Validity.INVALID) -> None:
    """Invalidates a root and makes sure that it felled `count` nodes, itself included."""
    run = invalidate(scope, FLEET, Invalidation(NodeRef(id=root), "measured", effect))
    if run.impact_count != count:
        raise AssertionError(f"the cascade felled {run.impact_count} of {count} nodes")


def time_cascade(
    template: Path, count: int, *, warm: bool = True, effect: Validity = Validity.INVALID
) -> float:
    """The seconds of one cascade, its commit included, on a fresh copy of the graph."""
    with opened(fresh(template), warm=warm) as scope:
        return timed(lambda: fell(scope, count, effect=effect))


def against_executemany(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Warm and cold against four bare `executemany` of the rows that the cascade writes."""
    for count in (sizes.small, sizes.large):
        template = plant(folder / f"dag-{count}.db", layered(count, sizes.depth))
        yield from _against_executemany(template, count, sizes.rounds)


def _against_executemany(template: Path, count: int, rounds: int) -> Iterator[Row]:
    rows = _rows_of(template, count)
    seconds = interleaved(
        rounds,
        {
            BARE: lambda: rows.time(fresh(template)),
            WARM: lambda: time_cascade(template, count),
            COLD: lambda: time_cascade(template, count, warm=False),
        },
    )
    what = f"Cascade of {count:,} nodes, {{}} graph cache, against four bare `executemany`"
    yield compare(what.format("warm"), 0.75, seconds, WARM, BARE)
    yield compare(what.format("cold"), 1.2, seconds, COLD, BARE)


def growth(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Ten times the nodes, and a chain against a DAG of as many nodes."""
    large = plant(folder / "large.db", layered(sizes.large, sizes.depth))
    small = plant(folder / "small.db", layered(sizes.small, sizes.depth))
    line = plant(folder / "chain.db", chain(sizes.small))
    most, fewest = f"{sizes.large:,} nodes", f"{sizes.small:,} nodes"
    seconds = interleaved(
        sizes.rounds,
        {
            most: lambda: time_cascade(large, sizes.large),
            fewest: lambda: time_cascade(small, sizes.small),
            "a chain": lambda: time_cascade(line, sizes.small),
        },
    )
    yield compare(f"Cascade of {most} against {fewest}", 11, seconds, most, fewest)
    what = f"Cascade down a chain of {fewest} against a DAG of as many"
    yield compare(what, 2, seconds, "a chain", fewest)


def _rows_of(template: Path, count: int) -> CascadeRows:
    path = fresh(template)
    with opened(path) as scope:
        fell(scope, count)
    return CascadeRows.read(path)

"""Judgements: what one costs among many open tasks, and what it costs to open them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.bare_cascade import CascadeRows
from benchmarks.cascades import BARE, WARM, fell, time_cascade
from benchmarks.databases import fresh, opened
from benchmarks.graphs import FLEET, layered, plant
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.sizes import Sizes
from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.complete_revalidation import (
    Completion,
    Outcome,
    complete_revalidation,
)
from retrograph.resolvers.scope import Scope
from retrograph.rules.validity import Validity

STALE = Validity.DEFINITELY_STALE
WITHOUT = "a cascade that opens none"


def judging(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Judgements among as many open tasks as there are nodes, then the opening itself."""
    counts = (sizes.open, sizes.small, sizes.large)
    felled = {count: _felled(folder / f"open-{count}.db", count, sizes) for count in counts}
    seconds = interleaved(
        sizes.rounds,
        {
            _among(count): partial(time_judgements, path, sizes.judged)
            for count, path in felled.items()
        },
    )
    few = _among(sizes.open)
    for count in counts[1:]:
        what = f"{sizes.judged} judgements, each claimed and verified, with {count:,} open tasks"
        yield compare(f"{what} against {sizes.open:,}", 1.5, seconds, _among(count), few)
    yield from _opening(folder, sizes)


def _opening(folder: Path, sizes: Sizes) -> Iterator[Row]:
    count = sizes.large
    template = plant(folder / "healthy.db", layered(count, sizes.depth))
    rows = _rows_of(template, count)
    seconds = interleaved(
        sizes.rounds,
        {
            BARE: lambda: rows.time(fresh(template)),
            WARM: lambda: time_cascade(template, count, effect=STALE),
            WITHOUT: lambda: time_cascade(template, count),
        },
    )
    what = f"Cascade of {count:,} nodes that opens as many tasks"
    yield compare(f"{what}, against bare `executemany` of all its rows", 1.2, seconds, WARM, BARE)
    yield compare(f"{what}, against one that opens none", None, seconds, WARM, WITHOUT)


def time_judgements(template: Path, count: int) -> float:
    """The seconds of judging the root, which isn't counted, and then so many of what is ready."""
    with opened(fresh(template), warm=True) as scope:
        _judge(scope)
        return timed(lambda: _judge(scope, count))


def _judge(scope: Scope, count: int = 1) -> None:
    for _ in range(count):
        _judge_one(scope)


def _judge_one(scope: Scope) -> None:
    (task,) = claim_revalidations(scope, FLEET, "measured", 1)
    verified = Completion(task.id, task.lease_token or "", Outcome.VERIFIED)
    complete_revalidation(scope, FLEET, verified)


def _among(count: int) -> str:
    return f"among {count:,}"


def _felled(path: Path, count: int, sizes: Sizes) -> Path:
    plant(path, layered(count, sizes.depth))
    with opened(path) as scope:
        fell(scope, count, effect=STALE)
    return path


def _rows_of(template: Path, count: int) -> CascadeRows:
    path = fresh(template)
    with opened(path) as scope:
        fell(scope, count, effect=STALE)
    return CascadeRows.read(path)

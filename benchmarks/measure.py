"""Ratios of times that were taken in turn, so that a busy machine slows both sides alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter

Task = Callable[[], float]
"""Does something once and returns the seconds of the part that counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what was compared, the ratios of the rounds, and the aim.

    Without `at_least` the aim is an upper bound; None only reports.  `note` gives the median times.
    """

    what: str
    ratios: tuple[float, ...]
    aim: float | None
    note: str
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """The median of the rounds."""
        return median(self.ratios)

    @property
    def met(self) -> bool:
        """Whether the median meets the aim."""
        if self.aim is None:
            return True
        return self.ratio >= self.aim if self.at_least else self.ratio <= self.aim


def timed(action: Callable[[], object]) -> float:
    """The seconds that `action` takes, collections of garbage not among them."""
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        action()
        return perf_counter() - start
    finally:
        gc.enable()


def interleaved(rounds: int, tasks: Mapping[str, Task]) -> dict[str, list[float]]:
    """The seconds of each task in each round; within a round each runs once, in turn.

    A round that isn't counted comes first: it fills the caches of statements and files.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for round_number in range(rounds + 1):
        for name, task in tasks.items():
            taken = task()
            if round_number:
                seconds[name].append(taken)
    return seconds


def compare(
    what: str,
    aim: float | None,
    seconds: dict[str, list[float]],
    ours: str,
    theirs: str,
    *,
    scale: float = 1.0,
    at_least: bool = False,
    with_p99: bool = False,
) -> Row:
    """The row for the time of `ours` over that of `theirs`, round by round, times `scale`."""
    pairs = zip(seconds[ours], seconds[theirs], strict=True)
    told = _median_and_p99 if with_p99 else _median
    note = " / ".join(f"{told(seconds[name])} {name}" for name in (ours, theirs))
    ratios = tuple(scale * one / other for one, other in pairs)
    return Row(what, ratios, aim, note, at_least)


def p99_of(seconds: list[float]) -> float:
    """The time that one of a hundred exceeds."""
    return max(seconds) if len(seconds) < 2 else quantiles(seconds, n=100, method="inclusive")[-1]


def _median(seconds: list[float]) -> str:
    return as_time(median(seconds))


def _median_and_p99(seconds: list[float]) -> str:
    return f"{_median(seconds)} (p99 {as_time(p99_of(seconds))})"


def as_time(seconds: float) -> str:
    """Seconds to three digits, in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"

"""What a store counts of its own work, for whoever watches the process."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock

SIZES = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
"""Impacts up to which cascades are counted together."""
SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Seconds up to which they are."""

CascadeCost = tuple[int, float]
"""How many impacts a cascade had, and how many seconds it took to decide."""


@dataclass
class Histogram:
    """How often values were at most each bound, and beyond the last; and their sum."""

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    sum: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def note(self, value: float) -> None:
        """Counts a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Tallies:
    """Counts since the store was opened, of what was committed; safe to share between threads."""

    def __init__(self) -> None:
        self.events = 0
        self.sizes = Histogram(SIZES)
        self.seconds = Histogram(SECONDS)
        self._lock = Lock()

    def note(self, events: int, cascades: Iterable[CascadeCost]) -> None:
        """Adds what a transaction has written."""
        with self._lock:
            self.events += events
            for size, seconds in cascades:
                self.sizes.note(size)
                self.seconds.note(seconds)

"""When to try again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """At most `attempts` tries in a row that fail; waits grow from `first` to `most` seconds.

    `chance` gives a number from 0 to 1 that spreads the waits of many clients.
    """

    attempts: int = 5
    first: float = 0.25
    most: float = 30.0
    chance: Callable[[], float] = random.random

    def pause(self, failures: int) -> float:
        """How many seconds to wait after so many failures in a row."""
        longest = min(self.most, self.first * 2.0 ** min(failures - 1, 60))
        return longest * (0.5 + self.chance() / 2)


DEFAULT_RETRY = Retry()

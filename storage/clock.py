"""Where time comes from: UTC microseconds since the epoch, injected everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]


def system_clock() -> int:
    """The machine's clock, in UTC microseconds."""
    return time.time_ns() // 1000

"""What an episode is worth: it decays with time, and every use adds to it."""

from __future__ import annotations

import math

DAY = 86_400_000_000
"""Microseconds."""
HALF_LIFE = 30 * DAY
FIRST_WORTH = 1.0
WORTH_OF_A_USE = 0.1

_DECAY = math.log(2) / HALF_LIFE


def utility(created_at: int, uses: int, now: int) -> float:
    """`e^(−λ(t−t0)) + 0.1·uses`, with a half-life of 30 days since the episode was stored."""
    return FIRST_WORTH * math.exp(-_DECAY * max(0, now - created_at)) + WORTH_OF_A_USE * uses

"""The laws of judging again: how sure a verified node is, and when what failed is tried anew."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

FIRST_DELAY = 2_000_000
LONGEST_DELAY = 300_000_000
"""Microseconds: after the first error, and the most whatever the number of errors."""
MOST_ATTEMPTS = 5
"""After so many errors a task is a dead letter."""
MAX_LEASE_SECONDS = 3_600
MAX_CLAIMS = 100


def judged_confidence(base: float, standing: int, supporters: int) -> float:
    """Return the confidence of a verified node: its base, weakened by supporters that fell away.

    base × standing supporters / all supporters, or the base where there are none.
    """
    return base if supporters == 0 else base * standing / supporters


@dataclass(frozen=True, slots=True)
class Retry:
    """What an error leads to: another try after `delay` microseconds, or none any more."""

    attempt: int
    delay: int | None


def after_error(task_id: int, attempt: int) -> Retry:
    """Return what follows an error of a task that had `attempt` errors before.

    2 s × 2^attempt, at most five minutes, of which a share between a half and all is waited for:
    tasks that failed together don't come back together. The share is drawn from the task's id and
    the attempt, so that it can be foretold.
    """
    failed = attempt + 1
    if failed >= MOST_ATTEMPTS:
        return Retry(failed, None)
    longest = min(FIRST_DELAY << attempt, LONGEST_DELAY)
    digest = hashlib.sha256(f"{task_id}/{attempt}".encode()).digest()
    share = int.from_bytes(digest[:4]) / (1 << 32)
    return Retry(failed, round(longest * (1 + share) / 2))

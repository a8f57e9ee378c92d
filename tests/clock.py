"""A clock that a test moves by hand."""

from __future__ import annotations

from retrograph.rules.instant import parse_instant

START = parse_instant("2026-03-01T00:00:00Z")


class ManualClock:
    """Tells `now` (UTC microseconds), which may also be set back."""

    def __init__(self, now: int = START) -> None:
        self.now = now
        self.story = 0
        """How often the time was set anew."""

    def __call__(self) -> int:
        return self.now

    def restart(self, now: int) -> None:
        """Begins another story, whose fleets know nothing of the times of the last one's."""
        self.now, self.story = now, self.story + 1

    def advance(self, micros: int = 1_000_000) -> int:
        """Moves the clock and returns the new time."""
        self.now += micros
        return self.now

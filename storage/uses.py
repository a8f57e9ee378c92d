"""What was used since it was last written down: kept in memory, so that no read has to write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from threading import Lock

FleetKey = tuple[int, int]
Uses = dict[int, tuple[int, int]]
"""How often, and when last (UTC microseconds), by the id of the episode."""


class UseLog:
    """Uses by tenant and fleet; what a process that is killed hasn't written down is lost."""

    def __init__(self) -> None:
        self._uses: defaultdict[FleetKey, Uses] = defaultdict(dict)
        self._lock = Lock()

    def note(self, key: FleetKey, ids: Iterable[int], now: int) -> None:
        """Takes down that episodes of a fleet were used now."""
        self.give_back(key, dict.fromkeys(ids, (1, now)))

    def give_back(self, key: FleetKey, uses: Uses) -> None:
        """Adds uses, those that could not be written among them."""
        with self._lock:
            known = self._uses[key]
            for id, (count, last) in uses.items():
                before, before_last = known.get(id, (0, last))
                known[id] = before + count, max(last, before_last)

    def take(self) -> dict[FleetKey, Uses]:
        """All that was noted, and forgets it."""
        with self._lock:
            taken, self._uses = dict(self._uses), defaultdict(dict)
        return {key: uses for key, uses in taken.items() if uses}

"""Runs a relay until it is closed: at once when something was committed, later when it fails."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event

from retrograph.resolvers.relay import Relay
from retrograph.rules.errors import StorageError
from retrograph.rules.stream_errors import DeliveryFailed

REST_SECONDS = 5.0
"""After so long it looks again in any case: whether it leads now, whether the sink forgot."""
FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
"""Seconds after the first failure and after many; half of each at least, by chance."""

_log = logging.getLogger(__name__)


class Relaying:
    """Steps a relay; `rest` waits for news, for so many seconds at most, or until it is woken."""

    def __init__(
        self,
        relay: Relay,
        rest: Callable[[Event, float], object] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._relay = relay
        self._rest = rest or _rest
        self._chance = chance
        self._news = Event()
        self._closed = Event()
        self._failures = 0

    def wake(self, *_: object) -> None:
        """Tells it that something may have been committed; may be called from any thread."""
        self._news.set()

    def close(self) -> None:
        """Lets it end after its present delivery."""
        self._closed.set()
        self._news.set()

    def run(self) -> None:
        """Relays until it is closed; then leaves the lead."""
        try:
            while not self._closed.is_set():
                self._news.clear()
                wait = self.turn()
                if wait:
                    self._closed.wait(wait)
                elif not self._closed.is_set():
                    self._rest(self._news, REST_SECONDS)
        finally:
            with suppress(StorageError):
                self._relay.resign()

    def turn(self) -> float:
        """Delivers what there is; returns how many seconds to wait after a failure, else 0."""
        try:
            self._relay.step()
        except (DeliveryFailed, StorageError) as error:
            self._failures += 1
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._failures - 1, 20))
            wait *= 0.5 + 0.5 * self._chance()
            _log.warning("relay %s: %s Next try in %.1f s.", self._relay.name, error.message, wait)
            return wait
        self._failures = 0
        return 0.0


def _rest(news: Event, seconds: float) -> None:
    news.wait(seconds)


def polling(has_news: Callable[[], bool], every: float) -> Callable[[Event, float], object]:
    """A rest that asks every so many seconds whether any process has committed."""

    def rest(news: Event, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not news.wait(every) and time.monotonic() < end and not has_news():
            pass

    return rest

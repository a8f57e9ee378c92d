"""The bell: wakes subscribers when their fleet may have news."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from weakref import WeakSet

FleetKey = tuple[int, int]
Listen = Callable[[Callable[[int, int, int], None]], Callable[[], None]]


class Waiter:
    """A subscriber's ear. Clear it, read, then wait: news that comes while reading is not lost."""

    def __init__(self, bell: Bell, expires_at: int | None, *, ended: bool) -> None:
        self.expires_at = expires_at
        self._bell = bell
        self._ended = ended
        self._news = asyncio.Event()

    def stopped(self) -> bool:
        """Whether nobody wants its news any more."""
        return self._ended or self._bell.closed

    def clear(self) -> None:
        """Forgets what has rung so far: the reading that follows sees it."""
        self._news.clear()

    async def wait(self) -> None:
        """Waits for news since it was cleared, or for the end."""
        if not self.stopped():
            await self._news.wait()

    def wake(self) -> None:
        """Tells the subscriber that there may be news."""
        self._news.set()

    def end(self) -> None:
        """Tells the subscriber to stop."""
        self._ended = True
        self.wake()


class Bell:
    """Rings for commits of this process at once, and for those of others when a poll tells.

    To be made and closed in the event loop; `ring` may be called from any thread.
    """

    def __init__(self, listen: Listen) -> None:
        self.closed = False
        self._loop = asyncio.get_running_loop()
        self._waiters: dict[FleetKey | None, set[Waiter]] = {}
        self._ears: dict[object, Waiter] = {}
        self._ended: WeakSet[object] = WeakSet()
        self._unlisten = listen(self.ring)

    @contextlib.contextmanager
    def waiter(
        self, tenant_id: int, fleet_id: int, expires_at: int | None = None
    ) -> Iterator[Waiter]:
        """The ear of the present task, which has one, for a fleet while the context lasts.

        From `expires_at` on it may be woken without news: it may no longer listen.
        """
        with self._waiter((tenant_id, fleet_id), expires_at) as waiter:
            yield waiter

    @contextlib.contextmanager
    def follower(self, expires_at: int | None = None) -> Iterator[Waiter]:
        """The ear of the present task for what somebody else wakes it for, and for its end."""
        with self._waiter(None, expires_at) as waiter:
            yield waiter

    @contextlib.contextmanager
    def _waiter(self, key: FleetKey | None, expires_at: int | None) -> Iterator[Waiter]:
        task = asyncio.current_task()
        waiter = Waiter(self, expires_at, ended=task in self._ended)
        self._waiters.setdefault(key, set()).add(waiter)
        self._ears[task] = waiter
        try:
            yield waiter
        finally:
            del self._ears[task]
            self._waiters[key].discard(waiter)
            if not self._waiters[key]:
                del self._waiters[key]

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._waiters)

    def ring(self, tenant_id: int, fleet_id: int, instant: int) -> None:
        """Wakes the subscribers of a fleet; called after a commit, by the thread that made it."""
        if not self.closed:
            self._loop.call_soon_threadsafe(self._wake, (tenant_id, fleet_id))

    def ring_all(self) -> None:
        """Wakes whoever listens to a fleet; to be called in the event loop."""
        for key in self._waiters.keys() - {None}:
            self._wake(key)

    def expire(self, now: int) -> None:
        """Wakes the subscribers that may no longer listen; to be called in the event loop."""
        for waiter in [each for ears in self._waiters.values() for each in ears]:
            if waiter.expires_at is not None and waiter.expires_at <= now:
                waiter.wake()

    def end(self, task: asyncio.Task[None]) -> None:
        """Ends what a task listens to, or is about to, when it has dealt with its present news.

        Cancelling it instead would leave an event half resolved.
        """
        self._ended.add(task)
        if task in self._ears:
            self._ears[task].end()

    def close(self) -> None:
        """Ends every subscription; once."""
        if not self.closed:
            self.closed = True
            self._unlisten()
            for key in self._waiters:
                self._wake(key)

    def _wake(self, key: FleetKey | None) -> None:
        for waiter in self._waiters.get(key, ()):
            waiter.wake()

"""A feed: what subscribers who ask alike are told, worked out once and kept in a bounded log.

Whoever follows it is a cursor over that log. A follower whose place the log has left behind reads
the database instead, until it has caught up.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Self

from retrograph.schema.bell import Waiter

Position = tuple[int, ...]
"""The instant of an item and its place there: whoever stands there was told it, and all before."""

LOG_EVENTS = 4_096
"""Events that a log keeps at most."""
BATCH_BYTES = 64 * 1024
"""What a follower takes at once at most, unless a single event has more; and what is told in a row
at most before followers get their turn.
"""
SPAN = 0.01
"""Seconds after which they get it in any case, if the next event takes so long."""
KEPT = 8
"""Stretches of a log, and ways to write one, that are kept for whoever takes the same."""


@dataclass(slots=True)
class Reading:
    """Where a stream of events stands: it begins behind `position`, which goes on with it.

    `rest` is called when it has come to the end for now.
    """

    position: Position
    rest: Callable[[], None] = lambda: None


class Told(NamedTuple):
    """An event as every follower is told it: the response to it, as the text of a JSON object."""

    position: Position
    payload: bytes


class Payloads(tuple[bytes, ...]):  # noqa: SLOT001 (it keeps how they are written)
    """Responses that are taken together; how they are written is worked out once for all."""

    def __init__(self, _: Iterable[bytes] = ()) -> None:
        self._written: dict[int, list[bytes]] = {}

    def written(self, way: int, write: Callable[[Sequence[bytes]], list[bytes]]) -> Sequence[bytes]:
        """What `write` gives for these responses, which `way` alone may change."""
        known = self._written.get(way)
        if known is None:
            if len(self._written) >= KEPT:
                self._written.clear()
            known = self._written[way] = write(self)
        return known


class Stretch(tuple[Told, ...]):  # noqa: SLOT001 (it keeps the responses)
    """Events in a row of a log, and their responses."""

    def __init__(self, told: Iterable[Told] = ()) -> None:
        self.payloads = Payloads(each.payload for each in self)


class Feed:
    """One log, which the one that works out its responses writes, and many followers read.

    It keeps as many bytes as `room` says at the moment, and at least the last event. To be used in
    the event loop.
    """

    def __init__(self, start: Position, room: Callable[[], int]) -> None:
        self.reading = Reading(start, self.wake)
        self.over = False
        self.failure: Exception | None = None
        self._room = room
        self._base = start
        self._log: deque[Told] = deque()
        self._bytes = 0
        self._first = 0
        self._ears: set[Waiter] = set()
        self._taken: dict[tuple[int, int], Stretch] = {}
        self._untold = 0
        self._since = 0.0

    @property
    def followers(self) -> int:
        """How many follow it."""
        return len(self._ears)

    def tell(self, payload: bytes) -> bool:
        """Appends the response to the event that the reading stands at.

        Events that come in a row are told together, so that they are sent together. Gives whether
        the followers have been woken: they should have their turn.
        """
        self._log.append(Told(self.reading.position, payload))
        self._bytes += len(payload)
        while len(self._log) > 1 and (len(self._log) > LOG_EVENTS or self._bytes > self._room()):
            gone = self._log.popleft()
            self._base = gone.position
            self._bytes -= len(gone.payload)
            self._first += 1
        now = asyncio.get_running_loop().time()
        self._since = now if not self._untold else self._since
        self._untold += len(payload)
        due = self._untold >= min(BATCH_BYTES, self._room()) or now - self._since >= SPAN
        if due:
            self.wake()
        return due

    def end(self, failure: Exception | None = None) -> None:
        """Says that nothing more will be told; its followers raise `failure`."""
        self.over, self.failure = True, failure
        self.wake()

    def wake(self) -> None:
        """Wakes whoever follows."""
        self._untold = 0
        for ear in self._ears:
            ear.wake()

    def covers(self, position: Position) -> bool:
        """Whether everything it was told behind a position is still in the log."""
        return position >= self._base

    def number_behind(self, position: Position) -> int:
        """The number of the first event behind a position that is covered."""
        return self._first + bisect_right(self._log, position, key=_position)

    def batch(self, number: int) -> Stretch | None:
        """Events from a number on, as many as are taken at once; None where they are gone."""
        index, end = number - self._first, self._first + len(self._log)
        if index < 0:
            return None
        known = self._taken.get((number, end))
        if known is None:
            while len(self._taken) >= KEPT:
                del self._taken[next(iter(self._taken))]
            known = self._taken[number, end] = Stretch(self._from(index))
        return known

    def _from(self, index: int) -> Iterator[Told]:
        size = 0
        for told in islice(self._log, index, None):
            yield told
            size += len(told.payload)
            if size >= BATCH_BYTES:
                return

    def attach(self, ear: Waiter) -> None:
        """Wakes a follower from now on."""
        self._ears.add(ear)

    def detach(self, ear: Waiter) -> None:
        """Wakes a follower no more."""
        self._ears.discard(ear)


class Way(ABC):
    """Takes the place of an event's data: whoever sends results goes on with `take`.

    Until nothing comes any more.
    """

    @abstractmethod
    async def take(self) -> Payloads:
        """The next responses; whoever calls it has sent what it gave before."""

    @property
    @abstractmethod
    def cursor(self) -> str:
        """To go on behind what was sent."""


class Following(Way):
    """A subscriber's way along a feed, from a position that the feed covers.

    `position` is that of the last event which was sent.
    """

    def __init__(
        self,
        feed: Feed,
        position: Position,
        ear: Waiter,
        is_over: Callable[[], bool],
        cursor_of: Callable[[Position], str],
    ) -> None:
        self.position = position
        self._cursor_of = cursor_of
        self._feed = feed
        self._ear = ear
        self._is_over = is_over
        self._taken = position
        self._number = feed.number_behind(position)

    def __enter__(self) -> Self:
        self._feed.attach(self._ear)
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.detach(self._ear)

    @property
    def cursor(self) -> str:
        """To go on behind what was sent."""
        return self._cursor_of(self.position)

    async def take(self) -> Payloads:
        """The next responses, when there are any; none: the following is over, or has to end."""
        self.position = self._taken
        while not (self._ear.stopped() or self._is_over()):
            self._ear.clear()
            batch = self._feed.batch(self._number)
            if batch:
                self._number += len(batch)
                fresh = self._fresh(batch)
                if fresh:
                    return fresh
            elif batch is None or self._feed.over:
                break
            else:
                await self._ear.wait()
        return Payloads()

    def _fresh(self, batch: Stretch) -> Payloads:
        """What the follower hasn't had: reading alone, it may have come farther than the feed."""
        had, self._taken = self._taken, max(self._taken, batch[-1].position)
        if batch[0].position > had:
            return batch.payloads
        return Payloads(each.payload for each in batch if each.position > had)


def _position(told: Told) -> Position:
    return told.position

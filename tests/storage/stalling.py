"""Holds a store's writer up in the middle of a transaction, for as long as a test wants."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Any, Self

from retrograph.storage.store import Store
from retrograph.storage.write import Write
from retrograph.storage.writer import GroupWriter

PATIENCE = 60
"""Seconds after which a test gives up; nothing waits so long unless it has failed."""


class Stalled:
    """A write that has begun and waits, before its commit, for `go_on` (or the end of `with`).

    It does `job` before it waits; `instant` is then its instant.
    """

    def __init__(self, store: Store, job: Callable[[Write], object] = bool) -> None:
        self._store, self._job = store, job
        self.instant = 0
        self._begun, self._released = Event(), Event()
        self._pool = ThreadPoolExecutor(1)
        self._future: Future[Any]

    def __enter__(self) -> Self:
        self._future = self._pool.submit(self._store.write, 1, 1, self._wait)
        assert self._begun.wait(PATIENCE)
        return self

    def go_on(self) -> None:
        """Lets the write commit."""
        self._released.set()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.go_on()
        self._pool.shutdown()
        self._future.result()

    def _wait(self, write: Write) -> None:
        self._job(write)
        self.instant = write.instant
        self._begun.set()
        assert self._released.wait(PATIENCE)


def wait_for_queue(store: Store, length: int) -> None:
    """Returns when so many jobs wait for the writer."""
    looked, writer = Event(), store._writer
    assert isinstance(writer, GroupWriter)
    for _ in range(PATIENCE * 1000):
        if writer._queue.qsize() >= length:
            return
        looked.wait(0.001)
    raise AssertionError("no job came")

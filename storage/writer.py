"""The one writer: a thread that takes jobs from a queue and commits them in groups.

Jobs that wait while another commits share the next transaction, so that one flush to the disk
serves them all.  Each has an instant and a verdict of its own: a job that fails is rolled back to
its savepoint and takes nobody with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

from sqlalchemy import Connection

from retrograph.rules.errors import DatabaseUnavailable
from retrograph.storage.profile import Profile

MOST_JOBS = 64
"""How many jobs one transaction may carry."""

_log = logging.getLogger(__name__)


class Group(Protocol):
    """What jobs of one transaction share: it is published when the transaction is durable."""

    def publish(self) -> None:
        """Called once, after the commit."""


Job = Callable[[Connection, Any], Any]


@dataclass(frozen=True, slots=True)
class _Queued:
    job: Job
    verdict: Future[Any]


class Writer:
    """Runs jobs one after another; `make_group` makes what the jobs of a transaction share."""

    def __init__(self, profile: Profile, make_group: Callable[[], Group]) -> None:
        self._profile = profile
        self._make_group = make_group
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._work, name="retrograph-writer", daemon=True)
        self._thread.start()

    def run(self, job: Job) -> Any:  # noqa: ANN401 (whatever the job returns)
        """Waits for the job's commit and returns what it returned, or raises what it raised."""
        if self._closed:
            raise DatabaseUnavailable("The store is closed; open it again.")
        verdict: Future[Any] = Future()
        self._queue.put(_Queued(job, verdict))
        return verdict.result()

    def close(self) -> None:
        """Finishes what is queued and ends the thread."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            more = self._waiting()
            self._commit([first, *(job for job in more if job is not None)])
            if None in more:
                return

    def _waiting(self) -> list[_Queued | None]:
        waiting: list[_Queued | None] = []
        while len(waiting) < MOST_JOBS - 1 and None not in waiting:
            try:
                waiting.append(self._queue.get_nowait())
            except Empty:
                break
        return waiting

    def _commit(self, jobs: list[_Queued]) -> None:
        group = self._make_group()
        try:
            with self._profile.writer().begin() as connection:
                done = [(queued, self._attempt(connection, queued, group)) for queued in jobs]
        except Exception as error:  # noqa: BLE001 (handed to whoever waits for it)
            for queued in jobs:
                _fail(queued.verdict, error)
            return
        group.publish()
        for queued, answer in done:
            if not queued.verdict.done():
                queued.verdict.set_result(answer)
        self._tidy()

    def _attempt(self, connection: Connection, queued: _Queued, group: Group) -> Any:  # noqa: ANN401
        try:
            with connection.begin_nested():
                return queued.job(connection, group)
        except Exception as error:
            if not self._profile.in_transaction(connection):
                raise  # the engine gave up the whole transaction: every job of the group fails
            queued.verdict.set_exception(error)
            return None

    def _tidy(self) -> None:
        try:
            self._profile.tidy()
        except Exception:
            _log.exception("housekeeping after a commit failed; it is tried again after the next")


def _fail(verdict: Future[Any], error: Exception) -> None:
    if not verdict.done():
        verdict.set_exception(error)

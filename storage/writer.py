"""Runs write jobs: in groups, one group at a time, or each by its caller.

Where an engine has one writer anyway, jobs that wait while another commits share the next
transaction, so that one flush to the disk serves them all.  Each has an instant and a verdict of
its own: a job that fails is rolled back to its savepoint and takes nobody with it.  Verdicts come
after the commit, refusals too: what a job was refused for may be what an earlier job of its
transaction wrote.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import Any, Protocol

from sqlalchemy import Connection

from retrograph.rules.errors import DatabaseUnavailable
from retrograph.storage.profile import Profile

MOST_JOBS = 64
"""How many jobs one transaction may carry."""
MOST_TRIES = 8
"""How often a job is tried whose transaction the engine gave up for another's."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """What a write does in its transaction, given that and its group, and whose rows it writes."""

    tenant_id: int
    fleet_ids: Sequence[int]
    """Ascending."""
    attempt: Callable[[Connection, Any], Any]


Savepoint = Callable[[Connection], AbstractContextManager[None]]
"""What is written within it is taken back if it fails."""


class Group(Protocol):
    """What jobs of one transaction share: it is published when the transaction is durable."""

    def publish(self) -> None:
        """Called once, after the commit."""


@dataclass(slots=True)
class _Queued:
    """A job; `answer` or `error` is what came of it, and becomes its verdict."""

    job: Job
    verdict: Future[Any]
    answer: Any = None
    error: Exception | None = None

    def settle(self) -> None:
        if self.error is None:
            self.verdict.set_result(self.answer)
        else:
            self.verdict.set_exception(self.error)


class Writer(Protocol):
    """Runs write jobs, each in a transaction that it may share with others."""

    def run(self, job: Job) -> Any:
        """Waits for the job's commit and returns what it returned, or raises what it raised."""

    def close(self) -> None:
        """Finishes what is queued; nothing is run afterwards."""


class GroupWriter:
    """Runs jobs one after another; `make_group` makes what the jobs of a `transaction` share.

    Whoever comes while nobody commits does so in its own thread, for handing a job over and getting
    its verdict back takes as long as the job.  What comes meanwhile is left to the writer's thread.
    """

    def __init__(
        self,
        profile: Profile,
        transaction: Callable[[], AbstractContextManager[Connection]],
        make_group: Callable[[], Group],
        savepoint: Savepoint,
    ) -> None:
        self._profile = profile
        self._transaction = transaction
        self._make_group = make_group
        self._savepoint = savepoint
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._closed = False
        self._gate = Lock()  # nothing is queued behind the end
        self._turn = Lock()  # held by whoever commits
        self._wake = Semaphore(0)
        self._thread = Thread(target=self._work, name="retrograph-writer", daemon=True)
        self._thread.start()

    def run(self, job: Job) -> Any:
        """Waits for the job's commit and returns what it returned, or raises what it raised."""
        queued = _Queued(job, Future())
        with self._gate:
            if self._closed:
                raise DatabaseUnavailable("The store is closed; open it again.")
            self._queue.put(queued)
        if self._turn.acquire(blocking=False):
            try:
                self._commit_waiting()
            finally:
                self._turn.release()
                if not self._queue.empty():  # who came meanwhile saw that somebody commits
                    self._wake.release()
        return queued.verdict.result()

    def close(self) -> None:
        """Finishes what is queued and ends the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
                self._wake.release()
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            self._wake.acquire()
            with self._turn:
                while not ended and not self._queue.empty():
                    ended = self._commit_waiting()

    def _commit_waiting(self) -> bool:
        """Commits a group of what waits; says whether the end is reached, and leaves it there."""
        waiting = self._waiting()
        jobs = [job for job in waiting if job is not None]
        if jobs:
            self._commit(jobs)
        if None not in waiting:
            return False
        self._queue.put(None)
        return True

    def _waiting(self) -> list[_Queued | None]:
        waiting: list[_Queued | None] = []
        while len(waiting) < MOST_JOBS and None not in waiting:
            try:
                waiting.append(self._queue.get_nowait())
            except Empty:
                break
        return waiting

    def _commit(self, jobs: list[_Queued]) -> None:
        group = self._make_group()
        try:
            with self._transaction() as connection:
                if len(jobs) == 1:  # what fails takes nobody with it
                    jobs[0].answer = jobs[0].job.attempt(connection, group)
                else:
                    for queued in jobs:
                        self._attempt(connection, queued, group)
        except BaseException as error:  # handed to whoever waits for it
            for queued in jobs:
                queued.verdict.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        try:
            group.publish()
        finally:
            for queued in jobs:
                queued.settle()
        self._tidy()

    def _attempt(self, connection: Connection, queued: _Queued, group: Group) -> None:
        try:
            with self._savepoint(connection):
                queued.answer = queued.job.attempt(connection, group)
        except Exception as error:
            if not self._profile.in_transaction(connection):
                raise  # the engine gave up the whole transaction: every job of the group fails
            queued.error = error

    def _tidy(self) -> None:
        try:
            self._profile.tidy()
        except Exception:  # noqa: BLE001 (a commit stands, whatever comes of tidying up)
            _log.exception("housekeeping after a commit failed; it is tried again after the next")


class DirectWriter:
    """Runs each job in its caller's thread and a transaction of its own: fleets don't wait.

    What the engine gave up for another's sake (a deadlock) is tried again from the start.
    """

    def __init__(self, profile: Profile, make_group: Callable[[], Group]) -> None:
        self._profile = profile
        self._make_group = make_group
        self._closed = False

    def run(self, job: Job) -> Any:
        """Commits the job and returns what it returned, or raises what it raised."""
        for left in reversed(range(MOST_TRIES)):
            if self._closed:
                raise DatabaseUnavailable("The store is closed; open it again.")
            group = self._make_group()
            try:
                with self._profile.writer().begin() as connection:
                    answer = job.attempt(connection, group)
            except Exception as error:
                if left and self._profile.is_passing(error):
                    continue
                raise
            group.publish()
            return answer
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Nothing is run afterwards."""
        self._closed = True

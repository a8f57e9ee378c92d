"""Runs write jobs on SQL Server: each in its caller's thread, under the locks of its fleets.

What the server gave up for another's sake, or stamped too early, is tried again from the start, a
bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from retrograph.rules.errors import DatabaseUnavailable
from retrograph.storage.mssql.clock import held, wait_for_clock
from retrograph.storage.mssql.session import session, transaction
from retrograph.storage.profile import Profile
from retrograph.storage.writer import MOST_TRIES, Group, Job


class LockingWriter:
    """See `retrograph.storage.writer.Writer`; writers of different fleets don't wait."""

    def __init__(self, profile: Profile, make_group: Callable[[], Group]) -> None:
        self._profile = profile
        self._make_group = make_group
        self._closed = False

    def run(self, job: Job) -> Any:
        """Commits the job and returns what it returned, or raises what it raised."""
        if self._closed:
            raise DatabaseUnavailable("The store is closed; open it again.")
        with (
            session(self._profile.writer(), job.tenant_id) as connection,
            held(connection, job.tenant_id, job.fleet_ids),
        ):
            answer, group = self._commit(connection, job)
        group.publish()
        return answer

    def close(self) -> None:
        """Nothing is run afterwards."""
        self._closed = True

    def _commit(self, connection: Connection, job: Job) -> tuple[Any, Group]:
        for left in reversed(range(MOST_TRIES)):
            wait_for_clock(connection, job.tenant_id, job.fleet_ids)
            group = self._make_group()
            try:
                with transaction(connection):
                    answer = job.attempt(connection, group)
            except Exception as error:
                if left and not connection.invalidated and self._profile.is_passing(error):
                    continue
                raise
            return answer, group
        raise AssertionError("the last try returns or raises")

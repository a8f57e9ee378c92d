"""A process that fells a node, or rewinds, and is killed at a chosen moment of it.

    python -m tests.storage.victim DATABASE KEY MOMENT
    python -m tests.storage.victim DATABASE @MICROSECONDS MOMENT

`MOMENT` is `count` (nobody is killed; prints how many statements and steps the cascade takes),
`statement:N` (before the writer's N-th statement), `step:N` (within a statement, at
SQLite's N-th tick) or `commit` (while the commit is going on).
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from threading import Thread
from typing import Any

from sqlalchemy import event

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store

TICK = 1_000
"""Instructions of the engine's machine between two ticks."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Moments:
    """Counts the moments of a write, and dies at the chosen one."""

    def __init__(self, moment: str) -> None:
        self._kind, _, number = moment.partition(":")
        self._number = int(number or 0)
        self._statements, self._steps = count(1), count(1)
        self.statements = self.steps = 0

    def before_statement(self, *_: Any) -> None:
        self.statements = next(self._statements)
        if self._kind == "statement" and self.statements == self._number:
            die()

    def at_tick(self) -> int:
        self.steps = next(self._steps)
        if self._kind == "step" and self.steps == self._number:
            die()
        return 0

    def at_commit(self, _: Any) -> None:
        if self._kind == "commit":
            Thread(target=die).start()


def main(database: str, key: str, moment: str) -> None:
    store = open_store(database)
    moments, writer = Moments(moment), store._profile.writer()
    event.listen(writer, "before_cursor_execute", moments.before_statement)
    event.listen(writer, "commit", moments.at_commit)
    if writer.dialect.name == "sqlite":
        event.listen(writer, "connect", lambda connection, _: watch(connection, moments))
    act(Scope(store, 1, None, frozenset(Role)), key)
    store.close()
    sys.stdout.write(f"{moments.statements} {moments.steps}\n")


def act(scope: Scope, what: str) -> None:
    if what.startswith("@"):
        to = int(what[1:])
        rewind_fleet(scope, 1, Rewind(to, dry_run=False, confirm=confirmation(1, to)))
    else:
        invalidate(scope, 1, Invalidation(NodeRef(key=what), "killed in the act"))


def watch(connection: Any, moments: Moments) -> None:
    connection.set_progress_handler(moments.at_tick, TICK)


if __name__ == "__main__":
    main(*sys.argv[1:])

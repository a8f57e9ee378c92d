"""What runs in a process of its own, until it is killed: a worker that commits, or a server."""

from __future__ import annotations

import os
from contextlib import closing
from multiprocessing.connection import Connection

from retrograph.cli_commands import commands
from retrograph.resolvers.checkpoints import get_checkpoint
from retrograph.resolvers.commit_checkpoint import commit_checkpoint
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import open_store
from tests.storage.witness import FLEET, commit_of


def work(database: str, name: str, known: int, told: Connection) -> None:
    """Resumes an execution, then commits one state after another, for ever.

    It tells the head that it found, then each answer.  `known` is the last sequence that it was
    told before: the commit behind it is sent again, whatever became of it.
    """
    with closing(open_store(database, migrate=False)) as store:
        scope = Scope(store, 1, None, frozenset(Role))
        head = get_checkpoint(scope, FLEET, name)
        told.send((0, None, None) if head is None else (head.sequence, head.hash, head.payload))
        while True:
            known += 1
            done = commit_checkpoint(scope, FLEET, commit_of(name, known))
            made = done.checkpoint
            told.send((known, made.sequence, made.hash, done.replayed))


def serve(database: str, told: Connection) -> None:
    """Serves a database on a free port; its first line goes to `told`."""
    os.dup2(told.fileno(), 1)
    commands(["serve", "--database", database, "--port", "0", "--log-level", "error"])

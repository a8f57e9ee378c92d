"""What runs in a process of its own: somebody who learns and forgets, and tells of it."""

from __future__ import annotations

from contextlib import closing
from multiprocessing.connection import Connection

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import open_store
from tests.episodes import Episodes
from tests.memory import Memory


def learn(database: str, rounds: int, told: Connection) -> None:
    """Lets out an episode a round, and takes every other out again; tells each once it is done."""
    with closing(open_store(database, migrate=False)) as store:
        episodes = Episodes(Memory(Scope(store, 1, None, frozenset(Role))))
        for number in range(rounds):
            id = episodes.learn([1, number / rounds])
            told.send(("learned", id))
            if number % 2:
                episodes.retire(id)
                told.send(("retired", id))
    told.send(("done", 0))

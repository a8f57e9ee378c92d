"""Recall while others write: what was committed before somebody asks is heeded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event, Thread

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.domain_indexes import DomainIndexes
from retrograph.storage.store import Store
from tests.episodes import Episodes
from tests.memory import Memory, ref
from tests.resolvers.learner import learn

PATIENCE = 120


@contextmanager
def learner(database: str, rounds: int) -> Iterator[Connection]:
    """Another process that writes; what it has done comes by the connection."""
    processes = get_context("spawn")
    here, there = processes.Pipe(duplex=False)
    child = processes.Process(target=learn, args=(database, rounds, there))
    child.start()
    there.close()
    try:
        yield here
        child.join(PATIENCE)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()


def heard(told: Connection, known: dict[str, set[int]]) -> None:
    """Takes note of all that was told by now."""
    while told.poll():
        kind, id = told.recv()
        known[kind].add(id)


@pytest.mark.long
@pytest.mark.needs("large_graphs")
def test_what_another_process_promotes_and_retires_is_seen_at_once(
    store: Store, database: str
) -> None:
    episodes = Episodes(Memory(Scope(store, 1, None, frozenset(Role))))
    known: dict[str, set[int]] = {"learned": set(), "retired": set(), "done": set()}
    ever, answers = set[int](), 0
    with learner(database, 40) as told:
        while not known["done"]:
            heard(told, known)
            learned, retired = {*known["learned"]}, {*known["retired"]}
            found = set(episodes.recall([1, 0], threshold=-1.0, top_k=100))
            heard(told, known)
            assert found.isdisjoint(retired)
            assert learned - known["retired"] - _last(known) <= found
            ever |= found
            answers += 1
    assert len(known["learned"]) == 40
    assert len(known["retired"]) == 20
    assert ever <= known["learned"]
    assert answers > 1
    left = known["learned"] - known["retired"]
    assert set(episodes.recall([1, 0], threshold=-1.0, top_k=100)) == left


def _last(known: dict[str, set[int]]) -> set[int]:
    """The episode that may have been retired without word of it yet."""
    return {max(known["learned"], default=0)}


def test_what_has_fallen_is_not_recalled_while_others_ask(own_fleet: Memory) -> None:
    episodes, fallen, done = Episodes(own_fleet), set[int](), Event()
    own_fleet.plant(*(f"base{n}" for n in range(8)))
    ids = [episodes.learn([1, n], based_on=[ref(f"base{n}")]) for n in range(8)]
    wrong, asked = list[set[int]](), list[int]()

    def ask() -> None:
        while not done.is_set():
            before = {*fallen}
            found = episodes.recall([1, 0], threshold=-1.0, top_k=100)
            wrong.extend([before.intersection(found)] if before.intersection(found) else [])
            asked.append(len(found))

    askers = [Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for n, id in enumerate(ids):
            own_fleet.fell(f"base{n}")
            fallen.add(id)
            assert episodes.recall([1, 0], threshold=-1.0, top_k=100) == ids[n + 1 :]
    finally:
        done.set()
        for asker in askers:
            asker.join()
    assert wrong == []
    assert asked
    own_fleet.store.indexes = DomainIndexes()
    assert episodes.recall([1, 0], threshold=-1.0) == []

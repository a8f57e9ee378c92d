"""Many writers, many readers, a writer that stalls, a clock that steps back, two processes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from random import Random
from threading import Barrier, Event, Lock
from typing import Any

import pytest

from retrograph.resolvers.inputs import Invalidation, NodeInput, OnChange
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import VersionConflict
from retrograph.storage.node_writes import create_nodes
from retrograph.storage.records import NodeRef
from retrograph.storage.store import Store, open_store
from tests.clock import START, ManualClock
from tests.consistency import assert_consistent
from tests.memory import NEW, Memory
from tests.planting import new_node, plant_edges, plant_nodes
from tests.storage.columns import Column, fell, plant_columns, read_columns
from tests.storage.stalling import PATIENCE, Stalled


class SteppingClock:
    """Goes on by a few microseconds at most asks, and now and then steps far back or forth."""

    def __init__(self) -> None:
        self._random, self._now, self._lock = Random(1), START, Lock()

    def __call__(self) -> int:
        with self._lock:
            step = self._random.choice((1, 2, 3, 50, -40, 1_000_000, -900_000))
            self._now += step
            return self._now


@pytest.fixture
def stepping(database: str) -> Iterator[Scope]:
    store = open_store(database, clock=SteppingClock())
    store.write_all(1, [1], lambda _: None)
    yield Scope(store, 1, None, frozenset(Role))
    store.close()


def everybody(*acts: Any) -> list[Any]:
    """Runs all acts at the same moment, each in a thread, and returns what they return."""
    start = Barrier(len(acts))

    def begin(act: Any) -> Any:
        start.wait(PATIENCE)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        futures: list[Future[Any]] = [pool.submit(begin, act) for act in acts]
        return [future.result() for future in futures]


def assert_in_order(written: list[list[int]], committed: list[int]) -> None:
    """All that writers were told was committed, each once, and in the order of instants."""
    assert committed == sorted(set(committed))  # of each transaction the last
    assert all(instants == sorted(instants) for instants in written)
    everything = sorted(instant for instants in written for instant in instants)
    assert everything == sorted({*everything, *committed})
    assert everything[-1] == committed[-1]


def exercise(scope: Scope, rounds: int) -> None:
    """Four writers each fell and raise a column of their own while three readers look on."""
    columns = plant_columns(scope.store, 4)
    committed: list[int] = []
    scope.store.listen(lambda tenant, fleet, instant: committed.append(instant))
    seen: dict[int, list[Column]] = {}
    writing = Event()

    def write(column: range) -> list[int]:
        instants = []
        for _ in range(rounds):
            run = fell(scope, column)
            instants += [run.executed_at, revert_run(scope, 1, run.id).instant]
        return instants

    def read(seed: int) -> int:
        random, count = Random(seed), 0
        while not writing.is_set() or count < 5:
            at, now = read_columns(scope, columns)
            assert seen.setdefault(at, now) == now
            past = random.choice(list(seen))
            assert read_columns(scope, columns, past) == (past, seen[past])
            count += 1
        return count

    def write_all() -> list[list[int]]:
        try:
            return everybody(*(lambda column=column: write(column) for column in columns))
        finally:
            writing.set()

    written, *_ = everybody(write_all, *(lambda seed=seed: read(seed) for seed in range(3)))

    assert_in_order(written, committed)
    assert committed[-1] == scope.clock(1)
    for at, then in seen.items():
        assert read_columns(scope, columns, at) == (at, then)
    assert_consistent(scope.store)


def test_no_cascade_is_seen_in_part_and_no_snapshot_changes(stepping: Scope) -> None:
    exercise(stepping, rounds=6)


@pytest.mark.long
def test_no_cascade_is_seen_in_part_for_long(stepping: Scope) -> None:
    exercise(stepping, rounds=150)


def test_a_writer_that_stalls_is_not_seen_whatever_is_asked(
    scope: Scope, clock: ManualClock
) -> None:
    columns = plant_columns(scope.store, 1)
    before, healthy = read_columns(scope, columns)
    clock.advance()
    with Stalled(scope.store, lambda write: create_nodes(write, [new_node("late")])) as stalled:
        clock.advance()
        for at in (None, stalled.instant - 1, stalled.instant, clock.now):
            assert read_columns(scope, columns, at) == (before, healthy)
        assert "late" not in Memory(scope).nodes()
        stalled.go_on()
    assert read_columns(scope, columns, before) == (before, healthy)
    assert "late" not in Memory(scope).nodes(before)
    assert "late" not in Memory(scope).nodes(stalled.instant - 1)
    assert "late" in Memory(scope).nodes(stalled.instant)


def test_a_clock_that_steps_back_while_a_writer_stalls_hides_nothing(
    scope: Scope, clock: ManualClock
) -> None:
    columns = plant_columns(scope.store, 1)
    clock.advance(1_000_000)
    with Stalled(scope.store) as stalled:
        clock.advance(-3_000_000)
        stalled.go_on()
    run = fell(scope, columns[0])
    assert run.executed_at == stalled.instant + 1
    assert read_columns(scope, columns) == (run.executed_at, [("INVALID",) * len(columns[0])])
    assert read_columns(scope, columns, stalled.instant)[1] == [
        ("CURRENTLY_VALID",) * len(columns[0])
    ]


def test_one_key_asked_by_many_at_once_is_one_run(stepping: Scope) -> None:
    (column,) = plant_columns(stepping.store, 1)
    asked = Invalidation(NodeRef(id=column[0]), "wrong", idempotency_key="once")
    runs = everybody(*[lambda: invalidate(stepping, 1, asked).id] * 8)
    assert len(set(runs)) == 1
    assert [run.id for run in Memory(stepping).runs()] == [runs[0]]


def test_of_many_who_expect_a_version_one_goes_through(stepping: Scope) -> None:
    memory = Memory(stepping)
    (node,) = memory.put(NodeInput("a", kind=NEW, payload=0)).nodes

    def update(value: int) -> str:
        given = NodeInput("a", payload=value, expected_version=node.version_id)
        try:
            return put_nodes(stepping, 1, [given], OnChange.PROPAGATE).nodes[0].version_id
        except VersionConflict as conflict:
            met = memory.node("a").version_id
            return f"{conflict.current} met {met}"

    answers = everybody(*(lambda value=value: update(value) for value in range(1, 9)))
    won = memory.node("a").version_id
    # Whoever is told of a conflict can read at once what they conflict with.
    assert sorted(answers) == sorted([won, *[f"{won} met {won}"] * 7])


def test_warm_graphs_notice_what_another_process_commits(database: str, clock: ManualClock) -> None:
    with_cache, other = (open_store(database, clock=clock) for _ in range(2))
    with_cache.write_all(1, [1], lambda _: None)
    mine, theirs = (Memory(Scope(store, 1, None, frozenset(Role))) for store in (with_cache, other))
    mine.plant("a", "b", "c", "d")
    mine.link("a REQUIRES b")
    mine.fell("a")
    theirs.link("b REQUIRES c")
    assert theirs.sick() == dict.fromkeys("abc", "INVALID")
    (run,) = [run for run in mine.runs() if run.reason == "wrong"]
    revert_run(mine.scope, 1, run.id)
    theirs.plant("e")
    theirs.link("d REQUIRES e", "b REQUIRES d")
    mine.link("a OBSERVED_FROM e")
    felled = mine.fell("a")
    assert {key: path for key, (_, path) in mine.fallen(felled).items()}["e"] == list("abde")
    theirs.store.write(1, 1, lambda write: None)
    assert_same_graphs(with_cache, other)
    with_cache.close()
    other.close()


def test_two_processes_that_write_alternately_agree_on_everything(database: str) -> None:
    stores = [open_store(database, clock=SteppingClock()) for _ in range(2)]
    stores[0].write_all(1, [1], lambda _: None)
    scopes = [Scope(store, 1, None, frozenset(Role)) for store in stores]
    columns = plant_columns(stores[0], 2)

    def write(scope: Scope, column: range) -> list[int]:
        instants = []
        for _ in range(8):
            run = fell(scope, column)
            read_columns(scope, columns)
            done = revert_run(scope, 1, run.id)
            instants += [run.executed_at, done.instant]
        return instants

    one, two = everybody(
        *(
            lambda scope=scope, column=column: write(scope, column)
            for scope, column in zip(scopes, columns, strict=True)
        )
    )
    assert one == sorted(one)
    assert two == sorted(two)
    assert not set(one) & set(two)
    plant_edges(stores[0], [(columns[0][-1], columns[1][0], EdgeType.REQUIRES)])
    assert fell(scopes[1], columns[0]).impact_count == len(columns[0]) + len(columns[1])
    assert_same_graphs(*stores)
    for store in stores:
        assert_consistent(store)
        store.close()


def test_a_reader_is_not_held_up_by_a_writer(scope: Scope) -> None:
    plant_nodes(scope.store, [new_node("a")])
    with Stalled(scope.store) as stalled:
        assert set(everybody(*[lambda: tuple(Memory(scope).nodes())] * 4)) == {("a",)}
        stalled.go_on()


def assert_same_graphs(*stores: Store) -> None:
    """What each store keeps warm is what the tables say."""
    for store in stores:
        with store.read(1, 1) as snapshot:
            kept, loaded = store.graph(snapshot), store._profile.load_graph(snapshot)
        ids = loaded.structure.ids.tolist()
        assert kept.structure.ids.tolist() == ids
        assert [kept.state(i) for i in ids] == [loaded.state(i) for i in ids]
        assert kept.structure.edges.tolist() == loaded.structure.edges.tolist()

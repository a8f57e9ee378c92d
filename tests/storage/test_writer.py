"""The one writer: groups of jobs in one transaction, verdicts, and the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, current_thread
from types import NoneType
from typing import Any

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.checkpoint_errors import CheckpointConflict
from retrograph.rules.errors import DatabaseUnavailable, NotFound
from retrograph.storage.node_writes import create_nodes
from retrograph.storage.nodes import find_nodes
from retrograph.storage.records import NodeRef
from retrograph.storage.store import Store
from retrograph.storage.write import Write
from tests.consistency import assert_consistent
from tests.executions import Execution
from tests.planting import new_node, plant_nodes
from tests.storage.stalling import Stalled, wait_for_queue

pytestmark = pytest.mark.needs("group_commit")

Job = Callable[[Write], Any]


def put(key: str) -> Job:
    return lambda write: (create_nodes(write, [new_node(key)]), write.instant)


def refuse(write: Write) -> None:
    put("refused")(write)
    raise NotFound("Nothing here.")


def grouped(store: Store, jobs: list[Job]) -> list[Future[Any]]:
    """Runs jobs that all wait while another is at work, so that they share a transaction."""
    with ThreadPoolExecutor(len(jobs)) as pool, Stalled(store) as stalled:
        futures = []
        for position, job in enumerate(jobs, start=1):
            futures.append(pool.submit(store.write, 1, 1, job))
            wait_for_queue(store, position)
        stalled.go_on()
    return futures


def keys(store: Store, *wanted: str) -> set[str | None]:
    with store.read(1, 1) as snapshot:
        return {ref.key for ref in find_nodes(snapshot, [NodeRef(key=key) for key in wanted])}


def test_a_failing_job_takes_nobody_with_it(store: Store) -> None:
    first, bad, last = grouped(store, [put("a"), refuse, put("b")])

    assert isinstance(bad.exception(), NotFound)
    assert first.result()[1] < last.result()[1]
    assert keys(store, "a", "b", "refused") == {"a", "b"}
    assert_consistent(store)


def test_jobs_of_one_transaction_have_instants_of_their_own(store: Store) -> None:
    instants = [future.result()[1] for future in grouped(store, [put(str(i)) for i in range(5)])]
    assert instants == list(range(instants[0], instants[0] + 5))
    assert store.clock(1, 1) == instants[-1]


def test_everybody_hears_of_a_transaction_of_several_jobs(store: Store) -> None:
    """Once for the fleet, with the instant of its last job."""
    told: list[tuple[int, int, int]] = []
    store.listen(lambda *what: told.append(what))
    jobs = grouped(store, [put("a"), refuse, put("b")])
    assert told[1:] == [(1, 1, jobs[-1].result()[1])]  # the first is of what kept them waiting


def test_a_refused_job_moves_no_clock(store: Store) -> None:
    before = store.clock(1, 1)
    with pytest.raises(NotFound):
        store.write(1, 1, refuse)
    assert store.clock(1, 1) == before
    assert plant_nodes(store, [new_node()]) == range(1, 2)


def test_nobody_hears_of_a_commit_that_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    store.listen(lambda tenant, fleet, instant: told.append(instant))
    monkeypatch.setattr(store._profile, "in_transaction", lambda connection: False)
    jobs = grouped(store, [put("a"), refuse, put("b")])
    monkeypatch.undo()

    assert [type(job.exception()) for job in jobs] == [NotFound] * 3
    assert keys(store, "a", "b") == set()
    assert told == [store.clock(1, 1)]  # that of the job which kept them waiting
    assert_consistent(store)


def test_a_verdict_waits_for_the_commit(store: Store) -> None:
    """A refusal may rest on what an earlier job of the transaction wrote: it must be committed."""
    refused, committing, go_on = Event(), Event(), Event()

    def seen_by_refused(write: Write) -> None:
        refused.set()
        raise NotFound(str(write.instant))

    def last(write: Write) -> None:
        committing.set()
        assert go_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        group = pool.submit(grouped, store, [put("a"), seen_by_refused, last])
        assert committing.wait(60)
        assert refused.is_set()
        assert keys(store, "a") == set()
        go_on.set()
        first, second, _ = group.result()
    assert isinstance(second.exception(), NotFound)
    assert keys(store, "a") == {"a"}
    assert first.result()[1] + 1 == int(str(second.exception()))


def durable_transactions(file: Path) -> int:
    """How many transactions the write-ahead log holds: each was flushed to the disk once.

    The last frame of each tells the size of the database (sqlite.org/fileformat2.html, 4.1).
    """
    log = file.with_name(file.name + "-wal").read_bytes()
    size = 24 + int.from_bytes(log[8:12])
    frames = [log[at : at + 24] for at in range(32, len(log), size)]
    return sum(frame[4:8] != bytes(4) and frame[8:16] == log[16:24] for frame in frames)


def test_concurrent_commits_share_one_durable_transaction(store: Store, tmp_path: Path) -> None:
    """Each with a verdict of its own, the lost ones, too."""
    scope, file = Scope(store, 1, None, frozenset(Role)), tmp_path / "memory.db"
    runs = [Execution(scope, name) for name in ("a", "b", "a", "c", "b")]
    before = durable_transactions(file)
    with ThreadPoolExecutor(len(runs)) as pool, Stalled(store) as stalled:
        verdicts = []
        for place, run in enumerate(runs, start=1):
            verdicts.append(pool.submit(run.commit, 0, f"token {place}"))
            wait_for_queue(store, place)
        stalled.go_on()
    found = [type(verdict.exception()) for verdict in verdicts]
    assert found == [NoneType, NoneType, CheckpointConflict, NoneType, CheckpointConflict]
    assert durable_transactions(file) - before == 2  # what kept them waiting, and all of them


def test_who_comes_alone_commits_in_its_own_thread(store: Store) -> None:
    """And leaves what comes meanwhile to the writer."""
    threads: list[str] = []

    def note(write: Write) -> None:
        threads.append(current_thread().name)

    store.write(1, 1, note)
    grouped(store, [note, note])
    assert threads == [current_thread().name, "retrograph-writer", "retrograph-writer"]


def test_an_interruption_of_who_commits_leaves_nobody_waiting(store: Store) -> None:
    def interrupted(write: Write) -> None:
        put("lost")(write)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.write(1, 1, interrupted)
    store.write(1, 1, put("kept"))
    assert keys(store, "lost", "kept") == {"kept"}


def test_closing_finishes_what_is_queued_and_refuses_what_comes_after(store: Store) -> None:
    with ThreadPoolExecutor(2) as pool:
        with Stalled(store) as stalled:
            queued = pool.submit(plant_nodes, store, [new_node("queued")])
            wait_for_queue(store, 1)
            closed = pool.submit(store._writer.close)
            wait_for_queue(store, 2)
            stalled.go_on()
        closed.result()
    assert queued.result() == range(1, 2)
    with pytest.raises(DatabaseUnavailable, match="closed"):
        plant_nodes(store, [new_node("late")])
    assert keys(store, "queued", "late") == {"queued"}


def fail(tenant: int, fleet: int, instant: int) -> None:
    raise ValueError(instant)


def test_closing_twice_is_the_same(store: Store) -> None:
    store.close()
    store.close()


def test_a_listener_that_fails_spoils_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[int, int, int]] = []
    store.listen(fail)
    unlisten = store.listen(lambda *what: told.append(what))

    plant_nodes(store, [new_node()])
    unlisten()
    plant_nodes(store, [new_node()])

    assert told == [(1, 1, store.clock(1, 1) - 1)]
    assert "a listener failed" in caplog.text

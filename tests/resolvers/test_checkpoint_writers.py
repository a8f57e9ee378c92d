"""Of any number of writers on one execution exactly one gets each sequence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.checkpoint_errors import CheckpointConflict
from tests.executions import Execution

WRITERS = 64
ROUNDS = 3


def test_one_writer_wins_each_sequence(run: Execution) -> None:
    ready = Barrier(WRITERS)

    def write(number: int, expected: int) -> int | None:
        """The head that it lost to; None for the winner."""
        ready.wait()
        try:
            done = run.commit(expected, f"{number} {expected}", payload={"by": number})
        except CheckpointConflict as lost:
            return lost.head
        assert (done.replayed, done.checkpoint.sequence) == (False, expected + 1)
        return None

    with ThreadPoolExecutor(WRITERS) as pool:
        for expected in range(ROUNDS):
            lost = list(pool.map(write, range(WRITERS), [expected] * WRITERS))
            assert sorted(lost, key=str) == [expected + 1] * (WRITERS - 1) + [None]
    assert run.sequences() == list(range(ROUNDS, 0, -1))
    assert verify_checkpoints(run.scope, run.fleet, run.name).fault is None


def test_the_same_commit_by_many_is_made_once(run: Execution) -> None:
    ready = Barrier(8)

    def write(_: int) -> bool:
        ready.wait()
        return run.commit(0).replayed

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(write, range(8))) == [False] + [True] * 7
    assert run.sequences() == [1]

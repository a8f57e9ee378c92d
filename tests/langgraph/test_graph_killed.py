"""Graphs that are killed at random moments, again and again, end as an undisturbed one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from tests.langgraph.conftest import WAYS
from tests.langgraph.test_graph import UNDISTURBED
from tests.langgraph.victim import run_until
from tests.schema.serving import listening, sqlite_store

PATIENCE = 120
"""Seconds after which a process is taken to hang."""
LONGEST = 0.15
"""Seconds that a run may last before it is killed, at most: about as long as one takes."""
MOST = 10
"""How often one thread is killed at most; then it may run to its end."""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Starts processes that have loaded everything already."""
    found = get_context("forkserver")
    found.set_forkserver_preload(["tests.langgraph.victim"])
    return found


def run_once(
    context: ForkServerContext, place: str, thread: str, seconds: float
) -> dict[str, Any] | None:
    """What a process told at its end; None where it was killed before."""
    told, tells = context.Pipe(duplex=False)
    process = context.Process(target=run_until, args=(seconds, place, thread, tells), daemon=True)
    process.start()
    tells.close()
    try:
        found: dict[str, Any] | None = told.recv() if told.poll(PATIENCE) else None
    except (EOFError, OSError):
        found = None
    process.join(PATIENCE)
    told.close()
    assert process.exitcode in {0, -SIGKILL}
    return found


def kill_threads(context: ForkServerContext, place: str, trials: int) -> int:
    """Kills each thread until it has come to its end; gives the number of kills."""
    chance, kills = Random(trials), 0
    for trial in range(trials):
        told = None
        for tried in range(MOST + 1):
            seconds = chance.uniform(0, LONGEST) if tried < MOST else PATIENCE
            told = run_once(context, place, f"run {trial}", seconds)
            if told is not None:
                break
            kills += 1
        assert told is not None
        assert told["state"] == UNDISTURBED, trial
    return kills


@contextmanager
def reached(way: str, folder: Path) -> Iterator[str]:
    """Where a victim finds a database, and at the end proof that every chain in it holds."""
    with sqlite_store(folder) as store:
        if way == "served":
            with listening(create_app(store)) as server:
                yield "http://{}:{}/graphql".format(*server.address)
        else:
            yield str(folder / "memory.db")
        found = verify_checkpoints(Scope(store, 1, None, frozenset(Role)), 1, "langgraph/run 0/")
        assert (found.fault, found.ledger.fault) == (None, None)


@pytest.mark.parametrize("trials", [2, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", WAYS)
def test_graphs_killed_at_random_end_as_undisturbed_ones(
    context: ForkServerContext,
    tmp_path: Path,
    way: str,
    trials: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reached(way, tmp_path) as place:
        kills = kill_threads(context, place, trials)
    with capsys.disabled():
        sys.stdout.write(f"\n{trials} threads ended as undisturbed ones, after {kills:,} kills\n")

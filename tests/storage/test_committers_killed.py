"""SIGKILL at random moments, of workers that commit and of servers that they commit through.

No commit that was acknowledged is lost, none is applied twice, and every worker resumes with the
very state that it had committed.  Each test tells how many kills and how many failures there were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from queue import SimpleQueue
from random import Random
from signal import SIGKILL
from threading import Event, Lock
from typing import Any

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import open_store
from tests.servers import running_mariadb
from tests.storage.committer import serve, work
from tests.storage.witness import FLEET, Witness, commit_of

AT_ONCE = 4
"""Executions that are committed to, and killed, side by side."""
PATIENCE = 120
"""Seconds after which a process is taken to hang."""
MOST = 6
"""Commits of an execution, on average, before a kill: at most so many."""
LONGEST = 0.02
"""Seconds from the last of them to the kill, at most: about as long as a commit or two take."""

ONE_AT_A_TIME = Lock()
"""Starting a process asks what has become of all others, and an end can be heard of only once."""

COMMIT = """mutation ($input: CommitCheckpointInput!) { commitCheckpoint(input: $input) {
    __typename ... on CheckpointCommitted { replayed checkpoint { sequence hash } } } }"""
HEAD = """query ($name: String!) { checkpoint(fleetId: 1, executionId: $name) {
    sequence hash payload } }"""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Starts processes that have loaded everything already."""
    found = get_context("forkserver")
    found.set_forkserver_preload(["tests.storage.committer"])
    return found


@pytest.fixture
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database whose commits wait for the disk, on the engine that is asked for."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
    else:
        with running_mariadb(durable=True) as server:
            yield server.url(server.fresh_database())


@contextmanager
def started(
    context: ForkServerContext, target: Callable[..., None], *given: object
) -> Iterator[tuple[ForkServerProcess, Connection]]:
    """A process, and what it tells; at the end it is killed, and has ended."""
    told, tells = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*given, tells), daemon=True)
    with ONE_AT_A_TIME:
        process.start()
    tells.close()
    try:
        yield process, told
    finally:
        end(process)
        told.close()


def end(process: ForkServerProcess) -> None:
    """Kills a process, and waits until it has ended."""
    with ONE_AT_A_TIME:
        process.kill()
        process.join(PATIENCE)


def kill_a_worker(
    context: ForkServerContext, database: str, witness: Witness, chance: Random
) -> None:
    """Lets a worker resume an execution, kills it, and takes in all that it has told."""
    witness.began = False
    with started(context, work, database, witness.name, witness.last) as (process, told):
        # One in eight is killed while it starts; the others some commits later.
        if chance.randrange(8):
            take_head(told, witness)
            for _ in range(chance.randrange(MOST)):
                take_answer(told, witness)
        process.join(chance.uniform(0, LONGEST))
        end(process)
        with suppress(EOFError, OSError):  # the last message may be cut
            while True:
                (take_answer if witness.began else take_head)(told, witness)
        assert process.exitcode == -SIGKILL, f"the worker ended by itself: {process.exitcode}"


def take_head(told: Connection, witness: Witness) -> None:
    assert told.poll(PATIENCE), "the worker hangs"
    sequence, made, payload = told.recv()
    witness.resume(sequence, made, payload and json.loads(payload))


def take_answer(told: Connection, witness: Witness) -> None:
    assert told.poll(PATIENCE), "the worker hangs"
    asked, sequence, made, replayed = told.recv()
    witness.commit(asked, sequence, made, replayed=replayed)


class Client:
    """Commits through a server for as long as that answers, then notes it is gone."""

    def __init__(self, port: int, witness: Witness, answers: SimpleQueue[int]) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._witness = witness
        self._answers = answers

    def run(self, gone: Event) -> None:
        """Resumes, and commits until the server is gone; `gone` is set when that was wanted."""
        try:
            with closing(self._connection):
                self._resume()
                sequence = self._witness.last + 1
                while True:
                    self._commit(sequence)
                    sequence += 1
        except (OSError, HTTPException):
            assert gone.wait(PATIENCE), "the server broke off"

    def _resume(self) -> None:
        head = self._ask(HEAD, name=self._witness.name)["checkpoint"]
        if head is None:
            self._witness.resume(0, None, None)
        else:
            self._witness.resume(int(head["sequence"]), head["hash"], head["payload"])

    def _commit(self, sequence: int) -> None:
        commit = commit_of(self._witness.name, sequence)
        asked = {
            "fleetId": str(FLEET),
            "executionId": commit.execution_id,
            "sessionId": commit.session_id,
            "expectedSequence": str(commit.expected_sequence),
            "stateNode": commit.state_node,
            "payload": commit.payload,
            "schemaVersion": commit.schema_version,
            "idempotencyToken": commit.idempotency_token,
        }
        done = self._ask(COMMIT, input=asked)["commitCheckpoint"]
        assert done["__typename"] == "CheckpointCommitted", done
        made, replayed = done["checkpoint"], done["replayed"]
        self._witness.commit(sequence, int(made["sequence"]), made["hash"], replayed=replayed)
        self._answers.put(sequence)

    def _ask(self, query: str, **variables: object) -> Any:
        body = json.dumps({"query": query, "variables": variables})
        kind = {"Content-Type": "application/json"}
        self._connection.request("POST", "/graphql", body, kind)
        answer = json.loads(self._connection.getresponse().read())
        assert "errors" not in answer, answer
        return answer["data"]


def kill_a_server(
    context: ForkServerContext, database: str, witnesses: list[Witness], chance: Random
) -> None:
    """Starts a server, lets all commit through it, and kills it."""
    gone, answers = Event(), SimpleQueue[int]()
    with (
        ThreadPoolExecutor(len(witnesses)) as pool,
        started(context, serve, database) as (process, told),
    ):
        assert told.poll(PATIENCE), "the server hangs"
        with open(told.fileno(), encoding="utf-8", closefd=False) as said:
            port = int(said.readline().rpartition(":")[2].removesuffix("/graphql\n"))
        clients = [pool.submit(Client(port, each, answers).run, gone) for each in witnesses]
        for _ in range(chance.randrange(MOST * len(witnesses))):
            answers.get(timeout=PATIENCE)
        process.join(chance.uniform(0, LONGEST))
        gone.set()
        end(process)
        for client in clients:
            client.result(PATIENCE)


def prepared(database: str, names: int) -> list[Witness]:
    """Makes the fleet, and a witness for each execution."""
    with closing(open_store(database)) as store:
        store.write_all(1, [FLEET], lambda _: None)
    return [Witness(f"run {number}") for number in range(names)]


def report(
    database: str, witnesses: list[Witness], kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judges the chains, says what came of all, and fails if anything was wrong."""
    with closing(open_store(database)) as store:
        for each in witnesses:
            each.judge(Scope(store, 1, None, frozenset(Role)))
    faults = [fault for each in witnesses for fault in each.faults]
    told = sum(len(each.told) for each in witnesses)
    resumed = sum(each.resumed for each in witnesses)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{kills:,} kills, {told:,} commits acknowledged, {resumed:,} resumptions: "
            f"{len(faults)} failures\n"
        )
    assert not faults
    assert told
    assert resumed


def kill_workers(
    context: ForkServerContext, database: str, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    witnesses = prepared(database, AT_ONCE)

    def one_after_another(witness: Witness) -> None:
        chance = Random(witness.name)
        for _ in range(kills // AT_ONCE):
            kill_a_worker(context, database, witness, chance)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one_after_another, witnesses))
    report(database, witnesses, kills, capsys)


def kill_servers(
    context: ForkServerContext, database: str, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    witnesses, chance = prepared(database, AT_ONCE), Random(7)
    for _ in range(kills):
        kill_a_server(context, database, witnesses, chance)
    report(database, witnesses, kills, capsys)


def on(engine: str, kills: int) -> Any:
    """The engine and the number of kills; many of them take minutes."""
    marks = [pytest.mark.long] * (kills > 2 * AT_ONCE or engine != "sqlite")
    return pytest.param(engine, kills, marks=marks, id=f"{engine}-{kills}")


@pytest.mark.parametrize(
    ("durable", "kills"),
    [on("sqlite", 2 * AT_ONCE), on("sqlite", 2_000), on("mariadb", 500)],
    indirect=["durable"],
)
def test_workers_are_killed(
    context: ForkServerContext, durable: str, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_workers(context, durable, kills, capsys)


@pytest.mark.parametrize(
    ("durable", "kills"),
    [on("sqlite", 2), on("sqlite", 200), on("mariadb", 50)],
    indirect=["durable"],
)
def test_servers_are_killed(
    context: ForkServerContext, durable: str, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kill_servers(context, durable, kills, capsys)

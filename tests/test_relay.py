"""`retrograph relay`, killed and started again: nothing is left out, and only what may not have
arrived comes twice.
"""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Semaphore

import pytest
from click.testing import CliRunner

from retrograph.cli_commands import commands
from retrograph.resolvers import relay as relay_module
from retrograph.resolvers.relay import Relay
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.instant import SECOND, format_instant
from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.schema.webhook import Webhook
from retrograph.storage.store import open_store
from tests.command import COMMAND, PATIENCE, environment, next_line, refused, retrograph, start
from tests.memory import Memory
from tests.redis_server import running_redis
from tests.schema.test_webhook import receiving, status
from tests.servers import free_port
from tests.shared import ROOT

SECRET = "s" * 32


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A command sets up the log of its process, which here is that of all tests."""
    root, ours = logging.getLogger(), logging.getLogger("retrograph")
    before = root.level, root.handlers[:], ours.level
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    ours.setLevel(before[2])


@contextmanager
def filled(database: str, events: int) -> Iterator[Memory]:
    store = open_store(database)
    store.write_all(1, [1], lambda _: None)
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    fell(memory, 0, events)
    try:
        yield memory
    finally:
        store.close()


def fell(memory: Memory, start: int, count: int) -> None:
    keys = [f"n{number}" for number in range(start, start + count)]
    memory.plant(*keys)
    for key in keys:
        memory.fell(key)


def outbox(memory: Memory) -> list[str]:
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def cursors(body: bytes) -> list[str]:
    return [each["cursor"] for each in json.loads(body)["events"]]


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(commands, ["relay", *words], env={"RETROGRAPH_LOG_LEVEL": "error"})
    return done.exit_code, done.output


def run_once(database: str, url: str, *words: str) -> tuple[int, str]:
    known = ("--database", database, "--webhook", url, "--webhook-secret", SECRET)
    return run("--once", *known, *words)


def test_a_relay_that_is_killed_goes_on_where_it_was(database: str) -> None:
    """The receiver fails at first, then hangs while the relay is killed; then all is well."""
    acknowledged: list[str] = []
    repeated: list[str] = []
    came, hanging, over = Semaphore(0), Event(), Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = seen[-1][2]
        if len(seen) == 1:
            status(503)(handler)
        elif len(seen) == 3:
            hanging.set()
            over.wait(PATIENCE)
            repeated.extend(cursors(body))
        else:
            acknowledged.extend(cursors(body))
            status(200)(handler)
            came.release()

    command = [*COMMAND, "relay", "--database", database, "--webhook-secret", SECRET]
    with filled(database, 3) as memory, receiving(answer) as (url, seen):
        relay = start([*command, "--webhook", url], None, environment())
        assert next_line(relay).startswith("Relaying as webhook:")
        assert came.acquire(timeout=PATIENCE)
        fell(memory, 3, 2)
        assert hanging.wait(PATIENCE)
        relay.send_signal(signal.SIGKILL)
        relay.communicate(timeout=PATIENCE)
        over.set()
        named = ("--name", lease_of(database))
        assert run_once(database, url, *named) == (0, "Another process relays.\n")
        give_up_the_lead(database)
        exit_code, said = run_once(database, url)
        assert exit_code == 0, said
        assert acknowledged == outbox(memory)
    assert repeated
    assert set(repeated) <= set(acknowledged[3:])


@contextmanager
def receiver(port: int, file: Path, when: str, number: int) -> Iterator[subprocess.Popen[str]]:
    """Runs one, until it dies by itself or the context ends."""
    words = ["-m", "tests.receiver", str(port), str(file), when, str(number)]
    running = start([sys.executable, *words], ROOT, environment())
    try:
        assert next_line(running) == "ready\n"
        yield running
    finally:
        running.kill()
        running.communicate()


def test_a_receiver_that_is_killed_and_started_again_gets_everything_in_order(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a batch whose acknowledgement was lost comes twice, with the same cursors."""
    monkeypatch.setattr(relay_module, "BATCH", 2)
    file, port = tmp_path / "received", free_port()
    with filled(database, 9) as memory:
        relay = Relay(memory.store, "webhook:r", Webhook(f"http://127.0.0.1:{port}", b"s" * 32))
        for when in ("before", "after", "amid"):
            with receiver(port, file, when, 2) as running:
                with pytest.raises(DeliveryFailed):
                    relay.step()
                assert running.wait(PATIENCE) == -signal.SIGKILL
            with pytest.raises(DeliveryFailed):  # nobody is there
                relay.step()
        with receiver(port, file, "never", 0):
            relay.step()
        expected = outbox(memory)
    received = file.read_text().split()
    assert received == expected[:2] + expected[2:6] + expected[4:8] + expected[6:]
    assert list(dict.fromkeys(received)) == expected


def test_no_name_takes_the_lead_of_another_job(database: str) -> None:
    with filled(database, 1), receiving(status(200)) as (url, _):
        assert run_once(database, url, "--name", "sweep") == (0, "Delivered 1 events.\n")
    assert _leads(database) == ["webhook:sweep"]


def lease_of(database: str) -> str:
    return _leads(database)[0].removeprefix("webhook:")


def give_up_the_lead(database: str) -> None:
    """As time does; the killed one will not ask again."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE leadership SET expires_at = 0")
    connection.close()


def _leads(database: str) -> list[str]:
    connection = sqlite3.connect(database)
    found = [name for (name,) in connection.execute("SELECT name FROM leadership")]
    connection.close()
    return found


def test_once_it_fails_with_a_line_that_says_why(database: str) -> None:
    with filled(database, 1), receiving(status(500)) as (url, _):
        exit_code, said = run(
            *("--once", "--database", database, "--webhook", url, "--webhook-secret", SECRET)
        )
    assert exit_code == 1
    assert said.startswith("error: [DELIVERY_FAILED] The webhook doesn't take the events: it ")


def test_once_to_redis(database: str) -> None:
    with filled(database, 2) as memory, running_redis() as redis:
        words = ["--once", "--database", database, "--redis", redis.url, "--redis-streams", "on"]
        assert run(*words) == (0, "Delivered 2 events.\n")
        assert run(*words) == (0, "Delivered 0 events.\n")
        with redis.client() as client:
            ids = [id.decode() for id, _ in client.xrange("retrograph:events:1:1")]
        assert ids == outbox(memory)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "Say where to"),
        (["--webhook", "https://h.example"], "Name the secret"),
        (["--webhook", "https://h.example", "--webhook-secret", "short"], "less than 32 bytes"),
        (
            ["--webhook", "http://h.example"],
            "must be an https:// URL, or an http:// one of this machine",
        ),
        (["--webhook", "http://127.0.0.1:99999/"], "--webhook must have a port from 1 to 65535"),
        (["--webhook", "http://127.0.0.1:abc/"], "--webhook must have a port"),
        (["--webhook", "http://127.0.0.1:9191/é"], "--webhook must be written in ASCII"),
        (["--webhook", "http://127.0.0.1:9191/a b"], "--webhook must be written in ASCII"),
        (["--redis", "redis://h:abc", "--redis-streams", "on"], "--redis is no URL of a Redis"),
        (["--redis", "redis://h?x=1", "--redis-streams", "on"], "--redis is no URL of a Redis"),
        (["--redis-streams", "on"], "with --redis URL"),
        (
            ["--webhook", "https://h.example", "--redis-streams", "on", "--redis", "redis://h"],
            "one aim",
        ),
        (["--redis", "redis://h", "--redis-streams", "on", "--name", "n" * 33], "32 characters"),
        (["--redis", "redis://h", "--redis-streams", "on", "--name", ""], "1 to 32 characters"),
    ],
)
def test_what_cannot_be_is_refused(database: str, words: list[str], why: str) -> None:
    exit_code, said = run("--database", database, *words)
    assert exit_code == 1
    assert said.startswith("error: [CONFIGURATION]")
    assert why in said


def test_it_leaves_out_nothing_that_has_not_come_yet(database: str) -> None:
    with filled(database, 1) as memory:
        later = format_instant(memory.scope.store.now() + 3_600 * SECOND)
    exit_code, said = run_once(database, "http://127.0.0.1:9/", "--since", later)
    assert (exit_code, said.count("\n")) == (1, 1)
    assert said.startswith("error: [INSTANT_IN_FUTURE] That instant is in the future")


def test_relays_are_listed_and_forgotten(database: str) -> None:
    with filled(database, 2):
        pass
    with receiving(status(200)) as (url, _):
        assert run_once(database, url, "--name", "mine") == (0, "Delivered 2 events.\n")
    at = ("--database", database)
    known = "webhook:mine: 2 events dispatched.\n"
    assert retrograph("relays", "list", *at).stdout == known
    assert retrograph("relays", "forget", "webhook:mine", *at).stdout == "Forgot webhook:mine.\n"
    assert retrograph("relays", "list", *at).stdout == ""
    assert "relays list" in refused("NOT_FOUND", "relays", "forget", "webhook:mine", *at)

"""Nudges through a real Redis: they come at once, and nothing waits for a Redis that is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import ConfigurationError
from retrograph.storage import nudges as nudges_module
from retrograph.storage.nudges import CHANNEL, Nudges
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.redis_server import RedisServer, running_redis
from tests.schema.serving import PATIENCE, listening
from tests.schema.test_subscription import await_subscribed

CURSORS = "subscription { events(fleetId: 1) { cursor } }"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in how processes wake each other."""
    return str(tmp_path / "memory.db")


class Process:
    """Stands for a process: what it hears from the others waits in `heard`."""

    def __init__(self, redis: RedisServer) -> None:
        self.heard: SimpleQueue[tuple[int, int]] = SimpleQueue()
        self.nudges = Nudges(redis.url, lambda tenant, fleet: self.heard.put((tenant, fleet)))
        self.close = self.nudges.close
        assert self.nudges.listening.wait(PATIENCE)


def test_a_commit_is_heard_by_the_others_alone(redis: RedisServer) -> None:
    with closing(Process(redis)) as one, closing(Process(redis)) as two:
        one.nudges.tell(1, 2, 3)
        assert two.heard.get(timeout=PATIENCE) == (1, 2)
        two.nudges.tell(4, 5, 6)
        assert one.heard.get(timeout=PATIENCE) == (4, 5)
        assert two.heard.empty()


@pytest.mark.parametrize("garbage", [b"", b"x", b"x 1", b"x 1 2 3", b"x one two", b"\xff 1 x"])
def test_what_is_no_nudge_is_passed_over(
    redis: RedisServer, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Process(redis)) as one, closing(Process(redis)) as two, redis.client() as client:
        client.publish(CHANNEL, garbage)
        one.nudges.tell(1, 2)
        assert two.heard.get(timeout=PATIENCE) == (1, 2)
    assert any("is no nudge" in record.message for record in caplog.records)


def test_a_redis_that_is_killed_and_comes_back_is_heard_again(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(nudges_module, "SECONDS", 0.1)
    with closing(Process(redis)) as one, closing(Process(redis)) as two:
        redis.kill()
        assert two.nudges.away.wait(PATIENCE)
        one.nudges.tell(1, 1)
        redis.start_again()
        assert two.nudges.listening.wait(PATIENCE)
        heard = None
        while heard != (7, 8):
            one.nudges.tell(7, 8)  # the first may meet the old connection
            with suppress(Empty):
                heard = two.heard.get(timeout=1)
    told = [record.message for record in caplog.records]
    assert any("Redis is away" in each for each in told)
    assert any("Redis is back" in each for each in told)


def test_fleets_that_wait_for_a_redis_that_is_away_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nudges_module, "MOST_WAITING", 5)
    monkeypatch.setattr(Nudges, "_send", lambda _: None)
    with closing(Nudges("redis://127.0.0.1:1", lambda *_: None)) as nudges:
        for fleet in range(9):
            nudges.tell(1, fleet)
        assert len(nudges._waiting) == 5


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="redis://host:6379"):
        Nudges("http://localhost", lambda *_: None)


def test_subscribers_of_other_processes_hear_without_polling(
    redis: RedisServer,
    store: Store,
    database: str,
    memory: Memory,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two stores on one file stand for two processes; neither looks for the other's commits."""
    monkeypatch.setattr(Store, "poll", lambda _: False)
    memory.plant("a", "b")
    with (
        closing(open_store(database, clock=clock)) as other,
        listening(create_app(store, redis=redis.url)) as one,
        listening(create_app(other, redis=redis.url)) as two,
        two.socket() as socket,
    ):
        socket.subscribe("s", CURSORS)
        await_subscribed(socket)
        for app in (one.app, two.app):
            assert app.state.nudges.listening.wait(PATIENCE)
        run = memory.fell("a")
        assert socket.next("s")["data"]["events"]["cursor"] == f"{run.as_of}-0"
        Memory(Scope(other, 1, None, frozenset(Role))).fell("b")
        assert socket.next("s")


def test_without_redis_subscribers_of_other_processes_hear_by_polling(
    redis: RedisServer, store: Store, database: str, memory: Memory, clock: ManualClock
) -> None:
    memory.plant("a")
    with (
        closing(open_store(database, clock=clock)) as other,
        listening(create_app(other, redis="redis://127.0.0.1:1")) as two,
        two.socket() as socket,
    ):
        socket.subscribe("s", CURSORS)
        await_subscribed(socket)
        run = memory.fell("a")
        assert socket.next("s")["data"]["events"]["cursor"] == f"{run.as_of}-0"

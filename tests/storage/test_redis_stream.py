"""Redis Streams hold the outbox: what is published again is refused, what Redis lost comes anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from retrograph.app import create_app
from retrograph.relaying import Relaying
from retrograph.resolvers.relay import Relay
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.storage.redis_stream import RedisStreams
from retrograph.storage.relays import Batch
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.redis_server import RedisServer, running_redis
from tests.schema.serving import PATIENCE, listening

KEY = "retrograph:events:1:1"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what Redis keeps; `test_relay` runs on each."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def memory(store: Store) -> Memory:
    return Memory(Scope(store, 1, None, frozenset(Role)))


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as found:
        yield found


@pytest.fixture
def redis(server: RedisServer) -> RedisServer:
    with server.client() as client:
        client.flushall()
    return server


@pytest.fixture
def streams(redis: RedisServer) -> Iterator[RedisStreams]:
    found = RedisStreams(redis.url, 0)
    yield found
    found.close()


def entries(redis: RedisServer) -> list[str]:
    with redis.client() as client:
        found: Any = client.xrange(KEY)
    for id, told in found:
        assert orjson.loads(told[b"event"])["cursor"] == id.decode()
    return [id.decode() for id, _ in found]


def outbox(memory: Memory) -> list[str]:
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def fell(memory: Memory, *keys: str) -> None:
    memory.plant(*keys)
    for key in keys:
        memory.fell(key)


def batch(*places: int) -> Batch:
    return Batch(1, 1, [(at, 0) for at in places], [b'{"cursor":"%d-0"}' % at for at in places])


def test_a_stream_is_the_outbox_and_its_ids_are_the_cursors(
    store: Store, memory: Memory, redis: RedisServer, streams: RedisStreams
) -> None:
    fell(memory, "a", "b")
    relay = Relay(store, "r", streams)
    assert relay.step() == 2
    fell(memory, "c")
    assert relay.step() == 1
    assert entries(redis) == outbox(memory)


def test_what_is_published_again_is_refused_and_counts_as_delivered(
    redis: RedisServer, streams: RedisStreams
) -> None:
    streams.deliver(batch(1, 2))
    streams.deliver(batch(1, 2, 3))
    assert entries(redis) == ["1-0", "2-0", "3-0"]
    assert streams.last(1, 1) == (3, 0)
    assert streams.last(1, 2) is None


def test_another_thing_of_the_streams_name_is_told(
    redis: RedisServer, streams: RedisStreams
) -> None:
    with redis.client() as client:
        client.set(KEY, "mine")
    with pytest.raises(DeliveryFailed, match="WRONGTYPE"):
        streams.last(1, 1)


def test_a_stream_keeps_about_as_many_entries_as_it_may(redis: RedisServer) -> None:
    streams = RedisStreams(redis.url, 100)
    for start in range(1, 2_000, 100):
        streams.deliver(batch(*range(start, start + 100)))
    streams.close()
    assert 100 <= len(entries(redis)) < 400
    assert entries(redis)[-1] == "2000-0"


def test_an_entry_that_fails_lets_no_later_one_in(
    redis: RedisServer, streams: RedisStreams
) -> None:
    """A later id would bar it for ever."""
    with redis.client() as client:
        client.set(KEY, "no stream")
        with pytest.raises(DeliveryFailed, match="WRONGTYPE"):
            streams.deliver(batch(1, 2))
        client.delete(KEY)
        streams.deliver(batch(1, 2))
    assert entries(redis) == ["1-0", "2-0"]


def test_a_redis_that_is_killed_costs_time_and_no_event(
    store: Store, memory: Memory, clock: ManualClock
) -> None:
    """It keeps nothing on the disk, so that it comes back empty."""
    with running_redis() as redis:
        streams = RedisStreams(redis.url, 0)
        relay = Relay(store, "r", streams)
        fell(memory, "a", "b")
        relay.step()
        redis.kill()
        fell(memory, "c")
        with pytest.raises(DeliveryFailed, match="sent again"):
            relay.step()
        redis.start_again()
        assert relay.step() == 3
        assert entries(redis) == outbox(memory)
        assert relay.step() == 0
        streams.close()


def test_one_of_the_servers_publishes(
    store: Store, memory: Memory, redis: RedisServer, streams: RedisStreams
) -> None:
    """What another process commits, too."""
    relaying = [Relaying(Relay(store, "r", streams)) for _ in range(2)]
    with (
        listening(create_app(store, relaying=relaying[0])),
        listening(create_app(store, relaying=relaying[1])),
        redis.client() as client,
    ):
        fell(memory, "a", "b")
        found: Any = client.xread({KEY: "0-0"}, block=PATIENCE * 1_000)
        last = found[0][1][-1][0]
        while last.decode() != outbox(memory)[-1]:
            found = client.xread({KEY: last}, block=PATIENCE * 1_000)
            last = found[0][1][-1][0]
    assert entries(redis) == outbox(memory)

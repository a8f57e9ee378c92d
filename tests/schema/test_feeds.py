"""Subscribers who ask alike share a feed: one works out, all are told, and nobody waits."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.updates import list_matching_events
from retrograph.rules.errors import DatabaseUnavailable
from retrograph.rules.limits import MAX_ID
from retrograph.schema import batch as batch_module
from retrograph.schema import feed as feed_module
from retrograph.schema import sources
from retrograph.schema.bell import Bell
from retrograph.schema.context import Caller
from retrograph.schema.feed import Feed, Following, Reading
from retrograph.schema.feeds import Feeds
from retrograph.schema.identity import Identity
from retrograph.schema.schema import make_schema
from retrograph.schema.stream_limits import StreamLimits
from retrograph.storage.records import NodeKind
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.raw_socket import CLOSE, TEXT, Raw
from tests.schema.serving import PATIENCE, Listening, Socket, listening
from tests.schema.test_subscription import Inline, await_subscribed, turns

EVENTS = """subscription ($after: String, $limit: Int! = 5) {
    events(fleetId: 1, after: $after) { cursor run { id root { staleness {
        path(limit: $limit) { key } } } } } }"""
CURSORS = "subscription ($after: String) { events(fleetId: 1, after: $after) { cursor } }"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in who is told together; `test_subscription` runs on each."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every response that a feed has been told."""
    found: list[bytes] = []
    tell = Feed.tell

    def spied(self: Feed, payload: bytes) -> bool:
        found.append(payload)
        return tell(self, payload)

    monkeypatch.setattr(Feed, "tell", spied)
    return found


@pytest.fixture
def feeds(server: Listening) -> Feeds:
    """The feeds of `server`."""
    found: Feeds = server.app.state.feeds
    return found


def cursor(socket: Socket, id: str) -> str:
    found: str = socket.next(id)["data"]["events"]["cursor"]
    return found


def outbox(memory: Memory) -> list[str]:
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def test_an_event_is_worked_out_once_wherever_its_subscribers_began(
    server: Listening, chain: Memory, told: list[bytes]
) -> None:
    chain.fell("d")
    begin = outbox(chain)[0]
    with server.socket() as socket:
        for id, after in (("x", None), ("y", "0-0"), ("z", begin)):
            socket.subscribe(id, EVENTS, after=after)
        assert cursor(socket, "y") == begin
        await_subscribed(socket)
        chain.fell("a")
        fallen = outbox(chain)[1:]
        heard: dict[str, list[Any]] = {id: [] for id in "xyz"}
        for _ in range(3 * len(fallen)):
            message = socket.hear()
            heard[message["id"]].append(message["payload"])
    assert heard["x"] == heard["y"] == heard["z"]
    assert [each["data"]["events"]["cursor"] for each in heard["x"]] == fallen
    assert [json.loads(each) for each in told] == heard["x"]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        (CURSORS, {}),
        (EVENTS, {"limit": 1}),
        (EVENTS.replace("cursor", "cursor type"), {}),
        (EVENTS.replace("(fleetId: 1", "(types: [NODE_STALE], fleetId: 1"), {}),
    ],
)
def test_who_asks_otherwise_is_told_otherwise(
    server: Listening, chain: Memory, told: list[bytes], query: str, variables: Any
) -> None:
    with server.socket() as socket:
        socket.subscribe("x", EVENTS)
        socket.subscribe("y", query, **variables)
        await_subscribed(socket)
        chain.fell("d")
        heard = {each["id"]: each["payload"] for each in (socket.hear(), socket.hear())}
    assert len(told) == 2
    assert sorted(map(str, heard.values())) == sorted(str(json.loads(each)) for each in told)


def test_a_variable_that_says_more_than_where_to_begin_tells_questions_apart(
    server: Listening, chain: Memory, told: list[bytes]
) -> None:
    query = """subscription ($a: String) { events(fleetId: 1, after: $a) { cursor ...F } }
        fragment F on Event { node { outgoing(after: $a) { edges { cursor } } } }"""
    chain.fell("d")
    with server.socket() as socket:
        for id, begin in (("x", "0-0"), ("y", outbox(chain)[0])):
            socket.subscribe(id, query, a=begin)
        assert socket.next("x")["errors"][0]["extensions"]["code"] == "INVALID_CURSOR"
        await_subscribed(socket)
        chain.fell("c")
        assert {socket.hear()["id"] for _ in "xy"} == {"x", "y"}
    assert len(told) == 2


def test_tenants_share_nothing(store: Store, chain: Memory, told: list[bytes]) -> None:
    """Their fleets may have the same ids, and they may ask the same."""
    store.write_all(2, [1], lambda _: None)

    async def identify(token: str | None) -> Identity:
        return Identity(int(token or 0), None, frozenset(Role), None)

    app = create_app(store, identify=identify)
    query = CURSORS.replace("cursor", "cursor node { key }")
    with (
        listening(app) as server,
        server.socket(begun=False) as one,
        server.socket(begun=False) as two,
    ):
        for tenant, socket in enumerate((one, two), 1):
            socket.say(
                {"type": "connection_init", "payload": {"authorization": f"Bearer {tenant}"}}
            )
            socket.hear()
            socket.subscribe("s", query)
            await_subscribed(socket)
        other = Memory(Scope(store, 2, None, frozenset(Role)))
        other.put(NodeInput("theirs", kind=NodeKind.RULE))
        chain.fell("d")
        other.fell("theirs")
        assert one.next("s")["data"]["events"]["node"]["key"] == "d"
        assert two.next("s")["data"]["events"]["node"]["key"] == "theirs"
    assert len(told) == 2


def test_a_feed_ends_with_its_last_subscriber(server: Listening, chain: Memory) -> None:
    app: Any = server.app
    with server.socket() as socket:
        for id in "xy":
            socket.subscribe(id, CURSORS)
        await_subscribed(socket)
        chain.fell("d")
        for _ in "xy":
            socket.hear()
        assert app.state.feeds.followers == 2
        socket.say({"type": "complete", "id": "x"})
        socket.sync()
        chain.fell("c")
        cursor(socket, "y")
        assert app.state.feeds.followers == 1
        socket.say({"type": "complete", "id": "y"})
        while app.state.bell.heard:
            socket.sync()
    assert app.state.feeds.followers == 0


def test_events_of_a_failing_feed_are_an_error_to_each(
    server: Listening, chain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failing = list_matching_events, False

    def fail(*args: Any) -> Any:
        if failing:
            raise DatabaseUnavailable("Start the database.")
        return read(*args)

    monkeypatch.setattr(sources, "list_matching_events", fail)
    with server.socket() as socket:
        for id in "xy":
            socket.subscribe(id, CURSORS)
        await_subscribed(socket)
        failing = True
        chain.fell("d")
        ends = [socket.hear() for _ in "xy"]
        assert {each["type"] for each in ends} == {"error"}
        codes = {each["payload"][0]["extensions"]["code"] for each in ends}
        assert codes == {"DATABASE_UNAVAILABLE"}
        failing = False
        socket.subscribe("x", CURSORS, after="0-0")
        assert cursor(socket, "x") == outbox(chain)[0]


@asynccontextmanager
async def following(
    memory: Memory, patience: float = PATIENCE
) -> AsyncIterator[tuple[Caller, AsyncIterator[Any], Following]]:
    """A subscription that has caught up, and its way along the feed."""
    bell = Bell(memory.store.listen)
    feeds = Feeds(make_schema().stream, bell, patience)
    caller = Caller(memory.scope, Inline(), bell, feeds=feeds)
    stream: Any = await make_schema().subscribe(CURSORS, context_value=caller)
    way: Any = (await anext(stream)).data
    assert isinstance(way, Following)
    await turns()
    try:
        yield caller, stream, way
    finally:
        bell.close()
        with suppress(StopAsyncIteration):
            while True:
                await anext(stream)


def fallen(memory: Memory) -> None:
    for key in "dcb":
        memory.fell(key)


def test_who_has_fallen_behind_the_log_reads_the_database_and_catches_up(
    chain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "LOG_EVENTS", 2)

    async def follow() -> list[str]:
        async with following(chain) as (_, stream, way):
            fallen(chain)
            await turns()
            assert await way.take() == ()
            batch = (await anext(stream)).data
            seen = [json.loads(each)["data"]["events"]["cursor"] for each in await batch.take()]
            assert await batch.take() == ()
            again = (await anext(stream)).data
            assert isinstance(again, Following)
            chain.fell("a")
            await turns()
            seen += [json.loads(each)["data"]["events"]["cursor"] for each in await again.take()]
        return seen

    assert asyncio.run(follow()) == outbox(chain)


def test_who_does_not_catch_up_is_told_where_it_stands(
    chain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "LOG_EVENTS", 1)
    monkeypatch.setattr(batch_module, "BATCH_BYTES", 1)

    async def follow() -> tuple[str, Any]:
        async with following(chain, patience=-1) as (_, stream, way):
            start = way.cursor
            fallen(chain)
            await turns()
            assert await way.take() == ()
            batch = (await anext(stream)).data
            (taken,) = await batch.take()
            assert batch.cursor == start
            assert await batch.take() == ()
            seen = json.loads(taken)["data"]["events"]["cursor"]
            return seen, (await anext(stream)).errors

    seen, (error,) = asyncio.run(follow())
    assert error.extensions == {"code": "LAGGED", "cursor": seen}
    assert seen in error.message
    assert seen == outbox(chain)[0]


def test_many_events_are_taken_together_in_order(chain: Memory) -> None:
    async def follow() -> list[str]:
        async with following(chain) as (caller, _, way):
            assert caller.feeds is not None
            assert caller.feeds.followers == 1
            fallen(chain)
            await turns()
            assert way.position == (chain.events()[0].at - 1, MAX_ID) or way.position[1] == MAX_ID
            taken = await way.take()
            return [json.loads(each)["data"]["events"]["cursor"] for each in taken]

    assert asyncio.run(follow()) == outbox(chain)


def test_a_live_peer_that_reads_nothing_is_told_where_it_stands(
    store: Store, memory: Memory
) -> None:
    """When it reads again it finds everything that was sent, and why that was all."""
    memory.put(*(NodeInput(f"n{i}", kind=NodeKind.RULE, payload="x" * 60_000) for i in range(200)))
    memory.link(*(f"n0 REQUIRES n{i}" for i in range(1, 200)))
    query = CURSORS.replace("cursor", "cursor node { payload }")
    limits = StreamLimits(reader=0.5)
    with listening(create_app(store, stream_limits=limits)) as server, Raw(server) as peer:
        peer.say_json({"type": "connection_init"})
        peer.frame()
        peer.say_json({"type": "subscribe", "id": "1", "payload": {"query": query}})
        with server.socket() as other:
            other.subscribe("o", CURSORS)
            await_subscribed(other)
            while server.app.state.feeds.followers < 2:
                other.sync()
            memory.fell("n0")
            for _ in range(200):
                cursor(other, "o")
            while server.app.state.feeds.followers > 1:
                other.sync()
        frames = [peer.frame()]
        while frames[-1][0] == TEXT:
            frames.append(peer.frame())
    *texts, (opcode, payload) = frames
    *events, last = (json.loads(text) for _, text in texts)
    assert (opcode, struct.unpack("!H", payload[:2])) == (CLOSE, (1013,))
    assert payload[2:] == b"LAGGED"
    assert 0 < len(events) < 200
    assert (last["type"], last["id"]) == ("error", "1")
    (error,) = last["payload"]
    assert error["extensions"] == {
        "code": "LAGGED",
        "cursor": events[-1]["payload"]["data"]["events"]["cursor"],
    }


def test_a_reading_of_its_own_begins_where_it_is_told(chain: Memory, clock: ManualClock) -> None:
    """A feed begins where its first follower is, whatever the operation says of it."""
    fallen(chain)
    first, second, *_ = chain.events()

    async def follow() -> Any:
        reading = Reading((first.at, first.ordinal))
        caller = Caller(chain.scope, Inline(), Bell(chain.store.listen), reading=reading)
        stream: Any = await make_schema().subscribe(
            CURSORS, variable_values={"after": "0-0"}, context_value=caller
        )
        batch: Any = (await anext(stream)).data
        position, payload = next(batch.answers())
        assert position == (second.at, second.ordinal)
        caller.bell.close()
        return json.loads(payload)["data"]["events"]["cursor"]

    assert asyncio.run(follow()) == f"{second.at}-{second.ordinal}"

"""The subscription gives exactly the outbox: nothing lost, nothing twice, resumed or live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Thread
from typing import Any

import pytest

from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.updates import list_matching_events
from retrograph.rules.instant import LATEST, format_instant
from retrograph.rules.limits import MAX_COST, MAX_ID
from retrograph.schema import sources
from retrograph.schema.bell import Bell
from retrograph.schema.context import Caller
from retrograph.schema.schema import make_schema
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store
from retrograph.storage.update_records import Part
from tests.clock import START as NOW
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Listening, Socket

EVENTS = """subscription ($after: String, $types: [EventType!], $fleet: ID! = 1) {
    events(fleetId: $fleet, types: $types, after: $after) {
        cursor type at node { key validity } run { id status } detail } }"""
START = "0-0"


def outbox(memory: Memory) -> list[str]:
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def cursors(socket: Socket, count: int, id: str = "s") -> list[str]:
    return [socket.next(id)["data"]["events"]["cursor"] for _ in range(count)]


def test_an_event_tells_what_the_outbox_tells(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        socket.subscribe("s", EVENTS)
        socket.sync()
        socket.subscribe("q", "{ viewer { tenantId } }")
        assert socket.next("q")["data"]["viewer"]["tenantId"] == "1"
        assert socket.hear() == {"type": "complete", "id": "q"}
        run = chain.fell("d")
        payload = socket.next("s")
    assert payload == {
        "data": {
            "events": {
                "cursor": f"{run.as_of}-0",
                "type": "NODE_STALE",
                "at": format_instant(run.as_of),
                "node": {"key": "d", "validity": "INVALID"},
                "run": {"id": "1", "status": "APPLIED"},
                "detail": {"from": "CURRENTLY_VALID", "to": "INVALID", "depth": 0},
            }
        },
        "extensions": {
            "asOf": {"1": format_instant(run.as_of)},
            "cost": {"requested": 11, "limit": MAX_COST},
        },
    }


def test_the_past_is_scanned_then_the_present_followed(server: Listening, chain: Memory) -> None:
    chain.fell("c")
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, after=START)
        seen = cursors(socket, 2)
        chain.fell("a")
        seen += cursors(socket, 3)
    assert seen == outbox(chain)


@pytest.mark.parametrize("page", [1, 2, 3, 500])
def test_pages_of_the_scan_join(
    server: Listening, chain: Memory, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "PAGE", page)
    for key in "dcba":
        chain.fell(key)
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, after=START)
        assert cursors(socket, len(outbox(chain))) == outbox(chain)


def test_types_are_filtered(server: Listening, chain: Memory) -> None:
    pin_node(chain.scope, 1, NodeRef(key="b"), pinned=True)
    chain.fell("a")
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, after=START, types=["PINNED_NODE_REVIEW"])
        assert socket.next("s")["data"]["events"]["node"]["key"] == "b"
        chain.fell("d", reason="nothing new")
        pin_node(chain.scope, 1, NodeRef(key="e"), pinned=True)
        chain.plant("x", "y")
        chain.link("x REQUIRES y")
        pin_node(chain.scope, 1, NodeRef(key="y"), pinned=True)
        chain.fell("x")
        assert socket.next("s")["data"]["events"]["node"]["key"] == "y"


def test_each_event_is_read_as_of_its_own_instant(
    server: Listening, chain: Memory, clock: ManualClock
) -> None:
    first = chain.fell("d")
    clock.advance()
    revert_run(chain.scope, 1, first.id)
    clock.advance()
    chain.fell("d", reason="again")
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, after=START)
        told = [socket.next("s")["data"]["events"] for _ in outbox(chain)]
    assert [each["cursor"] for each in told] == outbox(chain)
    states = {each["at"]: each["node"]["validity"] for each in told}
    assert list(states.values()) == ["INVALID", "CURRENTLY_VALID", "INVALID"]
    assert {each["run"]["status"] for each in told} == {"APPLIED"}


def test_a_subscriber_that_drops_resumes_with_its_last_cursor(
    server: Listening, chain: Memory
) -> None:
    """Writes go on while it is away, and while it scans."""
    more = 30
    felled_and_restored(chain)
    expected = (more + 1) * len(outbox(chain))
    writer = Thread(target=lambda: felled_and_restored(chain, more))
    writer.start()
    seen: list[str] = []
    while len(seen) < expected:
        with server.socket() as socket:
            after = seen[-1] if seen else START
            socket.subscribe("s", EVENTS, after=after)
            seen += cursors(socket, min(17, expected - len(seen)))
    writer.join()
    assert seen == outbox(chain)


def felled_and_restored(memory: Memory, times: int = 1) -> None:
    for _ in range(times):
        revert_run(memory.scope, 1, memory.fell("a").id)


def test_many_subscribers_hear_the_same(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        for id in "xyz":
            socket.subscribe(id, EVENTS)
        socket.sync()
        await_subscribed(socket)
        chain.fell("d")
        heard = [socket.hear() for _ in range(3)]
    assert sorted(each["id"] for each in heard) == ["x", "y", "z"]
    assert len({str(each["payload"]) for each in heard}) == 1


def await_subscribed(socket: Socket) -> None:
    """Returns when operations that were begun before have read the clock they start from."""
    for number in range(3):
        socket.subscribe(f"q{number}", "{ nodes(fleetId: 1) { asOf } }")
        socket.next(f"q{number}")
        assert socket.hear() == {"type": "complete", "id": f"q{number}"}


def test_commits_of_another_process_are_heard(
    server: Listening, chain: Memory, database: str, clock: ManualClock
) -> None:
    """Another store on the same file stands for the other process: it rings no bell here."""
    other = open_store(database, clock=clock)
    with server.socket() as socket:
        socket.subscribe("s", EVENTS)
        await_subscribed(socket)
        scope = type(chain.scope)(other, 1, None, chain.scope.roles)
        Memory(scope).fell("d")
        assert socket.next("s")["data"]["events"]["node"]["key"] == "d"
    other.close()


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"fleet": "9"}, "NOT_FOUND"),
        ({"fleet": "x"}, "BAD_USER_INPUT"),
        ({"after": "garbage"}, "INVALID_CURSOR"),
        ({"after": "1-"}, "INVALID_CURSOR"),
        ({"after": f"{10**18}-0"}, "INVALID_CURSOR"),
        ({"after": f"{NOW + 10**12}-0"}, "INVALID_CURSOR"),
        ({"after": f"{LATEST}-0"}, "INVALID_CURSOR"),
        ({"after": "-1-0"}, "INVALID_CURSOR"),
        ({"after": "0--1"}, "INVALID_CURSOR"),
        ({"types": ["NOPE"]}, "BAD_USER_INPUT"),
    ],
)
def test_what_is_wrong_is_told_to_the_operation(
    server: Listening, chain: Memory, variables: Any, code: str
) -> None:
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, **variables)
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "s")
        assert message["payload"][0]["extensions"]["code"] == code
        socket.sync()


def test_a_cursor_between_the_last_commit_and_now_is_of_the_future(
    server: Listening, chain: Memory, clock: ManualClock
) -> None:
    """Behind it, the subscriber would miss whatever is committed until then."""
    last = chain.fell("d").as_of
    clock.advance()
    with server.socket() as socket:
        socket.subscribe("bad", EVENTS, after=f"{last + 1}-0")
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "bad")
        assert message["payload"][0]["extensions"]["code"] == "INVALID_CURSOR"
        socket.subscribe("good", EVENTS, after=f"{last}-{MAX_ID}")
        await_subscribed(socket)
        clock.now = last
        chain.fell("c")
        assert socket.next("good")["data"]["events"]["node"]["key"] == "c"


class Inline(Executor):
    """Runs what it is given at once, so that a test counts turns of the loop and not time."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args, **more))
        except Exception as error:  # noqa: BLE001 (whoever waits for it is told)
            done.set_exception(error)
        return done


@pytest.mark.parametrize("rings", [0, 1, 3])
def test_a_subscriber_reads_once_a_ring_and_rests(
    chain: Memory, monkeypatch: pytest.MonkeyPatch, rings: int
) -> None:
    """Whether or not there is news for it."""
    reads: list[Any] = []

    def read(*args: Any) -> Part:
        reads.append(args)
        return list_matching_events(*args)

    monkeypatch.setattr(sources, "list_matching_events", read)

    async def follow() -> None:
        caller = Caller(chain.scope, Inline(), Bell(chain.store.listen))
        stream = await make_schema().subscribe(
            "subscription { events(fleetId: 1) { node { key } } }", context_value=caller
        )
        following = asyncio.ensure_future(anext(stream))
        await turns()
        for _ in range(rings):
            caller.bell.ring_all()
            await turns()
        assert not following.done()
        await asyncio.to_thread(chain.fell, "d")
        assert (await following).data == {"events": {"node": {"key": "d"}}}
        following = asyncio.ensure_future(anext(stream))
        await turns()
        caller.bell.close()
        with pytest.raises(StopAsyncIteration):
            await following

    asyncio.run(follow())
    assert len(reads) == 1 + rings + 1


async def turns() -> None:
    """Lets the loop turn more often than a subscriber that rests can make use of."""
    for _ in range(200):
        await asyncio.sleep(0)


def test_the_end_of_the_server_ends_the_stream(server: Listening, chain: Memory) -> None:
    """`server` is stopped by its fixture while this socket still listens: it must not hang."""
    client = server.socket()
    socket = client.__enter__()
    socket.subscribe("s", EVENTS)
    socket.sync()

"""Events come all, once and in order, though connections are cut at any byte."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from typing import Any

import httpx
import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.frames import Close
from websockets.http11 import Response

from retrograph.app import create_app
from retrograph.client import (
    ApiError,
    Client,
    ClientError,
    Forbidden,
    InvalidInput,
    NotFound,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from retrograph.client.errors import error_of
from retrograph.client.feed import Ended, Feed
from retrograph.resolvers.scope import Role
from retrograph.rules import errors
from retrograph.schema.identity import Identity
from tests.client.relay import relaying
from tests.client.speaking import RETRY, Speaker, speaking
from tests.memory import Memory
from tests.schema.serving import Listening, listening

BEGINNING = "0-0"
ACK = '{"type": "connection_ack"}'


@pytest.fixture(scope="module")
def told(served: tuple[Memory, Listening]) -> list[str]:
    """The cursors of what has happened in the fleet: some dozens of events."""
    memory, _ = served
    keys = [f"event:{number}" for number in range(60)]
    memory.plant(*keys)
    memory.link(*(f"{first} REQUIRES {second}" for first, second in pairwise(keys)))
    memory.fell(keys[40])
    memory.fell(keys[0])
    return [f"{event.at}-{event.ordinal}" for event in memory.events()]


def test_what_has_happened_is_told_in_order(speaker: Speaker, told: list[str]) -> None:
    events = speaker.events(len(told), after=BEGINNING)
    assert [event.cursor for event in events] == told
    assert {event.type for event in events} == {"NODE_STALE"}
    assert all(event.fleet_id == 1 and event.run_id and event.reason for event in events)
    first = events[0]
    assert first.node is not None
    assert (first.node.key, first.node.validity, first.detail["to"]) == (
        "event:40", "INVALID", "INVALID"
    )  # fmt: skip
    assert speaker.events(2, after=told[4])[0].cursor == told[5]
    assert speaker.slept == []


# The handshake takes some 300 bytes, the first event packed as much again, the others less.
@pytest.mark.parametrize("most", [700, 850, 1001])
def test_a_cut_connection_is_made_anew_where_it_was_cut(
    kind: str, served: tuple[Memory, Listening], told: list[str], most: int
) -> None:
    with relaying(served[1].address, most) as relay:
        with speaking(kind, f"http://127.0.0.1:{relay.port}/graphql") as speaker:
            events = speaker.events(len(told), after=BEGINNING)
            assert [event.cursor for event in events] == told
        assert min(relay.cuts, len(speaker.slept)) > 1


def test_without_a_cursor_it_begins_when_it_asks(
    kind: str, url: str, memory: Memory, told: list[str]
) -> None:
    memory.plant(key := f"now:{kind}")

    def answer(request: httpx.Request) -> httpx.Response:
        """Something happens between the question where the events end and the subscription."""
        found = httpx.post(url, content=request.content, headers=request.headers)
        memory.fell(key)
        return httpx.Response(found.status_code, content=found.content)

    with speaking(kind, url, handler=answer) as speaker:
        (event,) = speaker.events(1, types=["NODE_STALE"])
        assert event.node is not None
        assert event.node.key == key


def test_a_live_event_follows_those_of_the_past(url: str, memory: Memory, told: list[str]) -> None:
    memory.plant("live")
    with Client(url) as client:
        feed = client.events(1, after=told[-2], types=["NODE_STALE"])
        assert next(feed).cursor == told[-1]
        memory.fell("live")
        assert "live" in [event.node and event.node.key for event in islice(feed, 3)]
        feed.close()


def test_what_is_refused_is_raised_at_once(speaker: Speaker, told: list[str]) -> None:
    for arguments, kind in (({"after": "x"}, InvalidInput), ({"types": ["NO"]}, ApiError)):
        with pytest.raises(kind):
            speaker.events(1, **{"after": BEGINNING} | arguments)
    assert speaker.slept == []


def test_a_server_that_is_not_there_is_tried_a_few_times(kind: str) -> None:
    with speaking(kind, "http://127.0.0.1:9/graphql") as speaker:
        with pytest.raises(Unreachable, match="No connection for events"):
            speaker.events(1, after=BEGINNING)
        assert speaker.slept == [1, 2, 4]


def test_a_token_is_asked_for_anew_and_checked(kind: str, memory: Memory) -> None:
    async def identify(token: str | None) -> Identity:
        if token not in {"old", "new", "weak"}:
            raise errors.Unauthenticated("Send a token.")
        return Identity(1, None, frozenset() if token == "weak" else frozenset(Role))

    tokens = iter(["old", "new", "none", "none", "weak"])
    with listening(create_app(memory.store, identify=identify)) as server:
        url = "http://{}:{}/graphql".format(*server.address)
        with speaking(kind, url, lambda: next(tokens)) as speaker:
            assert speaker.execute("{ viewer { tenantId } }") == {"viewer": {"tenantId": "1"}}
            assert speaker.events(1, after=BEGINNING)
            with pytest.raises(Unauthenticated, match="Send a token"):
                speaker.execute("{ viewer { tenantId } }")
            with pytest.raises(Unauthenticated, match="Send a token"):
                speaker.events(1, after=BEGINNING)
            with pytest.raises(Forbidden):
                speaker.events(1, after=BEGINNING)
            assert speaker.slept == []
        with speaking(kind, url) as speaker, pytest.raises(Unauthenticated):
            speaker.execute("{ viewer { tenantId } }")


def feed() -> Feed:
    """A subscriber who has just connected."""
    made = Feed(1, BEGINNING, None, RETRY)
    made.hello("token")
    return made


def closed(code: int) -> ConnectionClosedError:
    return ConnectionClosedError(Close(code, "bye"), None)


def refused(status: int) -> InvalidStatus:
    return InvalidStatus(Response(status, "No", Headers()))


def failed(code: str) -> ClientError:
    return error_of({"message": "No.", "extensions": {"code": code}})


def test_it_says_its_token_and_where_to_go_on() -> None:
    made = Feed(1, "5-0", ["NODE_STALE"], RETRY)
    assert json.loads(made.hello(None)) == {"type": "connection_init", "payload": {}}
    init = json.loads(made.hello("t"))
    assert init["payload"] == {"authorization": "Bearer t"}
    subscribe: Any = json.loads(str(made.hear(ACK)))
    assert subscribe["payload"]["variables"] == {
        "fleet": "1", "types": ["NODE_STALE"], "after": "5-0"
    }  # fmt: skip
    assert json.loads(str(made.hear('{"type": "ping"}'))) == {"type": "pong"}
    assert made.hear('{"type": "pong"}') is None
    with pytest.raises(Ended):
        made.hear('{"type": "complete", "id": "1"}')
    with pytest.raises(Unauthenticated) as caught:
        made.hello("no token")
    with pytest.raises(Unauthenticated):
        made.pause(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        *(closed(code) for code in (1000, 1001, 1006, 1011, 1012)),
        *(refused(status) for status in (408, 429, 500, 502, 503)),
        *(failed(code) for code in ("DATABASE_LOCKED", "DATABASE_UNAVAILABLE")),
        OSError("network"),
        TimeoutError(),
        Ended(),
    ],
)
def test_what_may_pass_is_waited_for_longer_and_longer(error: Exception) -> None:
    made = feed()
    assert [made.pause(error) for _ in range(3)] == [1, 2, 4]
    kind = Unavailable if isinstance(error, Unavailable) else Unreachable
    with pytest.raises(kind):
        made.pause(error)
    made.hear(ACK)
    assert made.pause(error) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (closed(4403), Unauthenticated),
        *((closed(code), ApiError) for code in (4400, 4406, 4408, 4429)),
        *((refused(status), Unreachable) for status in (401, 403, 404, 421)),
        (failed("NOT_FOUND"), NotFound),
        (failed("FORBIDDEN"), Forbidden),
        (Unreachable("no API"), Unreachable),
    ],
)
def test_what_will_not_pass_is_raised(error: Exception, kind: type[ClientError]) -> None:
    with pytest.raises(kind):
        feed().pause(error)


@pytest.mark.parametrize("error", [closed(4403), failed("UNAUTHENTICATED")], ids=["close", "error"])
def test_a_token_that_expires_is_replaced(error: Exception) -> None:
    made = feed()
    made.hear(ACK)
    assert made.pause(error) == 1
    made.hello("expired")
    with pytest.raises(Unauthenticated):
        made.pause(error)


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"type": 1}', b"\xff"])
def test_what_is_no_message_is_not_this_api(text: str | bytes) -> None:
    with pytest.raises(Unreachable, match="Something else"):
        feed().hear(text)

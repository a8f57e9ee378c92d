"""Whatever a client says, it is answered or its socket is closed by a code; others never notice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.schema.limits import MAX_MESSAGE_BYTES
from retrograph.schema.socket_messages import MAX_ID_LENGTH
from retrograph.storage.store import open_store
from tests.schema.serving import Listening, Socket, listening

Frame = str | bytes
VIEWER = "{ viewer { tenantId } }"
FOREVER = "subscription { events(fleetId: 1) { cursor } }"
INIT = {"type": "connection_init"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """One server for all: a bad message must leave it as it was."""
    store = open_store(str(tmp_path_factory.mktemp("sockets") / "memory.db"))
    store.write_all(1, [1], lambda _: None)
    with listening(create_app(store)) as running:
        yield running
    store.close()


@pytest.fixture(scope="module")
def bystander(server: Listening) -> Iterator[Socket]:
    """A client that has done nothing wrong, and listens."""
    with server.socket() as socket:
        socket.subscribe("s", FOREVER)
        socket.sync()
        yield socket


def subscribe(id: object = "1", **payload: object) -> dict[str, object]:
    return {"type": "subscribe", "id": id, "payload": {"query": VIEWER, **payload}}


def without(message: dict[str, object], field: str) -> dict[str, object]:
    return {name: value for name, value in message.items() if name != field}


MESSAGES: dict[str, Any] = {
    "a number": 5,
    "a string": "ping",
    "null": None,
    "true": True,
    "an array": [1],
    "an array of messages": [{"type": "ping"}],
    "an object without a type": {},
    "an object with other fields": {"id": "1", "payload": {}},
    "a type that is a number": {"type": 5},
    "a type that is null": {"type": None},
    "a type that is an array": {"type": ["ping"]},
    "an unknown type": {"type": "unknown"},
    "a type of the older protocol": {"type": "start", "id": "1", "payload": {"query": VIEWER}},
    "a type of the server": {"type": "next", "id": "1", "payload": {"data": {}}},
    "a type without end": {"type": "x" * 100_000},
    "a type that is no text": {"type": "\ud800"},
    "a ping with a string": {"type": "ping", "payload": "x"},
    "a ping with an array": {"type": "ping", "payload": [1]},
    "a pong with a number": {"type": "pong", "payload": 5},
    "a completion without an id": {"type": "complete"},
    "a completion of a number": {"type": "complete", "id": 1},
    "a completion of nothing": {"type": "complete", "id": ""},
    "no id": without(subscribe(), "id"),
    "an id that is null": subscribe(None),
    "an id that is a number": subscribe(1),
    "an id that is empty": subscribe(""),
    "an id that is too long": subscribe("x" * (MAX_ID_LENGTH + 1)),
    "an id that is an array": subscribe(["1"]),
    "an id that is an object": subscribe({}),
    "no payload": without(subscribe(), "payload"),
    "a payload that is null": {**subscribe(), "payload": None},
    "a payload that is a string": {**subscribe(), "payload": VIEWER},
    "a payload that is an array": {**subscribe(), "payload": [{"query": VIEWER}]},
    "a payload that is empty": {**subscribe(), "payload": {}},
    "a query that is a number": subscribe(query=5),
    "a query that is null": subscribe(query=None),
    "a query that is an object": subscribe(query={}),
    "variables that are an array": subscribe(variables=[1]),
    "variables that are a string": subscribe(variables="{}"),
    "an operation's name that is a number": subscribe(operationName=5),
    "extensions that are an array": subscribe(extensions=[]),
}
FRAMES: dict[str, Frame] = {
    "nothing": "",
    "a blank": " ",
    "a word": "{bad",
    "a number that is none": "NaN",
    "a number that is none inside": '{"type": NaN}',
    "two messages": '{"type": "ping"}{"type": "ping"}',
    "brackets without end": "[" * 1_000_000,
    "objects within objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a binary message": b'{"type": "ping"}',
    "a binary nothing": b"",
}


@pytest.mark.parametrize("name", [*MESSAGES, *FRAMES])
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "new"])
def test_what_is_no_message_closes_its_socket_alone(
    server: Listening, bystander: Socket, name: str, begun: bool
) -> None:
    frame = FRAMES[name] if name in FRAMES else json.dumps(MESSAGES[name])
    with server.socket(begun=begun) as socket:
        socket.connection.send(frame)
        assert socket.closed().code == 4400
    bystander.sync()


ORDERS: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "an operation before the first message": (4401, [subscribe()]),
    "a second first message": (4429, [INIT, INIT]),
    "a second first message in the midst": (4429, [INIT, subscribe(query=FOREVER), INIT]),
    "a first message with a string": (4400, [{**INIT, "payload": "x"}]),
    "a first message with an array": (4400, [{**INIT, "payload": [1]}]),
    "an id that is in use": (4409, [INIT, subscribe(query=FOREVER), subscribe()]),
    "a long id that is in use": (4409, [INIT, *[subscribe("ü" * 100, query=FOREVER)] * 2]),
    "an id that is no text": (4409, [INIT, *[subscribe("\ud800", query=FOREVER)] * 2]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_of_the_protocol_is_kept(
    server: Listening, bystander: Socket, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, messages = ORDERS[name]
    with server.socket(begun=False) as socket:
        for message in messages:
            socket.say(message)
        assert socket.closed().code == code
    bystander.sync()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (json.dumps({"type": "ping", "payload": {"x": "x" * MAX_MESSAGE_BYTES}}), 1009),
        (b"\xff", 1007),
    ],
    ids=["too large", "no UTF-8"],
)
def test_what_is_no_frame_closes_its_socket_alone(
    server: Listening, bystander: Socket, frame: Frame, code: int
) -> None:
    with server.socket() as socket:
        socket.connection.send(frame, text=True)
        assert socket.closed().code == code
    bystander.sync()


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "new"])
@pytest.mark.parametrize(
    "message",
    [
        {"type": "pong"},
        {"type": "pong", "payload": {"x": 1}},
        {"type": "complete", "id": "unknown"},
        {"type": "pong", "id": 5, "more": []},
    ],
    ids=str,
)
def test_what_needs_no_answer_gets_none(server: Listening, message: Any, begun: bool) -> None:
    with server.socket(begun=begun) as socket:
        socket.say(message)
        socket.sync()


@pytest.mark.parametrize("payload", [None, {}, {"x": [1]}])
def test_a_ping_is_answered_at_any_time(server: Listening, payload: Any) -> None:
    with server.socket(begun=False) as socket:
        for _ in range(2):
            socket.say({"type": "ping", "payload": payload})
            assert socket.hear() == {"type": "pong"}
        socket.begin()


@pytest.mark.parametrize("payload", [None, {}, {"token": "x"}, {"authorization": "Bearer x"}])
def test_the_first_message_may_carry_a_payload(server: Listening, payload: Any) -> None:
    with server.socket(begun=False) as socket:
        socket.say({"type": "connection_init", "payload": payload})
        assert socket.hear() == {"type": "connection_ack"}


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"query": ""}, "BAD_USER_INPUT"),
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "\ud800"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ nope }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "query A { viewer { roles } } query B { a: __typename }"}, "BAD_USER_INPUT"),
        ({"query": "query A { viewer { roles } }", "operationName": "B"}, "BAD_USER_INPUT"),
        ({"query": "fragment F on Query { viewer { roles } }"}, "BAD_USER_INPUT"),
        ({"query": "{ a " * 2000}, "OPERATION_TOO_COMPLEX"),
        ({"query": "{ a " * 3000}, "OPERATION_TOO_COMPLEX"),
        ({"query": "query ($x: ID!) { node(fleetId: $x, by: {id: 1}) { id } }"}, "BAD_USER_INPUT"),
        (
            {
                "query": "query ($x: ID!) { node(fleetId: $x, by: {id: 1}) { id } }",
                "variables": {"x": {}},
            },
            "BAD_USER_INPUT",
        ),
        ({"query": "subscription { events(fleetId: 9) { cursor } }"}, "NOT_FOUND"),
    ],
    ids=range(12),
)
def test_an_error_is_told_to_its_operation(
    server: Listening, payload: dict[str, Any], code: str
) -> None:
    with server.socket() as socket:
        socket.say({"type": "subscribe", "id": "1", "payload": payload})
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "1")
        (error,) = message["payload"]
        assert error["extensions"]["code"] == code
        socket.subscribe("1", VIEWER)
        assert socket.next("1")["data"]


@pytest.mark.parametrize("protocol", ["graphql-ws", "nope"])
def test_only_the_one_protocol_is_spoken(server: Listening, protocol: str) -> None:
    with server.socket(protocol, begun=False) as socket:
        assert socket.closed().code == 4406

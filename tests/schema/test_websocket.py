"""graphql-transport-ws: the protocol kept, and malformed messages met with 4400."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from retrograph.schema.limits import MAX_MESSAGE_BYTES
from tests.schema.serving import PATIENCE, Listening, Socket

VIEWER = "{ viewer { tenantId } }"


def closed(socket: Socket) -> int:
    """The code that the server closes the socket with; what it says before is passed over."""
    with pytest.raises(ConnectionClosed) as ended:  # noqa: PT012 (it ends by itself)
        while True:
            socket.connection.recv(timeout=PATIENCE)
    assert ended.value.rcvd is not None
    return ended.value.rcvd.code


def test_queries_and_mutations_are_answered(server: Listening) -> None:
    put = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"
    with server.socket() as socket:
        for id, query in (("q", VIEWER), ("m", put), ("q", VIEWER)):
            socket.subscribe(id, query)
            assert socket.next(id)["data"]
            assert socket.hear() == {"type": "complete", "id": id}


def test_every_operation_reads_at_an_instant_of_its_own(server: Listening) -> None:
    asked = "{ nodes(fleetId: 1) { asOf } }"
    put = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"
    instants = []
    with server.socket() as socket:
        for id, query in (("1", asked), ("2", put), ("3", asked)):
            socket.subscribe(id, query)
            instants.append(socket.next(id)["extensions"]["asOf"]["1"])
            socket.hear()
    assert instants[0] < instants[1] == instants[2]


@pytest.mark.parametrize("payload", [None, {}, {"token": "x"}])
def test_the_first_message_may_carry_a_payload(server: Listening, payload: Any) -> None:
    with server.socket(begun=False) as socket:
        socket.say({"type": "connection_init", "payload": payload})
        assert socket.hear() == {"type": "connection_ack"}


MALFORMED: list[Any] = [
    [1],
    "x",
    None,
    5,
    {},
    {"a": 1},
    {"type": 5},
    {"type": "unknown"},
    {"type": "connection_init", "payload": "x"},
    {"type": "connection_init", "payload": [1]},
    {"type": "ping", "payload": "x"},
    {"type": "complete"},
    {"type": "subscribe", "payload": {"query": VIEWER}},
    {"type": "subscribe", "id": 1, "payload": {"query": VIEWER}},
    {"type": "subscribe", "id": "", "payload": {"query": VIEWER}},
    {"type": "subscribe", "id": [], "payload": {"query": VIEWER}},
    {"type": "subscribe", "id": "1"},
    {"type": "subscribe", "id": "1", "payload": "x"},
    {"type": "subscribe", "id": "1", "payload": {}},
    {"type": "subscribe", "id": "1", "payload": {"query": 5}},
    {"type": "subscribe", "id": "1", "payload": {"query": VIEWER, "variables": [1]}},
    {"type": "subscribe", "id": "1", "payload": {"query": VIEWER, "operationName": 5}},
]


@pytest.mark.parametrize("message", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_message_closes_the_socket(server: Listening, message: Any) -> None:
    with server.socket() as socket:
        socket.say(message)
        assert closed(socket) in {4400, 4429}


@pytest.mark.parametrize("frame", ["{bad", "", "NaN", '{"type": NaN}', b'{"type":"ping"}'])
def test_a_frame_that_is_no_json_closes_the_socket(server: Listening, frame: str | bytes) -> None:
    with server.socket() as socket:
        socket.connection.send(frame)
        assert closed(socket) == 4400


def test_the_order_of_the_protocol_is_kept(server: Listening) -> None:
    with server.socket(begun=False) as socket:
        socket.subscribe("1", VIEWER)
        assert closed(socket) == 4401
    with server.socket() as socket:
        socket.say({"type": "connection_init"})
        assert closed(socket) == 4429
    with server.socket() as socket:
        for _ in range(2):
            socket.subscribe("1", "subscription { events(fleetId: 1) { cursor } }")
        assert closed(socket) == 4409


def test_an_operation_is_completed_by_its_client(server: Listening) -> None:
    with server.socket() as socket:
        socket.subscribe("1", "subscription { events(fleetId: 1) { cursor } }")
        socket.say({"type": "complete", "id": "1"})
        socket.say({"type": "complete", "id": "unknown"})
        socket.subscribe("1", VIEWER)
        assert socket.next("1")["data"]["viewer"] == {"tenantId": "1"}
        assert socket.hear() == {"type": "complete", "id": "1"}
        socket.sync()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "BAD_USER_INPUT"),
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nope }", "GRAPHQL_VALIDATION_FAILED"),
        ("query A { viewer { roles } } query B { viewer { roles } }", "BAD_USER_INPUT"),
        ("fragment F on Query { viewer { roles } }", "BAD_USER_INPUT"),
        ("{ a " * 2000, "OPERATION_TOO_COMPLEX"),
        ("{ a " * 3000, "OPERATION_TOO_COMPLEX"),
        ("query ($x: ID!) { node(fleetId: $x, by: {id: 1}) { id } }", "BAD_USER_INPUT"),
    ],
)
def test_an_error_is_told_to_its_operation(server: Listening, query: str, code: str) -> None:
    with server.socket() as socket:
        socket.subscribe("1", query)
        message = socket.hear()
        while message["type"] == "next":
            message = {"type": "error", "id": "1", "payload": message["payload"]["errors"]}
        assert (message["type"], message["id"]) == ("error", "1")
        assert message["payload"][0]["extensions"]["code"] == code


@pytest.mark.parametrize("protocol", ["graphql-ws", "nope"])
def test_only_the_one_protocol_is_spoken(server: Listening, protocol: str) -> None:
    with server.socket(protocol, begun=False) as socket:
        assert closed(socket) == 4406


def test_a_page_of_another_origin_is_refused(server: Listening) -> None:
    protocols = [Subprotocol("graphql-transport-ws")]
    with pytest.raises(InvalidHandshake):
        connect(server.url, subprotocols=protocols, origin=Origin("https://elsewhere.example"))


def test_a_message_has_a_greatest_size(server: Listening) -> None:
    with server.socket() as socket:
        socket.say({"type": "ping", "payload": {"x": "x" * MAX_MESSAGE_BYTES}})
        assert closed(socket) == 1009


def test_a_client_that_vanishes_is_no_fault(
    server: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    with server.socket() as socket:
        socket.subscribe("1", "subscription { events(fleetId: 1) { cursor } }")
        socket.sync()
        socket.connection.socket.close()
    with server.socket() as socket:
        socket.sync()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []

"""graphql-transport-ws: operations are answered, each on its own id."""

from __future__ import annotations

import pytest
from websockets.exceptions import InvalidHandshake
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from tests.schema.serving import Listening

VIEWER = "{ viewer { tenantId } }"


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


def test_an_operation_is_completed_by_its_client(server: Listening) -> None:
    with server.socket() as socket:
        socket.subscribe("1", "subscription { events(fleetId: 1) { cursor } }")
        socket.say({"type": "complete", "id": "1"})
        socket.say({"type": "complete", "id": "unknown"})
        socket.subscribe("1", VIEWER)
        assert socket.next("1")["data"]["viewer"] == {"tenantId": "1"}
        assert socket.hear() == {"type": "complete", "id": "1"}
        socket.sync()


def test_a_page_of_another_origin_is_refused(server: Listening) -> None:
    protocols = [Subprotocol("graphql-transport-ws")]
    with pytest.raises(InvalidHandshake):
        connect(server.url, subprotocols=protocols, origin=Origin("https://elsewhere.example"))


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

"""Every request has an id and leaves one line, which tells what came of it and no secret."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from retrograph.resolvers.scope import Scope
from retrograph.schema.current_request import WithRequestId, begun_request, request_id
from retrograph.storage.store import Store
from tests.schema.serving import Listening, Served, sqlite_store

VIEWER = {"query": "query Who { viewer { tenantId } }"}
MADE = re.compile("[0-9a-f]{32}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all: none of it depends on the engine, and nothing is written."""
    with sqlite_store(tmp_path_factory.mktemp("http")) as opened:
        yield opened


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.message for each in caplog.records if each.name.endswith("request_log")]


@pytest.mark.parametrize("given", ["a", "trace-1:2/3+4=5@6.7_8", "x" * 128])
def test_a_well_formed_id_is_kept(served: Served, given: str) -> None:
    for path in ("/graphql", "/health/live", "/nope"):
        response = served.client.get(path, headers={"x-request-id": given})
        assert response.headers["x-request-id"] == given


@pytest.mark.parametrize(
    "given", [[], [""], ["a b"], ["x" * 129], ["a\tb"], ['"a"'], ["\u00e9"], ["a", "b"]]
)
def test_any_other_id_is_replaced(served: Served, given: list[str]) -> None:
    headers = [(b"x-request-id", each.encode()) for each in given]
    ids = [
        served.client.post("/graphql", json=VIEWER, headers=headers).headers["x-request-id"]
        for _ in range(2)
    ]
    assert all(MADE.fullmatch(each) for each in ids)
    assert len(set(ids)) == 2


def test_a_request_leaves_one_line(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "retrograph")
    response = served.client.post("/graphql?a=secret", json=VIEWER)
    served.client.post("/nope%0A%0Amethod=GET%20status=200")
    first, second = lines(caplog)
    size = len(response.content)
    assert re.fullmatch(
        rf"method=POST path=/graphql status=200 ms=\d+\.\d bytes={size} operation=Who", first
    )
    assert re.fullmatch(
        r'method=POST path="/nope\\n\\nmethod=GET status=200" status=404 ms=\d+\.\d bytes=\d+',
        second,
    )


def test_a_name_that_a_client_made_up_cannot_forge_a_line(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "retrograph")
    served.client.post("/graphql", json=VIEWER | {"operationName": "x\nstatus=200 " + "y" * 9999})
    (line,) = lines(caplog)
    assert "\n" not in line
    assert len(line) < 500


def test_what_was_asked_for_is_never_logged(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "retrograph")
    query = "query ($x: Int!) { nodes(fleetId: 1, first: $x) { nodes { id } } }"
    wrong = {"query": query, "variables": {"x": "a-secret"}}
    answer = served.client.post(
        "/graphql?also=a-secret", json=wrong, headers={"authorization": "Bearer a-secret"}
    )
    assert "a-secret" in answer.text
    served.client.post("/graphql", json={"query": '{ node(key: "a-secret") { id } nope }'})
    served.client.post("/graphql", content=b'{"query": "a-secret', headers={"accept": "a-secret"})
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("retrograph")]
    assert len(ours) > 6
    assert "a-secret" not in " ".join(ours)


def test_every_line_of_a_request_carries_its_id_also_from_the_threads_of_storage(
    served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []

    def clock(self: Scope, fleet_id: int) -> int:
        seen.append(request_id())
        raise KeyError("ours")

    monkeypatch.setattr(Scope, "clock", clock)
    caplog.set_level(logging.ERROR, "retrograph")
    monkeypatch.setattr(caplog.handler, "filters", [WithRequestId()])
    query = {"query": "{ nodes(fleetId: 1) { nodes { id } } }"}
    served.client.post("/graphql", json=query, headers={"x-request-id": "mine"})
    assert seen == ["mine"]
    ours = [each for each in caplog.records if each.name.startswith("retrograph")]
    assert {(each.levelname, vars(each)["request_id"]) for each in ours} == {("ERROR", "mine")}
    assert request_id() is None


def test_a_request_is_current_only_while_it_is_answered() -> None:
    with begun_request(["a"]) as request:
        assert request_id() == request.id == "a"
    assert request_id() is None


def test_a_socket_has_an_id_and_a_line_of_its_own(
    server: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "retrograph")
    with server.socket() as client:
        response = client.connection.response
        assert response is not None
        assert MADE.fullmatch(response.headers["x-request-id"])
    told: list[str] = []
    for _ in range(1_000):
        server.client.get("/health/live")
        told = [line for line in lines(caplog) if "WEBSOCKET" in line]
        if told:
            break
    (line,) = told
    assert re.fullmatch(r"method=WEBSOCKET path=/graphql status=101 ms=[\d.]+", line)

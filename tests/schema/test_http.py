"""GraphQL over HTTP: media types, status codes, and refusals that are JSON."""

from __future__ import annotations

import json
import logging
import socket
from typing import Any

import pytest

from retrograph.schema.limits import MAX_BODY_BYTES
from tests.schema.serving import PATIENCE, Listening, Served

VIEWER = "{ viewer { tenantId } }"
ANSWER = {"viewer": {"tenantId": "1"}}
SPEC = "application/graphql-response+json"
PUT = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"


def test_get_and_post_answer_queries(served: Served) -> None:
    assert served.client.get("/graphql", params={"query": VIEWER}).json()["data"] == ANSWER
    assert served.client.post("/graphql", json={"query": VIEWER}).json()["data"] == ANSWER


def test_get_takes_variables_and_a_name(served: Served) -> None:
    query = "query A($f: ID!) { nodes(fleetId: $f) { nodes { id } } } query B { viewer { roles } }"
    params = {"query": query, "variables": '{"f": "1"}', "operationName": "A"}
    assert served.client.get("/graphql", params=params).json()["data"] == {"nodes": {"nodes": []}}


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (SPEC, SPEC),
        (f"application/json, {SPEC}", SPEC),
        (f"{SPEC};q=0.5, application/json", "application/json"),
        ("text/html, application/*;q=0.1", "application/json"),
    ],
)
def test_the_media_type_is_negotiated(served: Served, accept: str | None, given: str) -> None:
    served.client.headers.pop("accept", None)
    headers = {} if accept is None else {"accept": accept}
    response = served.client.post("/graphql", json={"query": VIEWER}, headers=headers)
    assert response.headers["content-type"] == f"{given}; charset=utf-8"
    assert response.headers["vary"] == "accept"


@pytest.mark.parametrize(
    ("query", "plain", "spec"),
    [
        (VIEWER, 200, 200),
        ("{", 200, 400),
        ("{ nope }", 200, 400),
        ("query ($x: ID!) { viewer { roles } node(fleetId: $x, by: {id: 1}) { id } }", 200, 400),
        ("query A { viewer { roles } } query B { viewer { roles } }", 200, 400),
        ("{ nodes(fleetId: 9) { nodes { id } } }", 200, 200),
        ("", 400, 400),
        ("fragment F on Query { viewer { roles } }", 400, 400),
        ("subscription { events(fleetId: 1) { cursor } }", 400, 400),
    ],
)
def test_request_errors_have_no_data(served: Served, query: str, plain: int, spec: int) -> None:
    for accept, status in (("application/json", plain), (SPEC, spec)):
        response = served.client.post("/graphql", json={"query": query}, headers={"accept": accept})
        assert response.status_code == status
        assert ("data" in response.json()) == (spec == 200)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'"text"', 400),
        (b"[]", 400),
        (b"null", 400),
        (b"\xff\xfe", 400),
        (b'{"query": "{ viewer { \xff } }"}', 400),
        (b'{"query": 5}', 400),
        (b'{"query": "{ viewer { roles } }", "variables": []}', 400),
        (b'{"query": "{ viewer { roles } }", "variables": {"x": NaN}}', 400),
        (b'{"query": "{ viewer { roles } }", "operationName": 5}', 400),
        (b'{"query": "{ viewer { roles } }", "operationName": "X"}', 400),
        (b'{"query": "{ viewer { roles } }", "extensions": []}', 400),
        (b"[" * 100_000, 400),
        (b" " * (MAX_BODY_BYTES + 1), 413),
    ],
    ids=range(15),
)
def test_a_malformed_body_is_refused_in_json(served: Served, body: bytes, status: int) -> None:
    response = served.client.post(
        "/graphql", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == status
    assert refusal(response.json())


def refusal(body: Any) -> str:
    (error,) = body["errors"]
    assert error["message"]
    return str(error["extensions"]["code"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json; charset=latin-1"}, 415),
        ({"content-type": "application/json", "content-encoding": "gzip"}, 415),
        ({"content-type": "application/json", "accept": "text/html"}, 406),
        ({"content-type": "application/json", "accept": "application/json;q=0"}, 406),
        ({"content-type": "application/json; charset=UTF-8"}, 200),
    ],
)
def test_headers_are_checked(served: Served, headers: dict[str, str], status: int) -> None:
    body = json.dumps({"query": VIEWER}).encode()
    response = served.client.post("/graphql", content=body, headers=headers)
    assert response.status_code == status
    if status != 200:
        assert refusal(response.json()) in {"UNSUPPORTED_MEDIA_TYPE", "NOT_ACCEPTABLE"}


def test_a_mutation_takes_post(served: Served) -> None:
    response = served.client.get("/graphql", params={"query": PUT})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert refusal(response.json()) == "METHOD_NOT_ALLOWED"
    assert served.ask("{ nodes(fleetId: 1) { nodes { id } } }").data == {"nodes": {"nodes": []}}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("PUT", "/graphql", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/graphql", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/elsewhere", 404, "NOT_FOUND"),
        ("POST", "/graphql/", 404, "NOT_FOUND"),
        ("GET", "/graphql", 400, "BAD_REQUEST"),
    ],
)
def test_other_methods_and_paths_are_refused_in_json(
    served: Served, method: str, path: str, status: int, code: str
) -> None:
    response = served.client.request(method, path)
    assert response.status_code == status
    assert refusal(response.json()) == code


def test_lone_surrogates_are_refused_where_they_are_stored(served: Served) -> None:
    body = json.dumps(
        {
            "query": PUT.replace("kind", r"key: $k, kind")
            .replace("mutation", "mutation ($k: String)")
            .replace("__typename", "... on UserError { code path }"),
            "variables": {"k": "\ud800"},
        }
    )
    response = served.client.post(
        "/graphql", content=body, headers={"content-type": "application/json"}
    )
    assert response.json()["data"]["putNodes"] == {
        "code": "BAD_USER_INPUT",
        "path": ["input", "nodes", "0", "key"],
    }


def test_lone_surrogates_in_a_document_are_no_server_error(served: Served) -> None:
    body = json.dumps({"query": '{ viewer { roles } # \ud800\n nope(x: "\ud800") }'})
    response = served.client.post(
        "/graphql", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code == 200
    assert refusal(response.json()) in {"GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED"}


def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_fault(
    server: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "retrograph")
    head = b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        connection.sendall(head + b"content-length: 100\r\n\r\n{")
    for _ in range(1_000):
        assert server.ask(VIEWER).data
        if "a client left in the middle of its body" in caplog.messages:
            break
    else:
        raise AssertionError("nobody noticed")
    assert [each for each in caplog.records if each.levelname == "ERROR" or each.exc_info] == []

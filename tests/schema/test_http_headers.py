"""Headers of requests and answers: origins, compression, duplicates, and what nothing may keep."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from retrograph.app import create_app
from retrograph.schema.middleware import HttpOptions
from retrograph.storage.store import Store
from tests.schema.serving import Served, serving, sqlite_store
from tests.schema.test_http import ANSWER, PUT, VIEWER, refusal

APP = "https://app.example"
JSON = ("content-type", "application/json")
BODY = json.dumps({"query": VIEWER}).encode()
LONG = "{ __schema { types { name description fields { name description } } } }"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all: none of it depends on the engine, and nothing is written."""
    with sqlite_store(tmp_path_factory.mktemp("http")) as opened:
        yield opened


@pytest.fixture
def shared(store: Store) -> Iterator[Served]:
    """The store behind an application that pages of one origin may ask."""
    with serving(create_app(store, http=HttpOptions(cors_origins=[APP]))) as running:
        yield running


@pytest.mark.parametrize("path", ["/graphql", "/health/live", "/health/ready", "/nope"])
def test_an_answer_belongs_to_who_asked(served: Served, path: str) -> None:
    headers = served.client.get(path, params={"query": VIEWER}).headers
    assert headers["cache-control"] == "no-store"
    assert headers["vary"] == "accept"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    "content_types",
    [
        [],
        [""],
        ["text/plain"],
        ["text/plain;application/json"],
        ["application/x-www-form-urlencoded"],
        ["multipart/form-data; boundary=x"],
        ["application/graphql"],
        ["application/graphql-response+json"],
        ["application/json; charset=utf-16"],
        ['application/json; charset="latin-1"'],
        ["application/json, text/plain"],
        ["application/json", "text/plain"],
        ["application/json", "application/json"],
        ["application"],
        ["\u00ff"],
    ],
)
def test_only_json_is_executed(served: Served, content_types: list[str]) -> None:
    """A page of another origin can send the others without being asked for leave (CSRF)."""
    headers = [(b"content-type", each.encode("latin-1")) for each in content_types]
    for query in (VIEWER, PUT):
        body = json.dumps({"query": query}).encode()
        response = served.client.post("/graphql", content=body, headers=headers)
        assert response.status_code == 415
        assert response.headers["accept-post"] == "application/json"
        assert refusal(response.json()) == "UNSUPPORTED_MEDIA_TYPE"
    assert served.ask("{ nodes(fleetId: 1) { nodes { id } } }").data == {"nodes": {"nodes": []}}


@pytest.mark.parametrize(
    "content_type",
    ["Application/JSON", 'application/json;charset="UTF-8"', "application/json ; x=y"],
)
def test_json_may_be_named_in_other_ways(served: Served, content_type: str) -> None:
    headers = {"content-type": content_type}
    answer = served.client.post("/graphql", content=BODY, headers=headers)
    assert answer.json()["data"] == ANSWER


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "x"])
def test_a_packed_body_is_refused(served: Served, encoding: str) -> None:
    headers = [JSON, ("content-encoding", encoding)]
    response = served.client.post("/graphql", content=BODY, headers=headers)
    assert (response.status_code, response.headers["accept-encoding"]) == (415, "identity")


def test_accept_headers_that_are_said_twice_are_one_list(served: Served) -> None:
    headers = [JSON, ("accept", "text/html"), ("accept", "application/*;q=0.1")]
    answer = served.client.post("/graphql", content=BODY, headers=headers)
    assert answer.json()["data"] == ANSWER


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[" + BODY + b"]", "batches are not taken"),
        (json.dumps({"query": VIEWER}).encode("utf-16"), "no JSON in UTF-8"),
        (json.dumps({"query": VIEWER}).encode("utf-32"), "no JSON in UTF-8"),
        (b"\xef\xbb\xbf" + BODY, "no JSON in UTF-8"),
        (b'{"query": "\xed\xa0\x80"}', "no JSON in UTF-8"),
        (b'{"query": "{ viewer { roles } }", "variables": {"x": Infinity}}', "no JSON in UTF-8"),
        (b'{"query": "{ viewer { roles } }", "variables": "{}"}', "`variables` as an object"),
        (BODY + BODY, "no JSON in UTF-8"),
        (b"1", "one JSON object"),
        (b"true", "one JSON object"),
    ],
    ids=range(10),
)
def test_a_body_is_one_object_in_utf_8(served: Served, body: bytes, told: str) -> None:
    response = served.client.post("/graphql", content=body, headers=dict([JSON]))
    assert response.status_code == 400
    assert told in response.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        (f"query={quote(VIEWER)}&variables={quote('{}')}&extensions={quote('{}')}", 200, None),
        (f"query={quote(VIEWER)}&variables=null&operationName=&x=1&x=2", 200, None),
        (f"query={quote(VIEWER)}&query={quote(PUT)}", 400, "Give `query` once."),
        (f"query={quote(VIEWER)}&variables=%7B%7D&variables=%7B%7D", 400, "Give `variables` once."),
        (f"query={quote(VIEWER)}&variables=", 400, "The variables is no JSON in UTF-8."),
        (f"query={quote(VIEWER)}&variables=[]", 400, "Give `variables` as an object."),
        (f"query={quote(VIEWER)}&variables=%22{{}}%22", 400, "Give `variables` as an object."),
        (f"query={quote(VIEWER)}&extensions=1", 400, "Give `extensions` as an object."),
        (f"query={quote(VIEWER)}&extensions=%7B", 400, "The extensions is no JSON in UTF-8."),
        ("query=%ff%fe", 400, "The URL is no text in UTF-8."),
        ("query=", 400, "Give a GraphQL document as `query`, a string."),
        ("", 400, "Give a GraphQL document as `query`, a string."),
        ("&=&;%", 400, "Give a GraphQL document as `query`, a string."),
    ],
    ids=range(13),
)
def test_a_url_holds_one_request(served: Served, text: str, status: int, told: str | None) -> None:
    response = served.client.get(f"/graphql?{text}")
    assert response.status_code == status
    answer: Any = response.json()
    if told is None:
        assert answer["data"] == ANSWER
    else:
        assert answer["errors"][0]["message"] == told


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_safe_methods_change_nothing(served: Served, method: str) -> None:
    several = f"query A {VIEWER} {PUT.replace('mutation', 'mutation B')}"
    for params in ({"query": PUT}, {"query": several, "operationName": "B"}):
        response = served.client.request(method, "/graphql", params=params)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
    chosen = {"query": several, "operationName": "A"}
    assert served.client.get("/graphql", params=chosen).json()["data"] == ANSWER
    assert served.ask("{ nodes(fleetId: 1) { nodes { id } } }").data == {"nodes": {"nodes": []}}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize(
    ("path", "allowed"), [("/graphql", "GET, HEAD, POST"), ("/health/live", "GET, HEAD")]
)
def test_other_methods_are_told_which_are_taken(
    served: Served, method: str, path: str, allowed: str
) -> None:
    response = served.client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
    assert allowed in response.json()["errors"][0]["message"]


@pytest.mark.parametrize("path", ["/graphql/", "/GraphQL", "//graphql", "/graphql%2f", "/%00"])
def test_paths_are_exact_and_nobody_is_sent_elsewhere(served: Served, path: str) -> None:
    response = served.client.post(f"http://localhost{path}", json={"query": VIEWER})
    assert response.status_code == 404
    assert refusal(response.json()) == "NOT_FOUND"


def test_who_takes_gzip_gets_long_answers_packed(served: Served) -> None:
    def ask(query: str, accepted: str) -> Any:
        headers = {"accept-encoding": accepted}
        return served.client.get("/graphql", params={"query": query}, headers=headers)

    packed, plain, short = ask(LONG, "gzip"), ask(LONG, "gzip;q=0"), ask(VIEWER, "gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 3
    assert packed.headers["vary"] == plain.headers["vary"] == "accept, Accept-Encoding"
    assert packed.json() == plain.json()
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in short.headers


def test_pages_of_other_origins_may_not_ask_by_default(served: Served) -> None:
    asks = {"origin": APP, "access-control-request-method": "POST"}
    preflight = served.client.request("OPTIONS", "/graphql", headers=asks)
    answer = served.client.post("/graphql", json={"query": VIEWER}, headers={"origin": APP})
    assert preflight.status_code == 405
    for response in (preflight, answer):
        assert [each for each in response.headers if each.startswith("access-control")] == []


def test_pages_of_an_origin_that_is_named_may_ask(shared: Served) -> None:
    asks = {
        "origin": APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, x-request-id",
    }
    allowed = shared.client.request("OPTIONS", "/graphql", headers=asks)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == APP
    assert allowed.headers["access-control-allow-methods"] == "GET, POST"
    assert "access-control-allow-credentials" not in allowed.headers

    for path, status in (("/graphql", 200), ("/nope", 404)):
        answer = shared.client.post(path, json={"query": VIEWER}, headers={"origin": APP})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["access-control-expose-headers"] == "x-request-id"
        assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(
    "asks",
    [
        {"origin": "https://other.example"},
        {"origin": "null"},
        {"origin": f"{APP}.other.example"},
        {"access-control-request-method": "DELETE"},
        {"access-control-request-headers": "cookie"},
    ],
)
def test_what_is_not_allowed_is_refused_before_it_is_asked(
    shared: Served, asks: dict[str, str]
) -> None:
    headers = {"origin": APP, "access-control-request-method": "POST"} | asks
    refused = shared.client.request("OPTIONS", "/graphql", headers=headers)
    assert refused.status_code == 400
    assert refusal(refused.json()) == "CROSS_ORIGIN"
    if "origin" in asks:
        assert "access-control-allow-origin" not in refused.headers
        answer = shared.client.post("/graphql", json={"query": VIEWER}, headers=asks)
        assert "access-control-allow-origin" not in answer.headers


def test_every_page_may_ask_but_never_with_what_a_browser_keeps(store: Store) -> None:
    with serving(create_app(store, http=HttpOptions(cors_origins=["*"]))) as open_to_all:
        headers = {"origin": "https://any.example", "cookie": "a=b"}
        answer = open_to_all.client.post("/graphql", json={"query": VIEWER}, headers=headers)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


def test_a_fault_of_ours_is_logged_once_and_pages_may_read_that_it_was_one(
    shared: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Store, tenant_id: int) -> list[int]:
        raise KeyError("a secret of ours")

    monkeypatch.setattr(Store, "fleet_ids", broken)
    headers = {"origin": APP, "x-request-id": "mine"}
    response = shared.client.get("/health/ready", headers=headers)
    assert (response.status_code, refusal(response.json())) == (500, "INTERNAL_ERROR")
    assert response.headers["access-control-allow-origin"] == APP
    assert response.headers["x-request-id"] == "mine"
    assert "secret" not in response.text
    assert [each.levelno for each in caplog.records if each.exc_info] == [logging.ERROR]

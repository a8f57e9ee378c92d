"""With a list of documents a server executes these and no others, however they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.rules.errors import ConfigurationError
from retrograph.schema.persisted import PersistedDocuments, hash_of, load_documents
from retrograph.schema.protection import Protection
from retrograph.storage.store import Store
from tests.schema.serving import Answer, Listening, Served, listening, serving

VIEWER = "query Viewer($x: Boolean! = true) { viewer { tenantId @include(if: $x) } }"
PUT = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"
EVENTS = 'subscription { events(fleetId: 1, after: "0-0") { cursor } }'
LISTED = Protection(documents=PersistedDocuments([VIEWER, PUT, EVENTS]))
OTHER = "{ viewer { tenantId } }"
FOUND = {"viewer": {"tenantId": "1"}}


def named(text: str, **more: Any) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": hash_of(text), **more}}


@pytest.fixture
def closed(store: Store) -> Iterator[Served]:
    """Serves the listed documents alone."""
    with serving(create_app(store, protection=LISTED)) as running:
        yield running


@pytest.fixture
def closed_server(store: Store) -> Iterator[Listening]:
    """The same, for sockets too."""
    with listening(create_app(store, protection=LISTED)) as running:
        yield running


def post(served: Served, **body: Any) -> Answer:
    response = served.client.post("/graphql", json=body)
    return Answer(response.status_code, response.json())


def get(served: Served, **fields: Any) -> Answer:
    params = {key: v if isinstance(v, str) else json.dumps(v) for key, v in fields.items()}
    response = served.client.get("/graphql", params=params)
    return Answer(response.status_code, response.json())


@pytest.mark.parametrize("ask", [post, get])
def test_a_listed_document_is_executed_by_its_hash_or_its_text(closed: Served, ask: Any) -> None:
    assert ask(closed, extensions=named(VIEWER)).data == FOUND
    assert ask(closed, query=VIEWER).data == FOUND
    assert ask(closed, query=VIEWER, extensions=named(VIEWER)).data == FOUND
    some = ask(closed, extensions=named(VIEWER), variables={"x": False}, operationName="Viewer")
    assert some.data == {"viewer": {}}


@pytest.mark.parametrize("ask", [post, get])
@pytest.mark.parametrize(
    "fields",
    [
        {"query": OTHER},
        {"query": VIEWER + " "},
        {"query": "{ __schema { description } }"},
        {"query": "{", "extensions": named("{")},
        {"extensions": named(OTHER)},
        {"extensions": named("")},
        {"query": OTHER, "extensions": named(VIEWER)},
        {"query": VIEWER, "extensions": named(PUT)},
    ],
)
def test_anything_else_is_refused(closed: Served, ask: Any, fields: dict[str, Any]) -> None:
    answer = ask(closed, **fields)
    assert answer.code == "PERSISTED_QUERY_NOT_FOUND"
    assert "data" not in answer.body


def test_a_listed_mutation_takes_a_post(closed: Served) -> None:
    assert get(closed, extensions=named(PUT)).status == 405
    assert post(closed, extensions=named(PUT)).data == {"putNodes": {"__typename": "NodesPut"}}


@pytest.mark.parametrize("text", [OTHER, VIEWER])
def test_without_a_list_no_document_is_known_by_its_hash(served: Served, text: str) -> None:
    answer = post(served, extensions=named(text))
    assert answer.code == "PERSISTED_QUERY_NOT_SUPPORTED"
    assert post(served, query=text, extensions=named(text)).data == FOUND


@pytest.mark.parametrize(
    "extension",
    [5, "x", [], {}, {"sha256Hash": hash_of(VIEWER)}, named(VIEWER, version=2)["persistedQuery"],
     {"version": 1}, {"version": 1, "sha256Hash": 5}, {"version": "1", "sha256Hash": "x"}],
)  # fmt: skip
def test_a_malformed_hash_is_refused(closed: Served, served: Served, extension: Any) -> None:
    for server in (closed, served):
        answer = post(server, extensions={"persistedQuery": extension})
        assert answer.code == "PERSISTED_QUERY_NOT_SUPPORTED"


def test_the_status_says_that_the_request_was_refused(closed: Served) -> None:
    accept = {"accept": "application/graphql-response+json"}
    response = closed.client.post("/graphql", json={"extensions": named(OTHER)}, headers=accept)
    assert response.status_code == 400
    response = closed.client.post("/graphql", json={"extensions": {}}, headers=accept)
    assert response.json()["errors"][0]["extensions"]["code"] == "BAD_REQUEST"


def test_sockets_keep_the_list(closed_server: Listening) -> None:
    with closed_server.socket() as socket:
        for id, payload in (
            ("a", {"query": OTHER}),
            ("b", {"extensions": named(OTHER)}),
            ("c", {"query": EVENTS, "extensions": named(VIEWER)}),
        ):
            socket.say({"type": "subscribe", "id": id, "payload": payload})
            message = socket.hear()
            assert (message["type"], message["id"]) == ("error", id)
            assert message["payload"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
        socket.say({"type": "subscribe", "id": "v", "payload": {"extensions": named(VIEWER)}})
        assert socket.next("v")["data"] == FOUND
        assert socket.hear() == {"type": "complete", "id": "v"}
        socket.say({"type": "subscribe", "id": "s", "payload": {"extensions": named(EVENTS)}})
        socket.sync()


def test_a_folder_holds_one_document_a_file(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "viewer.graphql").write_text(VIEWER + "\n")
    (tmp_path / "more" / "put.graphql").write_text(PUT)
    (tmp_path / "notes.txt").write_text(OTHER)
    found = load_documents(tmp_path)
    assert found.find(VIEWER, None) == VIEWER
    assert found.find(None, hash_of(VIEWER + "\n")) == VIEWER + "\n"
    assert found.find(None, hash_of(PUT)) == PUT
    assert len(found) == 3


@pytest.mark.parametrize(
    "manifest",
    [
        {hash_of(VIEWER): VIEWER},
        {f"sha256:{hash_of(VIEWER)}": VIEWER},
        {"format": "apollo-persisted-query-manifest", "version": 1,
         "operations": [{"id": hash_of(VIEWER), "name": "Viewer", "body": VIEWER}]},
    ],
)  # fmt: skip
def test_a_manifest_names_documents_by_their_hash(tmp_path: Path, manifest: Any) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    assert load_documents(file).find(None, hash_of(VIEWER)) == VIEWER


@pytest.mark.parametrize(
    "text",
    ["", "{", "5", "[]", '["x"]', '"operations"', '{"a": 5}', '{"a": "b"}', '{"operations": 5}',
     '{"operations": [5]}', '{"operations": [{"id": 5, "body": "x"}]}', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="manifest"):
        load_documents(file)


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere.*Name a folder"):
        load_documents(tmp_path / "nowhere")
    (tmp_path / "bytes.graphql").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_documents(tmp_path)

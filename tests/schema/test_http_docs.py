"""docs/http.md names every status with its code, and each is what such a request gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.rules.errors import DatabaseUnavailable, Unauthenticated
from retrograph.schema.identity import Identity
from retrograph.schema.limits import MAX_BODY_BYTES
from retrograph.schema.middleware import HttpOptions
from retrograph.storage.store import Store
from tests.schema.serving import Listening, Served, listening, serving, sqlite_store
from tests.schema.test_http_wire import GET, POST, SOON, refusal, say
from tests.shared import ROOT

TABLE = re.findall(r"^\| (\d{3}) \| `(\w+)`", (ROOT / "docs" / "http.md").read_text(), re.MULTILINE)
CODES = [(int(status), code) for status, code in TABLE]
PREFLIGHT = {"origin": "https://b.example", "access-control-request-method": "POST"}
PLAIN: dict[tuple[int, str], tuple[str, str, dict[str, Any]]] = {
    (400, "BAD_REQUEST"): ("POST", "/graphql", {"json": []}),
    (400, "CROSS_ORIGIN"): ("OPTIONS", "/graphql", {"headers": PREFLIGHT}),
    (404, "NOT_FOUND"): ("GET", "/nope", {}),
    (405, "METHOD_NOT_ALLOWED"): ("PUT", "/graphql", {}),
    (406, "NOT_ACCEPTABLE"): ("GET", "/graphql", {"headers": {"accept": "image/png"}}),
    (413, "PAYLOAD_TOO_LARGE"): ("POST", "/graphql", {"json": "x" * MAX_BODY_BYTES}),
    (415, "UNSUPPORTED_MEDIA_TYPE"): ("POST", "/graphql", {"content": b"{}"}),
    (421, "MISDIRECTED_REQUEST"): ("GET", "/graphql", {"headers": {"host": "elsewhere.example"}}),
}
ON_THE_WIRE = {
    (408, "REQUEST_TIMEOUT"): POST,
    (431, "PAYLOAD_TOO_LARGE"): GET + b"x" * 99_999,
    (501, "BAD_REQUEST"): POST + b"transfer-encoding: gzip\r\n\r\n",
}
FAULTS = {
    (500, "INTERNAL_ERROR"): KeyError("ours"),
    (503, "DATABASE_UNAVAILABLE"): DatabaseUnavailable("Start the database."),
}
STRANGER = (401, "UNAUTHENTICATED")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with sqlite_store(tmp_path_factory.mktemp("docs")) as opened:
        yield opened


@pytest.fixture
def named(store: Store) -> Iterator[Served]:
    with serving(create_app(store, http=HttpOptions(cors_origins=["https://a.example"]))) as served:
        yield served


@pytest.fixture(scope="module")
def hasty(store: Store) -> Iterator[Listening]:
    with listening(create_app(store), patience=SOON) as served:
        yield served


def test_every_row_has_an_example() -> None:
    assert sorted(CODES) == sorted([*PLAIN, *ON_THE_WIRE, *FAULTS, STRANGER])


@pytest.mark.parametrize("row", PLAIN)
def test_a_request_gets_the_status_and_code(named: Served, row: tuple[int, str]) -> None:
    method, path, more = PLAIN[row]
    response = named.client.request(method, path, **more)
    assert (response.status_code, code(response.json())) == row


@pytest.mark.parametrize("row", ON_THE_WIRE)
def test_what_never_becomes_a_request_gets_the_status_and_code(
    hasty: Listening, row: tuple[int, str]
) -> None:
    assert refusal(say(hasty, ON_THE_WIRE[row])) == row


@pytest.mark.parametrize("row", FAULTS)
def test_a_fault_has_the_status_and_code(
    named: Served, row: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Store, tenant_id: int) -> list[int]:
        raise FAULTS[row]

    monkeypatch.setattr(Store, "fleet_ids", broken)
    response = named.client.get("/health/ready")
    assert (response.status_code, code(response.json())) == row


def test_a_stranger_gets_the_status_and_code(store: Store) -> None:
    async def nobody(token: str | None) -> Identity:
        raise Unauthenticated("Show a token.")

    with serving(create_app(store, identify=nobody)) as guarded:
        response = guarded.client.get("/graphql")
    assert (response.status_code, code(response.json())) == STRANGER


def code(answer: Any) -> str:
    (error,) = answer["errors"]
    return str(error["extensions"]["code"])

"""Who names this machine by another name is refused: pages that make theirs lead here."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence

import pytest

from retrograph.app import create_app
from retrograph.schema.middleware import HttpOptions
from retrograph.storage.store import Store
from tests.schema.serving import PATIENCE, Listening, Served, listening, serving, sqlite_store

QUERY = {"query": "{ viewer { tenantId } }"}
OURS = [
    "localhost",
    "LocalHost:8000",
    "localhost:",
    "127.0.0.1",
    "127.0.0.1:8000",
    "127.8.9.1:80",
    "[::1]",
    "[::1]:8000",
    "[0:0:0:0:0:0:0:1]:8000",
]
FOREIGN = [
    "",
    "elsewhere.example",
    "elsewhere.example:8000",
    "localhost.elsewhere.example",
    "127.0.0.1.elsewhere.example",
    "elsewhere.example:127.0.0.1",
    "localhost:8000:8000",
    "localhost@elsewhere.example",
    "localhost/elsewhere.example",
    "192.168.0.1",
    "0.0.0.0:8000",
    "127.1",
    "2130706433",
    "[::]:8000",
    "[localhost]",
    "::1",
]
UPGRADE = [
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol: graphql-transport-ws",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all: none of it depends on the engine, and nothing is written."""
    with sqlite_store(tmp_path_factory.mktemp("hosts")) as opened:
        yield opened


@pytest.mark.parametrize("host", OURS)
@pytest.mark.parametrize("path", ["/graphql", "/health/live"])
def test_by_its_own_names_the_server_answers(served: Served, host: str, path: str) -> None:
    response = served.client.get(path, params=QUERY, headers={"host": host})
    assert response.status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", ["/graphql", "/health/live", "/nope"])
def test_another_name_is_misdirected(served: Served, host: str, path: str) -> None:
    for response in (
        served.client.get(path, params=QUERY, headers={"host": host}),
        served.client.post(path, json=QUERY, headers={"host": host}),
    ):
        assert response.status_code == 421
        (error,) = response.json()["errors"]
        assert error["extensions"]["code"] == "MISDIRECTED_REQUEST"
        assert "localhost" in error["message"]


def status(server: Listening, *headers: str) -> int:
    """What the server says to a GET with exactly these headers."""
    lines = "\r\n".join(["GET /graphql?query={viewer{tenantId}} HTTP/1.1", *headers, "", ""])
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        connection.sendall(lines.encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    ("hosts", "upgrade", "expected"),
    [
        ([], [], 421),
        (["host: localhost", "host: elsewhere.example"], [], 421),
        (["host: elsewhere.example"], [], 421),
        (["host: localhost"], [], 200),
        ([], UPGRADE, 403),
        (["host: elsewhere.example"], UPGRADE, 403),
        (["host: elsewhere.example", "origin: http://elsewhere.example"], UPGRADE, 403),
        (["host: localhost"], UPGRADE, 101),
    ],
)
def test_a_request_names_one_host(
    server: Listening, hosts: Sequence[str], upgrade: Sequence[str], expected: int
) -> None:
    answer = status(server, *hosts, *upgrade)
    assert answer == expected or (answer == 400 and len(hosts) != 1)  # the server's own refusal


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:8000", 101),
        ("http://localhost:3000", 101),
        ("https://127.0.0.1", 101),
        ("http://[::1]:3000", 101),
        ("http://elsewhere.example", 403),
        ("http://elsewhere.example:8000", 403),
        ("http://localhost.elsewhere.example", 403),
        ("http://localhost@elsewhere.example", 403),
        ("http://localhost:80/path", 403),
        ("file://localhost", 403),
        ("http://[", 403),
        ("localhost", 403),
        ("null", 403),
    ],
)
def test_only_pages_of_this_machine_open_sockets(
    server: Listening, origin: str, expected: int
) -> None:
    assert status(server, "host: localhost:8000", f"origin: {origin}", *UPGRADE) == expected


def test_who_serves_others_too_is_named_as_they_like(store: Store) -> None:
    app = create_app(store, loopback_only=False)
    with serving(app) as served:
        headers = {"host": "elsewhere.example"}
        assert served.client.get("/graphql", params=QUERY, headers=headers).status_code == 200
    with listening(app) as server:
        host = "host: elsewhere.example"
        for origin, expected in (
            ("http://elsewhere.example", 101),
            ("http://localhost", 403),
            ("http://other.example", 403),
        ):
            assert status(server, host, f"origin: {origin}", *UPGRADE) == expected


def test_pages_of_origins_that_are_named_open_sockets_too(store: Store) -> None:
    app = create_app(store, http=HttpOptions(cors_origins=["https://app.example"]))
    with listening(app) as server:
        for origin, expected in (
            ("https://app.example", 101),
            ("http://app.example", 403),
            ("https://other.example", 403),
        ):
            assert status(server, "host: localhost", f"origin: {origin}", *UPGRADE) == expected

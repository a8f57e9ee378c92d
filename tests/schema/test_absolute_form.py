"""A request that names the server in its first line is the same as one that doesn't."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from retrograph.app import create_app
from tests.schema.serving import PATIENCE, Listening, listening, sqlite_store
from tests.schema.test_hosts import UPGRADE
from tests.schema.test_http_wire import BODY, LENGTH, say

QUERY = b"/graphql?query={viewer{tenantId}}"
ANSWER = {"viewer": {"tenantId": "1"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    with (
        sqlite_store(tmp_path_factory.mktemp("absolute")) as store,
        listening(create_app(store)) as running,
    ):
        yield running


def answer(said: bytes) -> tuple[int, object]:
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body).get("data")


def ask(server: Listening, target: bytes, *lines: bytes) -> tuple[int, object]:
    head = b"\r\n".join((b"GET %b HTTP/1.1" % target, *lines, b"connection: close"))
    return answer(say(server, head + b"\r\n\r\n"))


@pytest.mark.parametrize(
    "target",
    [b"http://localhost", b"HTTP://127.0.0.1:8000", b"https://[::1]", b"http://localhost:"],
)
def test_a_query_is_answered(server: Listening, target: bytes) -> None:
    assert ask(server, target + QUERY, b"host: localhost") == (200, ANSWER)


def test_so_is_what_is_posted(server: Listening) -> None:
    head = b"POST http://localhost/graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    said = say(server, head + b"content-type: application/json\r\n" + LENGTH + b"\r\n" + BODY)
    assert answer(said) == (200, ANSWER)


def test_the_host_of_the_first_line_goes_before_the_header(server: Listening) -> None:
    assert ask(server, b"http://localhost" + QUERY, b"host: else.example") == (200, ANSWER)
    assert ask(server, b"http://else.example" + QUERY, b"host: localhost") == (421, None)


@pytest.mark.parametrize(
    "target",
    [
        *(b"http://localhost/nope", b"ftp://localhost/graphql", b"http:/graphql"),
        *(b"http:///graphql", b"http://a@localhost/graphql"),
        b"http://localhost/graphql/",
    ],
)
def test_what_names_nothing_here_is_not_found(server: Listening, target: bytes) -> None:
    assert ask(server, target, b"host: localhost") == (404, None)


def test_a_socket_opens(server: Listening) -> None:
    lines = [b"host: localhost", *(each.encode() for each in UPGRADE)]
    head = b"\r\n".join((b"GET http://localhost/graphql HTTP/1.1", *lines))
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 101 ")

"""HTTP on the wire: broken, slow and huge requests are refused in JSON, and nobody else suffers."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator

import pytest

from retrograph.app import create_app
from retrograph.schema.http_protocol import MAX_HEAD_BYTES
from retrograph.schema.limits import MAX_BODY_BYTES
from retrograph.schema.middleware import HttpOptions
from tests.schema.serving import PATIENCE, Listening, listening, sqlite_store

SOON = 0.4
"""Seconds that a client which isn't slow never needs, however busy the machine."""
BODY = b'{"query": "{ viewer { tenantId } }"}'
POST = b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
GET = b"GET /graphql?query={viewer{tenantId}} HTTP/1.1\r\nhost: localhost\r\n"
LENGTH = b"content-length: %d\r\n" % len(BODY)
CHUNKED = b"transfer-encoding: chunked\r\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A server that waits for nobody longer than a moment."""
    with sqlite_store(tmp_path_factory.mktemp("wire")) as store:
        app = create_app(store, http=HttpOptions(receive_seconds=SOON))
        with listening(app, patience=SOON) as running:
            yield running


def head_of(size: int) -> bytes:
    """A whole request of so many bytes."""
    return GET + b"connection: close\r\nx: ".ljust(size - len(GET) - 4, b"y") + b"\r\n\r\n"


def say(server: Listening, *parts: bytes) -> bytes:
    """All that the server says to these bytes, until it closes the connection."""
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            pass  # it closed already; what it said is there to be read
        said = b""
        try:
            while more := connection.recv(65_536):
                said += more
        except ConnectionResetError:
            pass
        return said


def refusal(said: bytes) -> tuple[int, str]:
    """The status and code of the only answer, which must be whole and close the connection."""
    head, _, body = said.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["content-length"] == str(len(body))
    assert headers["connection"] == "close"
    assert headers["x-request-id"]
    assert "server" not in headers
    (error,) = json.loads(body)["errors"]
    assert error["message"]
    return int(first.split()[1]), error["extensions"]["code"]


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "BAD_REQUEST"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "BAD_REQUEST"),
        (b"GET /graphql?query={\xff} HTTP/1.1\r\nhost: localhost\r\n\r\n", 400, "BAD_REQUEST"),
        (b"GET /graphql HTTP/1.1\r\n\r\n", 400, "BAD_REQUEST"),
        (GET + b"host: localhost\r\n\r\n", 400, "BAD_REQUEST"),
        (GET + b"no colon\r\n\r\n", 400, "BAD_REQUEST"),
        (GET + b"x: a\0b\r\n\r\n", 400, "BAD_REQUEST"),
        (GET + b"x: " + b"y" * MAX_HEAD_BYTES * 2, 431, "PAYLOAD_TOO_LARGE"),
        (GET + b"x: " + b"y" * MAX_HEAD_BYTES * 2 + b"\r\n\r\n", 431, "PAYLOAD_TOO_LARGE"),
        (head_of(MAX_HEAD_BYTES + 2), 431, "PAYLOAD_TOO_LARGE"),
        (POST + LENGTH + CHUNKED + b"\r\n0\r\n\r\n" + GET + b"\r\n", 400, "BAD_REQUEST"),
        (GET + b"x: y\r\n" * MAX_HEAD_BYTES, 431, "PAYLOAD_TOO_LARGE"),
        (b"GET /graphql?query=" + b"x" * 2_000_000, 431, "PAYLOAD_TOO_LARGE"),
        (POST + b"content-length: -1\r\n\r\n", 400, "BAD_REQUEST"),
        (POST + b"content-length: 1e3\r\n\r\n", 400, "BAD_REQUEST"),
        (POST + LENGTH + b"content-length: 7\r\n\r\n" + BODY, 400, "BAD_REQUEST"),
        (POST + b"transfer-encoding: gzip\r\n\r\n", 501, "BAD_REQUEST"),
        (POST + CHUNKED + b"\r\nnonsense\r\n", 400, "BAD_REQUEST"),
        (POST + CHUNKED + b"\r\n5\r\n{\r\n", 408, "REQUEST_TIMEOUT"),
        (POST + CHUNKED + b"\r\n" + b"f" * 100_000, 400, "BAD_REQUEST"),
        (POST + CHUNKED + b"\r\n1\r\n{\r\n", 408, "REQUEST_TIMEOUT"),
        (POST + LENGTH + b"\r\n" + BODY[:-1], 408, "REQUEST_TIMEOUT"),
        (POST + b"content-length: 99999999999\r\n\r\n{", 413, "PAYLOAD_TOO_LARGE"),
        (POST + b"content-length: 99999999999999999999999\r\n\r\n{", 400, "BAD_REQUEST"),
        (POST + b"expect: 100-continue\r\ncontent-length: 3000000\r\n\r\n", 413,
         "PAYLOAD_TOO_LARGE"),
        (POST + CHUNKED + b"\r\n1e8480\r\n" + b" " * MAX_BODY_BYTES + b"\r\n1\r\n ", 413,
         "PAYLOAD_TOO_LARGE"),
        (GET[:-3], 408, "REQUEST_TIMEOUT"),
        (b"P", 408, "REQUEST_TIMEOUT"),
    ],
    ids=range(28),
)  # fmt: skip
def test_what_is_broken_slow_or_huge_is_refused_in_json(
    hasty: Listening, sent: bytes, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "retrograph")
    assert refusal(say(hasty, sent)) == (status, code)
    assert hasty.ask("{ viewer { tenantId } }").data == {"viewer": {"tenantId": "1"}}
    assert [each for each in caplog.records if each.levelname == "ERROR" or each.exc_info] == []
    assert any(f"status={status} " in line for line in caplog.messages)


def test_a_connection_that_says_nothing_is_closed(hasty: Listening) -> None:
    assert say(hasty) == b""


@pytest.fixture
def no_faults(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sees to it that nobody, the server's libraries neither, logs a fault in the test."""
    caplog.set_level(logging.ERROR, "uvicorn.error")
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
    yield
    assert [each for each in caplog.get_records("call") if each.levelno >= logging.ERROR] == []


@pytest.mark.usefixtures("no_faults")
def test_a_body_that_goes_bad_after_it_was_refused_is_told_nothing_more(hasty: Listening) -> None:
    head = POST.replace(b"application/json", b"text/plain")
    with socket.create_connection(hasty.address, timeout=PATIENCE) as connection:
        connection.sendall(head + CHUNKED + b"\r\n")
        answer = connection.makefile("rb")
        assert answer.readline().startswith(b"HTTP/1.1 415 ")
        connection.sendall(b"nonsense\r\n")
        assert b"HTTP/1.1" not in answer.read()


@pytest.mark.usefixtures("no_faults")
def test_a_body_that_is_bad_from_the_start_is_answered_once(hasty: Listening) -> None:
    head = POST.replace(b"application/json", b"text/plain")
    said = say(hasty, head + CHUNKED + b"\r\nnonsense\r\n")
    assert said.count(b"HTTP/1.1 ") == 1
    assert refusal(said) == (400, "BAD_REQUEST")
    assert hasty.ask("{ viewer { tenantId } }").data


def test_several_requests_on_one_connection_are_answered_in_turn(hasty: Listening) -> None:
    one = POST + LENGTH + b"\r\n" + BODY
    last = POST + LENGTH + b"connection: close\r\n\r\n" + BODY
    said = say(hasty, one + GET + b"\r\n" + last)
    assert said.count(b"HTTP/1.1 200") == 3
    assert said.count(b'{"data":{"viewer":{"tenantId":"1"}}') == 3


def test_a_client_that_waits_to_be_told_to_go_on_is_told(hasty: Listening) -> None:
    waits = POST + LENGTH + b"expect: 100-continue\r\nconnection: close\r\n\r\n"
    said = say(hasty, waits, BODY)
    assert said.startswith(b"HTTP/1.1 100 ")
    assert b"HTTP/1.1 200 " in said


def test_a_head_of_the_greatest_size_is_taken(hasty: Listening) -> None:
    assert say(hasty, head_of(MAX_HEAD_BYTES)).startswith(b"HTTP/1.1 200 ")


def test_an_answer_to_head_has_no_body(hasty: Listening) -> None:
    said = say(hasty, GET.replace(b"GET", b"HEAD") + b"connection: close\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200 ")
    got = say(hasty, GET + b"connection: close\r\n\r\n")
    length = len(got.partition(b"\r\n\r\n")[2])
    assert b"content-length: %d\r\n" % length in said
    assert said.endswith(b"\r\n\r\n")

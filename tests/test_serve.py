"""What `serve` makes of its process, and whom it answers."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from retrograph.app import create_app
from retrograph.cli_options import open_scope
from retrograph.cli_serve import GC_THRESHOLDS
from retrograph.schema.http_protocol import HttpProtocol
from retrograph.schema.limits import MAX_MESSAGE_BYTES
from retrograph.schema.stream_limits import StreamLimits
from retrograph.server import Server
from retrograph.settings import Settings
from retrograph.sql.loader import migrations
from tests.command import PATIENCE, next_line, process, refused, retrograph
from tests.schema.serving import sqlite_store

SOCKET = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "x-request-id": "page",
}
"""The headers of a handshake."""


@pytest.fixture
def restored() -> Iterator[None]:
    """Takes back what serving changes in the process of the tests."""
    thresholds, handler = gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("restored")
def test_the_collector_is_spared_while_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[tuple[int, int, int], int]] = []

    def run(self: uvicorn.Server, sockets: object) -> None:
        seen.append((gc.get_threshold(), gc.get_freeze_count()))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    result = retrograph("serve", "--port", "0", "--database", tmp_path / "memory.db")
    assert result.exit_code == 0
    ((thresholds, frozen),) = seen
    assert thresholds == GC_THRESHOLDS
    assert frozen > 0


@pytest.mark.usefixtures("restored")
def test_streams_are_kept_alive_and_limited_as_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, ...]] = []

    def run(self: uvicorn.Server, sockets: object) -> None:
        limits = cast("Starlette", self.config.app).state.sockets.limits
        pings = self.config.ws_ping_interval, self.config.ws_ping_timeout
        seen.append((*pings, limits.keep_alive, limits.operations))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    limits = ("--keep-alive", "7", "--socket-operations", "8")
    database = tmp_path / "memory.db"
    assert retrograph("serve", "--port", "0", "--database", database, *limits).exit_code == 0
    assert seen == [(7, 7, 7, 8)]


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("switch", ["on", "off"])
def test_the_page_for_browsers_can_be_switched_off(
    switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[str] = []

    def run(self: uvicorn.Server, sockets: object) -> None:
        app = cast("Starlette", self.config.app)
        paths.extend(route.path for route in app.routes if isinstance(route, Route))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    words = ("--port", "0", "--database", tmp_path / "memory.db", "--graphiql", switch)
    assert retrograph("serve", *words).exit_code == 0
    assert "/graphql" in paths
    assert ("/" in paths) == (switch == "on")


def test_without_proof_it_answers_to_the_names_of_this_machine_alone(tmp_path: Path) -> None:
    with process("serve", "--port", "0", "--database", tmp_path / "memory.db") as server:
        found = re.search(r" at (http://127\.0\.0\.1:(\d+)/graphql)$", next_line(server).rstrip())
        assert found is not None
        query = {"query": "{ viewer { tenantId } }"}
        for host, status in (("localhost", 200), ("elsewhere.example", 421)):
            headers = {"host": f"{host}:{found[2]}"}
            answer = httpx.post(found[1], json=query, headers=headers, timeout=PATIENCE)
            assert answer.status_code == status


@pytest.mark.parametrize(("level", "shown"), [("info", True), ("warning", False)])
def test_each_request_is_logged_on_a_line_with_its_id(
    tmp_path: Path, level: str, shown: bool
) -> None:
    words = ("--port", "0", "--database", tmp_path / "memory.db", "--log-level", level)
    with process("serve", *words) as server:
        url = next_line(server).split()[-1]
        query = {"query": "query Who { viewer { tenantId } }"}
        httpx.post(url, json=query, headers={"x-request-id": "mine"}, timeout=PATIENCE)
        page = httpx.get(url, headers=SOCKET | {"origin": "http://elsewhere.example"})
        assert page.status_code == 403
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=PATIENCE)
    line = (
        r"\S+ level=INFO request_id=- \S+ is brought up to date: Applied migration 001 .+\n"
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=INFO request_id=mine method=POST "
        r"path=/graphql status=200 ms=\d+\.\d bytes=\d+ operation=Who\n"
        r"\S+ level=INFO request_id=page method=WEBSOCKET path=/graphql status=403 ms=\d+\.\d\n"
    )
    assert re.fullmatch(line if shown else "", said)


def test_what_a_client_may_take_and_which_pages_may_ask_are_settings(tmp_path: Path) -> None:
    words = ("--receive-timeout", "1", "--cors-origins", "http://localhost:3000")
    with process("serve", "--port", "0", "--database", tmp_path / "memory.db", *words) as server:
        url = httpx.URL(next_line(server).split()[-1])
        page = {"origin": "http://localhost:3000"}
        answer = httpx.get(url, headers=page, timeout=PATIENCE)
        assert answer.headers["access-control-allow-origin"] == page["origin"]
        with socket.create_connection((url.host, url.port or 0), timeout=PATIENCE) as slow:
            slow.sendall(b"GET /graphql HTTP/1.1\r\n")
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        head = b"POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        with socket.create_connection((url.host, url.port or 0), timeout=PATIENCE) as slow:
            slow.sendall(head + b"content-length: 9\r\n\r\n")
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")


def test_what_clients_do_wrong_on_sockets_is_no_error_of_ours(tmp_path: Path) -> None:
    """It leaves lines of the log's usual kind and no traceback, and the server goes on."""
    large = json.dumps({"type": "ping", "payload": {"x": "x" * MAX_MESSAGE_BYTES}})
    frames = (b"\xff", b"[", large.encode(), b'{"type": "connection_init", "payload": 5}')
    forever = {"query": "subscription { events(fleetId: 1) { cursor } }"}
    begin = '{"type": "connection_init"}'
    subscribe = json.dumps({"type": "subscribe", "id": "1", "payload": forever})
    with process("serve", "--port", "0", "--database", tmp_path / "memory.db") as server:
        found = re.search(r" at http(://127\.0\.0\.1:\d+/graphql)$", next_line(server).rstrip())
        assert found is not None
        for frame in frames:
            with socket_to("ws" + found[1]) as client:
                client.send(frame, text=True)
                with pytest.raises(ConnectionClosed):
                    client.recv(timeout=PATIENCE)
        with socket_to("ws" + found[1]) as client:
            for message in (begin, subscribe, subscribe):
                client.send(message)
            client.socket.close()
        with socket_to("ws" + found[1]) as client:
            client.send(begin)
            assert client.recv(timeout=PATIENCE) == '{"type":"connection_ack"}'
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
        assert server.stderr is not None
        lines = server.stderr.read().splitlines()
    assert len(lines) == len(frames) + 3  # and one that the database was made
    assert [line for line in lines if " level=INFO " not in line] == []


def socket_to(url: str) -> ClientConnection:
    return connect(url, subprotocols=[Subprotocol("graphql-transport-ws")])


def test_nothing_is_begun_where_traces_have_nowhere_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "nowhere")
    for command in ("serve", "demo"):
        database = tmp_path / f"{command}.db"
        said = refused("CONFIGURATION", command, "--port", "0", "--database", database)
        assert "OTEL_TRACES_EXPORTER names 'nowhere'" in said
        assert not database.exists()


def test_what_serving_does_to_a_database_is_logged_once(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with caplog.at_level(logging.INFO), open_scope(Settings(database=database), make=True):
            pass
    (line,) = caplog.messages
    last = migrations("sqlite")[-1]  # numbers mean the same on every engine
    assert line.endswith(f" … Applied migration {last.number:03} ({last.name}).")


def test_nothing_is_begun_without_the_documents_that_it_executes(tmp_path: Path) -> None:
    words = ("--port", "0", "--persisted-documents", tmp_path / "missing", "--database")
    for command in ("serve", "demo"):
        database = tmp_path / f"{command}.db"
        assert "missing" in refused("CONFIGURATION", command, *words, database)
        assert not database.exists()


def test_a_connection_that_came_before_the_server_is_prepared_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the body of an answer would come 40 ms after its head, and be kept for ever."""
    made, options = HttpProtocol.connection_made, list[int]()

    def spied(self: HttpProtocol, transport: asyncio.Transport) -> None:
        made(self, transport)
        connection = transport.get_extra_info("socket")
        names = (socket.TCP_NODELAY, socket.TCP_USER_TIMEOUT)
        options.extend(connection.getsockopt(socket.IPPROTO_TCP, name) for name in names)
        server.should_exit = True

    monkeypatch.setattr(HttpProtocol, "connection_made", spied)
    with sqlite_store(tmp_path) as store, socket.create_server(("127.0.0.1", 0)) as listener:
        limits = StreamLimits(reader=7)
        server = Server(create_app(store), limits, log_level="critical")
        with socket.create_connection(listener.getsockname()):
            server.run([listener])
    assert options == [1, 7_000]

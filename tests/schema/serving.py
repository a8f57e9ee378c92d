"""The application in this process or behind a port, and clients that speak to it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS, StreamLimits
from retrograph.server import Server
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock

PATIENCE = 30
"""Seconds after which a test is taken to hang."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said to one operation."""

    status: int
    body: dict[str, Any]

    @property
    def data(self) -> Any:
        assert "errors" not in self.body, self.body
        return self.body["data"]

    @property
    def error(self) -> dict[str, Any]:
        (error,) = self.body["errors"]
        found: dict[str, Any] = error
        return found

    @property
    def code(self) -> str:
        return str(self.error["extensions"]["code"])

    @property
    def as_of(self) -> dict[str, str]:
        shown: dict[str, str] = self.body.get("extensions", {}).get("asOf", {})
        return shown


class Socket:
    """A client of graphql-transport-ws that says what it is told to say."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def say(self, message: object) -> None:
        self.connection.send(json.dumps(message))

    def hear(self) -> Any:
        frame = self.connection.recv(timeout=PATIENCE)
        assert isinstance(frame, str)
        return json.loads(frame)

    def begin(self) -> None:
        self.say({"type": "connection_init"})
        assert self.hear() == {"type": "connection_ack"}

    def subscribe(self, id: str, query: str, **variables: Any) -> None:
        payload = {"query": query, "variables": variables}
        self.say({"type": "subscribe", "id": id, "payload": payload})

    def next(self, id: str) -> Any:
        message = self.hear()
        assert (message["type"], message["id"]) == ("next", id), message
        return message["payload"]

    def closed(self) -> Close:
        """How the server closes the socket; what it says before is passed over."""
        with pytest.raises(ConnectionClosed) as ended:  # noqa: PT012 (it ends by itself)
            while True:
                self.connection.recv(timeout=PATIENCE)
        assert ended.value.rcvd is not None
        return ended.value.rcvd

    def sync(self) -> None:
        """Returns when the server has taken in all that was said before."""
        self.say({"type": "ping"})
        assert self.hear() == {"type": "pong"}


class Client:
    """Speaks HTTP to an application in this process and thread, one request after another."""

    def __init__(self, app: Starlette, runner: asyncio.Runner) -> None:
        self._runner = runner
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        self.headers = self._client.headers

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)


class Served:
    """An application that answers over HTTP."""

    def __init__(self, client: Client | httpx.Client) -> None:
        self.client = client

    def ask(self, query: str, **variables: Any) -> Answer:
        response = self.client.post("/graphql", json={"query": query, "variables": variables})
        return Answer(response.status_code, response.json())


@contextmanager
def sqlite_store(folder: Path) -> Iterator[Store]:
    """An open store with the empty fleet 1, for what has nothing to do with engines."""
    opened = open_store(str(folder / "memory.db"), clock=ManualClock())
    opened.write_all(1, [1], lambda _: None)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def serving(app: Starlette) -> Iterator[Served]:
    """Runs an application in this process for as long as the context lasts."""
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        try:
            yield Served(Client(app, runner))
        finally:
            runner.run(lifespan.__aexit__(None, None, None))


class Listening(Served):
    """An application that listens on a port, for sockets too."""

    def __init__(self, port: int, app: Starlette) -> None:
        self.app = app
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, verify=False
        )  # certificates of authorities take long to load
        super().__init__(client)
        self.close = client.close
        self.address = ("127.0.0.1", port)
        self.url = f"ws://127.0.0.1:{port}/graphql"

    @contextmanager
    def socket(
        self, protocol: str = "graphql-transport-ws", *, begun: bool = True, **more: Any
    ) -> Iterator[Socket]:
        protocols = [Subprotocol(protocol)]
        # Without a bound a client that says goodbye needn't read first what it was sent.
        with connect(self.url, subprotocols=protocols, max_queue=None, **more) as connection:
            client = Socket(connection)
            if begun:
                client.begin()
            yield client


@contextmanager
def listening(
    app: Starlette,
    limits: StreamLimits = DEFAULT_STREAM_LIMITS,
    *,
    port: int = 0,
    patience: float = PATIENCE,
) -> Iterator[Listening]:
    """Serves an application on a port, a free one if 0, for as long as the context lasts.

    A request's head may take `patience` seconds to arrive.
    """
    listener = socket.create_server(("127.0.0.1", port))
    server = Server(app, limits, patience, log_level="critical", timeout_graceful_shutdown=PATIENCE)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    served = Listening(listener.getsockname()[1], app)
    try:
        yield served
    finally:
        served.close()
        server.should_exit = True
        thread.join()

"""A server on a free port of this machine, and clients that speak to it as clients do."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from retrograph.schema.limits import MAX_MESSAGE_BYTES

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

    def sync(self) -> None:
        """Returns when the server has taken in all that was said before."""
        self.say({"type": "ping"})
        assert self.hear() == {"type": "pong"}


class Served:
    """An application that listens, and a client of it."""

    def __init__(self, port: int) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)
        self._url = f"ws://127.0.0.1:{port}/graphql"

    def ask(self, query: str, **variables: Any) -> Answer:
        response = self.client.post("/graphql", json={"query": query, "variables": variables})
        return Answer(response.status_code, response.json())

    @contextmanager
    def socket(
        self, protocol: str = "graphql-transport-ws", *, begun: bool = True
    ) -> Iterator[Socket]:
        with connect(self._url, subprotocols=[Subprotocol(protocol)]) as connection:
            client = Socket(connection)
            if begun:
                client.begin()
            yield client


@contextmanager
def serving(app: Starlette) -> Iterator[Served]:
    """Serves an application for as long as the context lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        log_level="critical",
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        timeout_graceful_shutdown=PATIENCE,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    served = Served(listener.getsockname()[1])
    try:
        yield served
    finally:
        served.client.close()
        server.should_exit = True
        thread.join()

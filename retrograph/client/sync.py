"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from retrograph.client.address import Address, bearer
from retrograph.client.errors import ClientError
from retrograph.client.exchange import HEADERS, Lost, Post, Reply, Wait, exchange
from retrograph.client.feed import PROTOCOL, Ended, Feed
from retrograph.client.jobs import last_cursor
from retrograph.client.operation import Operation, plain
from retrograph.client.retry import DEFAULT_RETRY, Retry
from retrograph.client.values import Event

T = TypeVar("T")

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Client:
    """Speaks to a server at `url`, such as `https://memory.example/graphql`.

    `token` is a bearer token, or what gives the present one each time it is asked. `timeout` is in
    seconds, for each step of an answer. Its own connections are closed by `close` or at the end of
    `with`; an `http` that you give stays yours.
    """

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str] | None = None,
        *,
        timeout: float = 30.0,
        retry: Retry = DEFAULT_RETRY,
        http: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address = Address.of(url)
        self._token = token
        self._timeout = timeout
        self._retry = retry
        self._given = http is not None
        self._http = http or httpx.Client(timeout=timeout)
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that it has made."""
        if not self._given:
            self._http.close()

    def execute(self, document: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The data that a document gives; raises a `ClientError` for what was refused.

        A query is tried again where that may help, a mutation only where it can't have been done.
        """
        return self.run(plain(document, variables))

    def run(self, operation: Operation[T]) -> T:
        """The value that an operation gives, such as one of `retrograph.client.jobs`."""
        steps, reply = exchange(operation, self._retry), None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            reply = self._post(step) if isinstance(step, Post) else None
            if isinstance(step, Wait):
                self._sleep(step.seconds)

    def events(
        self, fleet: int, *, after: str | None = None, types: Collection[str] | None = None
    ) -> Generator[Event, None, None]:
        """Every event behind the cursor `after`, in commit order, then what comes live.

        Without `after` it is what comes from the first `next` on. A connection that is lost is made
        anew, and goes on behind the last event: none is missing, and none comes twice. It never
        ends by itself; `close` it, or let go of it.
        """
        start = self.run(last_cursor(fleet)) if after is None else after
        feed = Feed(fleet, start, types, self._retry)
        while True:
            try:
                with self._connect() as socket:
                    yield from self._listen(feed, socket)
            except (ClientError, Ended, OSError, WebSocketException) as error:
                self._sleep(feed.pause(error))

    def _listen(self, feed: Feed, socket: ClientConnection) -> Iterator[Event]:
        socket.send(feed.hello(self._present_token()))
        while True:
            heard = feed.hear(socket.recv())
            if isinstance(heard, Event):
                yield heard
            elif heard is not None:
                socket.send(heard)

    def _connect(self) -> ClientConnection:
        return connect(
            self._address.socket,
            subprotocols=[Subprotocol(PROTOCOL)],
            open_timeout=self._timeout,
            close_timeout=1,
        )

    def _post(self, post: Post) -> Reply | Lost:
        headers = HEADERS | bearer(self._present_token())
        try:
            answer = self._http.post(self._address.http, content=post.body, headers=headers)
        except httpx.RequestError as error:
            return Lost(str(error) or type(error).__name__, sent=not isinstance(error, UNSENT))
        return Reply(answer.status_code, answer.headers, answer.content)

    def _present_token(self) -> str | None:
        return self._token() if callable(self._token) else self._token

"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from retrograph.client.address import Address, bearer
from retrograph.client.errors import ClientError
from retrograph.client.exchange import HEADERS, Lost, Post, Reply, Wait, exchange
from retrograph.client.feed import PROTOCOL, Ended, Feed
from retrograph.client.jobs import last_cursor
from retrograph.client.operation import Operation, plain
from retrograph.client.retry import DEFAULT_RETRY, Retry
from retrograph.client.sync import UNSENT
from retrograph.client.values import Event

T = TypeVar("T")


class AsyncClient:
    """`Client` for a running event loop: the same, awaited; `token` may be a coroutine function."""

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        *,
        timeout: float = 30.0,
        retry: Retry = DEFAULT_RETRY,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._address = Address.of(url)
        self._token = token
        self._timeout = timeout
        self._retry = retry
        self._given = http is not None
        self._http = http or httpx.AsyncClient(timeout=timeout)
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections that it has made."""
        if not self._given:
            await self._http.aclose()

    async def execute(
        self, document: str, variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """As `Client.execute`."""
        return await self.run(plain(document, variables))

    async def run(self, operation: Operation[T]) -> T:
        """As `Client.run`."""
        steps, reply = exchange(operation, self._retry), None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            reply = await self._post(step) if isinstance(step, Post) else None
            if isinstance(step, Wait):
                await self._sleep(step.seconds)

    async def events(
        self, fleet: int, *, after: str | None = None, types: Collection[str] | None = None
    ) -> AsyncGenerator[Event, None]:
        """As `Client.events`."""
        start = await self.run(last_cursor(fleet)) if after is None else after
        feed = Feed(fleet, start, types, self._retry)
        while True:
            try:
                async with self._connect() as socket:
                    async for event in self._listen(feed, socket):
                        yield event
            except (ClientError, Ended, OSError, WebSocketException) as error:
                await self._sleep(feed.pause(error))

    async def _listen(self, feed: Feed, socket: ClientConnection) -> AsyncIterator[Event]:
        await socket.send(feed.hello(await self._present_token()))
        while True:
            heard = feed.hear(await socket.recv())
            if isinstance(heard, Event):
                yield heard
            elif heard is not None:
                await socket.send(heard)

    def _connect(self) -> connect:
        return connect(
            self._address.socket,
            subprotocols=[Subprotocol(PROTOCOL)],
            open_timeout=self._timeout,
            close_timeout=1,
        )

    async def _post(self, post: Post) -> Reply | Lost:
        headers = HEADERS | bearer(await self._present_token())
        try:
            answer = await self._http.post(self._address.http, content=post.body, headers=headers)
        except httpx.RequestError as error:
            return Lost(str(error) or type(error).__name__, sent=not isinstance(error, UNSENT))
        return Reply(answer.status_code, answer.headers, answer.content)

    async def _present_token(self) -> str | None:
        token = self._token() if callable(self._token) else self._token
        return await token if isawaitable(token) else token

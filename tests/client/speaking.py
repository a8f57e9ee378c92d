"""The two clients behind one face, so that one test examines both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from itertools import islice
from typing import Any, TypeVar

import httpx

from retrograph.client import AsyncClient, Client, Event, Operation, Retry

T = TypeVar("T")

RETRY = Retry(attempts=4, first=1, most=8, chance=lambda: 1.0)
"""Waits 1, 2, 4 seconds, of a clock that doesn't run."""
Token = str | Callable[[], str] | None
Handler = Callable[[httpx.Request], httpx.Response]


class Speaker:
    """Runs operations and reads events; remembers for how long it would have slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def run(self, operation: Operation[T]) -> T:
        raise NotImplementedError

    def execute(self, document: str, **variables: Any) -> Any:
        raise NotImplementedError

    def events(self, count: int, **arguments: Any) -> list[Event]:
        """So many events of fleet 1, then the subscription is closed."""
        raise NotImplementedError


class Blocking(Speaker):
    def __init__(self, url: str, token: Token, handler: Handler | None) -> None:
        super().__init__()
        http = None if handler is None else httpx.Client(transport=httpx.MockTransport(handler))
        self.client = Client(url, token, retry=RETRY, http=http, sleep=self.slept.append)

    def run(self, operation: Operation[T]) -> T:
        return self.client.run(operation)

    def execute(self, document: str, **variables: Any) -> Any:
        return self.client.execute(document, variables)

    def events(self, count: int, **arguments: Any) -> list[Event]:
        with closing(self.client.events(1, **arguments)) as feed:
            return list(islice(feed, count))


class Awaiting(Speaker):
    def __init__(
        self, url: str, token: Token, handler: Handler | None, runner: asyncio.Runner
    ) -> None:
        super().__init__()
        transport = None if handler is None else httpx.MockTransport(handler)
        http = None if transport is None else httpx.AsyncClient(transport=transport)
        self._runner = runner
        self.client = AsyncClient(url, token, retry=RETRY, http=http, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def run(self, operation: Operation[T]) -> T:
        return self._runner.run(self.client.run(operation))

    def execute(self, document: str, **variables: Any) -> Any:
        return self._runner.run(self.client.execute(document, variables))

    def events(self, count: int, **arguments: Any) -> list[Event]:
        return self._runner.run(self._read(count, arguments))

    async def _read(self, count: int, arguments: dict[str, Any]) -> list[Event]:
        feed = self.client.events(1, **arguments)
        async with aclosing(feed):
            return [await anext(feed) for _ in range(count)]


@contextmanager
def speaking(
    kind: str, url: str, token: Token = None, handler: Handler | None = None
) -> Iterator[Speaker]:
    """A client of a kind, `blocking` or `awaiting`; `handler` answers in the place of a server."""
    if kind == "blocking":
        blocking = Blocking(url, token, handler)
        with blocking.client:
            yield blocking
    else:
        with asyncio.Runner() as runner:
            awaiting = Awaiting(url, token, handler, runner)
            yield awaiting
            runner.run(awaiting.client.close())

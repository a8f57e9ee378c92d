"""Where checkpoints are put and read: our storage, LangGraph's savers on SQLite, and a bare file.

Each keeps its place in a thread of states (an execution), and waits for the disk at every commit.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Protocol, Self

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.graphs import FLEET, TENANT
from retrograph.resolvers.checkpoints import get_checkpoint
from retrograph.resolvers.commit_checkpoint import Commit, commit_checkpoint
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import open_store

NAME = "run"
DURABLE = (2,)
"""`PRAGMA synchronous` = FULL, of all of them: a commit has come to the disk when it returns."""


def state(kilobytes: int) -> dict[str, object]:
    """A state of about so many kilobytes: messages of words, as agents keep them."""
    chance = Random(kilobytes)
    words = [f"word{chance.randrange(2_000)}" for _ in range(kilobytes * 120)]
    messages = [" ".join(words[start : start + 40]) for start in range(0, len(words), 40)]
    return {"step": 7, "messages": messages}


class Store(Protocol):
    """Puts a state as often as is asked, and gets the last one."""

    def put(self, what: dict[str, object], count: int, name: str = NAME) -> None: ...

    def get(self, count: int, name: str = NAME) -> None: ...


class _Closing(ABC):
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Gives back what is open."""


class Ours(_Closing):
    """Storage on SQLite, by the use cases that the API calls."""

    def __init__(self, folder: Path) -> None:
        self._store = open_store(str(folder / "ours.db"))
        self._store.write_all(TENANT, [FLEET], lambda _: None)
        self._scope = Scope(self._store, TENANT, None, frozenset(Role))
        self._heads: Counter[str] = Counter()

    def put(self, what: dict[str, object], count: int, name: str = NAME) -> None:
        for _ in range(count):
            self._put(what, name)

    def put_awaited(self, what: dict[str, object], count: int) -> None:
        """The same from a loop, as a server does it: by a hop to a thread."""

        async def all_of_them() -> None:
            for _ in range(count):
                await asyncio.to_thread(self._put, what, NAME)

        asyncio.run(all_of_them())

    def get(self, count: int, name: str = NAME) -> None:
        for _ in range(count):
            found = get_checkpoint(self._scope, FLEET, name)
            assert found is not None
            orjson.loads(found.payload)

    def close(self) -> None:
        self._store.close()

    def _put(self, what: dict[str, object], name: str) -> None:
        head = self._heads[name]
        token = f"token {head}"
        commit_checkpoint(
            self._scope, FLEET, Commit(name, "session", head, "plan", what, "1", token)
        )
        self._heads[name] += 1


class Saver(_Closing):
    """LangGraph's saver; SQLite's own default is to wait for the disk."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "saver.db", check_same_thread=False)
        self._saver = SqliteSaver(self._connection)
        self._saver.setup()
        assert self._connection.execute("PRAGMA synchronous").fetchone() == DURABLE

    def put(self, what: dict[str, object], count: int, name: str = NAME) -> None:
        for _ in range(count):
            self._saver.put(_config(name), _checkpoint(what), _METADATA, {})

    def get(self, count: int, name: str = NAME) -> None:
        for _ in range(count):
            assert self._saver.get_tuple(_config(name)) is not None

    def close(self) -> None:
        self._connection.close()


class AsyncSaver(_Closing):
    """The same for a loop, with one of its own."""

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._opened = AsyncSqliteSaver.from_conn_string(str(folder / "async.db"))
        self._saver = self._loop.run_until_complete(self._opened.__aenter__())
        self._loop.run_until_complete(self._saver.setup())
        assert self._loop.run_until_complete(self._synchronous()) == DURABLE

    async def _synchronous(self) -> object:
        async with self._saver.conn.execute("PRAGMA synchronous") as cursor:
            return await cursor.fetchone()

    def put(self, what: dict[str, object], count: int, name: str = NAME) -> None:
        async def all_of_them() -> None:
            for _ in range(count):
                await self._saver.aput(_config(name), _checkpoint(what), _METADATA, {})

        self._loop.run_until_complete(all_of_them())

    def get(self, count: int, name: str = NAME) -> None:
        async def all_of_them() -> None:
            for _ in range(count):
                assert await self._saver.aget_tuple(_config(name)) is not None

        self._loop.run_until_complete(all_of_them())

    def close(self) -> None:
        self._loop.run_until_complete(self._opened.__aexit__(None, None, None))
        self._loop.close()


class BareFile(_Closing):
    """Appends the state's JSON to a file, and waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def put(self, what: dict[str, Any], count: int) -> None:
        for _ in range(count):
            os.write(self._file, orjson.dumps(what))
            os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)


_METADATA: CheckpointMetadata = {"source": "loop", "step": 7}


def _config(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name, "checkpoint_ns": ""}}


def _checkpoint(what: dict[str, object]) -> Checkpoint:
    made = empty_checkpoint()
    made["channel_values"] = what
    return made

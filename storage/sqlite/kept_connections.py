"""Connections that stay open, and at hand, between transactions.

To take one from SQLAlchemy's pool and give it back takes longer than a point read of SQLite.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import TimeoutError as PoolTimeout


class KeptConnections:
    """At most `most` connections of an engine; whoever finds all of them taken waits `seconds`.

    The one that was given back last is taken first: its pages are in its cache.
    """

    def __init__(self, engine: Engine, most: int, seconds: float) -> None:
        self._engine = engine
        self._seconds = seconds
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(most):
            self._turns.put(None)
        self._free: list[Connection] = []
        self._closed = False

    def take(self) -> Connection:
        """A connection without a transaction, to be given back.

        Raises SQLAlchemy's `TimeoutError` where all stay taken.
        """
        try:
            self._turns.get(timeout=self._seconds)
        except Empty:
            raise PoolTimeout(f"no connection was given back for {self._seconds} s") from None
        try:
            return self._any()
        except BaseException:
            self._turns.put(None)
            raise

    def give_back(self, connection: Connection) -> None:
        """Ends what the connection is still in the midst of, and keeps it."""
        try:
            driver: Any = connection.connection.dbapi_connection
            driver.rollback()  # does nothing where there is no transaction
            if connection.in_transaction():  # as SQLAlchemy sees it, by any statement of its own
                connection.rollback()
            if self._closed:
                connection.close()
            else:
                self._free.append(connection)
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        finally:
            self._turns.put(None)

    def close(self) -> None:
        """Closes those that are free now, and the others when they are given back."""
        self._closed = True
        while self._free:
            self._any().close()

    def _any(self) -> Connection:
        try:
            return self._free.pop()
        except IndexError:
            return self._engine.connect()


class Reading:
    """A connection and a deferred transaction for as long as a block lasts."""

    __slots__ = ("_connection", "_kept")

    def __init__(self, kept: KeptConnections) -> None:
        self._kept = kept

    def __enter__(self) -> Connection:
        """Begins; what is read first settles what is seen."""
        self._connection = self._kept.take()
        try:
            driver: Any = self._connection.connection.dbapi_connection
            driver.execute("BEGIN")
        except BaseException:
            self._kept.give_back(self._connection)
            raise
        return self._connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it: nothing is there to be committed."""
        self._kept.give_back(self._connection)

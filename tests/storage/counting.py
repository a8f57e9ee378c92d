"""Looks over the shoulder of a snapshot's connection: its statements and their plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from retrograph.storage.snapshot import Snapshot

Statement = tuple[str, Any]


@contextmanager
def statements(s: Snapshot) -> Iterator[list[Statement]]:
    """Collects the statements, with their parameters, that the snapshot's connection executes."""
    seen: list[Statement] = []

    def note(connection: Any, cursor: Any, text: str, parameters: Any, *_: Any) -> None:
        if connection is s.connection:
            seen.append((text, parameters))

    event.listen(s.connection.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(s.connection.engine, "before_cursor_execute", note)


def count(s: Snapshot, read: Callable[[], object]) -> int:
    """How many statements a read executes."""
    with statements(s) as seen:
        read()
    return len(seen)


def plan(s: Snapshot, read: Callable[[], object]) -> list[str]:
    """The steps by which SQLite executes what a read asks for."""
    with statements(s) as seen:
        read()
    return [
        row.detail
        for text, parameters in seen
        for row in s.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", parameters)
    ]

"""Rows as a table holds them, and the statement that inserts one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Rows = Sequence[tuple[Any, ...]]


def insert(table: str, rows: Rows) -> str:
    """The INSERT of one row like `rows`, of which there is one at least."""
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})"

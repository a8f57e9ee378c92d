"""Cuts what was read into pages: one row more than asked for tells that rows follow."""

from __future__ import annotations

from typing import TypeVar

from retrograph.storage.records import Page
from retrograph.storage.snapshot import Snapshot

T = TypeVar("T")


def page_of(s: Snapshot, rows: list[T], first: int, *, truncated: bool = False) -> Page[T]:
    """The first `first` of up to `first + 1` rows."""
    return Page(rows[:first], len(rows) > first, s.instant, truncated)

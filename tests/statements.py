"""Watches the statements that the product sends while tests run: each must name its tenant.

SQL that tests send themselves, to plant what no use case would, is not looked at; nor are
migrations.  The dialect of SQL Server has a gate of its own, `tests/tsql`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from tests.shared import ROOT
from tests.storage.scoping import astray

STORAGE = (ROOT / "storage", ROOT / "retrograph" / "storage")
"""Where the product's statements come from: under which of the names depends on who imports it."""
_ROWS = re.compile(r"(VALUES )(\((?:[^()]|\([^()]*\))*\))(?:, \2)+")
_LIST = re.compile(r"\(\?(?:, \?)+\)")


class Watch:
    """Keeps the statements of some rooms that go astray, and counts those that were judged."""

    def __init__(self, rooms: Sequence[Path] = STORAGE) -> None:
        self._rooms = tuple(f"{room}/" for room in rooms)
        self._judged: set[str] = set()
        self._known: set[int] = set()
        self.wrong: dict[str, list[str]] = {}

    @property
    def judged(self) -> int:
        """How many different statements there were."""
        return len(self._judged)

    def note(self, connection: Connection, cursor: Any, sql: str, *_: Any) -> None:
        """Takes note of a statement, before it is executed."""
        if connection.dialect.name == "mssql" or hash(sql) in self._known:
            return
        text = _plain(sql)
        if text not in self._judged:
            if not self._is_ours():
                return
            self._judged.add(text)
            if names := astray(text):
                self.wrong[text] = names
        self._known.add(hash(sql))  # most are sent again and again

    def complain(self) -> None:
        """Raises AssertionError for what went astray since this was last called."""
        wrong, self.wrong = self.wrong, {}
        if wrong:
            raise AssertionError(f"These tables are bound to no tenant and fleet: {wrong}")

    def _is_ours(self) -> bool:
        """Whether the nearest file of the project on the stack lies in one of the rooms."""
        frame = sys._getframe(2)
        while not (name := frame.f_code.co_filename).startswith((*self._rooms, f"{ROOT}/tests/")):
            if frame.f_back is None:
                return False
            frame = frame.f_back
        return name.startswith(self._rooms) and not name.endswith("/migrations.py")


def _plain(sql: str) -> str:
    """The statement with one row of values and one place in lists, however many there are."""
    return _LIST.sub("(?)", _ROWS.sub(r"\1\2", sql))

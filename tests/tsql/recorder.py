"""Keeps every text that is sent, with its parameters' types, and passes it through the gate."""

from __future__ import annotations

from threading import Lock

from tests.tsql.catalogue import Catalogue
from tests.tsql.gate import check
from tests.tsql.tree import Finding, Statement


class Recorder:
    """What was sent, by text; `schema` is what the gate judges by.

    Without `judging`, texts are let through that nobody looks at, as of code that forgets a tenant.
    """

    def __init__(self, schema: Catalogue) -> None:
        self._schema = schema
        self._lock = Lock()
        self.sent: dict[str, set[tuple[str, ...]]] = {}
        self.findings: list[Finding] = []
        self.called: set[str] = set()
        """The procedures that were called, by name."""
        self.judging = True

    def record(self, text: str, types: tuple[str, ...]) -> list[Finding]:
        """Takes note of a text; returns what the gate finds in one that is new."""
        if not self.judging:
            return []
        with self._lock:
            known = self.sent.get(text)
            if known is not None:
                known.add(types)
                return []
            found = check([Statement("sent", text)], self._schema)
            self.sent[text] = {types}
            self.findings += found
            return found

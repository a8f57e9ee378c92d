"""Reads the SQL text that ships with the package: numbered migrations and named queries."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_MIGRATION = re.compile(r"(\d{3})_(\w+)\.sql")
_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered step of the schema; `checksum` is the hex SHA-256 of its text."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Names exactly this text, whatever the platform's line ends."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations(engine: str) -> tuple[Migration, ...]:
    """The migrations of an engine, in the order of their numbers."""
    found = [(_MIGRATION.fullmatch(entry.name), entry) for entry in _folder(engine).iterdir()]
    steps = [Migration(int(m[1]), m[2], _text(entry)) for m, entry in found if m is not None]
    return tuple(sorted(steps, key=lambda step: step.number))


@cache
def queries(engine: str) -> dict[str, str]:
    """The named queries of an engine: what follows each `-- name: …` head, by name."""
    named: dict[str, str] = {}
    for entry in sorted(_folder(engine).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sql") and _MIGRATION.fullmatch(entry.name) is None:
            _, *parts = _HEAD.split(_text(entry))
            named.update(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    return named


def _folder(engine: str) -> Traversable:
    return files("retrograph.sql") / engine


def _text(entry: Traversable) -> str:
    return entry.read_text(encoding="utf-8").replace("\r\n", "\n")

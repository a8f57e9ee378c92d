"""The fingerprint of a plan: what a cascade would do, in one short text."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol


class Planned(Protocol):
    """Impacts as columns: a node each, and its projected validity before and after."""

    @property
    def nodes(self) -> Sequence[int]:
        """Ids, in any order."""

    @property
    def before(self) -> Sequence[int]:
        """Numbers of validities."""

    @property
    def after(self) -> Sequence[int]:
        """Numbers of validities."""


def plan_hash(cascade: Planned) -> str:
    """Return the hex SHA-256 of all impacts, as 64 lower-case digits.

    The hashed text has one line an impact, ascending by node id as a signed number, in ASCII and
    each ended by a line feed: `<node id> <from> <to>`, three decimal numbers with single spaces,
    where `from` and `to` are the numbers of the projected validities. No impact hashes the empty
    text.
    """
    impacts = sorted(zip(cascade.nodes, cascade.before, cascade.after, strict=True))
    text = "".join([f"{node} {before} {after}\n" for node, before, after in impacts])
    return sha256(text.encode("ascii")).hexdigest()

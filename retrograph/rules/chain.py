"""Walks a chain of checkpoints and names the first link that is broken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from retrograph.rules.anchor import Anchor, anchor_hash
from retrograph.rules.checkpoint import Link, checkpoint_hash, without_payload
from retrograph.rules.erasure import read_erasure


class ChainFaultKind(IntEnum):
    """What is wrong with a link of a chain."""

    ALTERED = 1
    MISSING = 2
    UNLINKED = 3
    ANCHOR_ALTERED = 4
    LOST_TAIL = 5
    OTHER_HEAD = 6
    EXECUTION_ALTERED = 7


@dataclass(frozen=True, slots=True)
class Fault:
    """The first broken link: the sequence at which it shows, 0 for the execution's own row; how."""

    sequence: int
    kind: ChainFaultKind


@dataclass(frozen=True, slots=True)
class Head:
    """A checkpoint that somebody kept: its sequence and its hash."""

    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of a chain as it is stored; `link` None where its bytes are no checkpoint's.

    `erasure` is the text that stands for its payload where that was erased.
    """

    sequence: int
    hash: str
    link: Link | None
    erasure: str | None = None


class ChainCheck:
    """Takes in the rows of a chain in their order, until a fault is found.

    It begins behind the last of the execution's `anchors`, each given with its stored hash, in
    their order. `expected` is a head that was kept; it must not lie before the last anchor.
    `checked` counts the links that hold, and `erased` those among them without their payloads.
    `began` is the instant at which the first of all was committed, if there is one.
    """

    def __init__(self, anchors: Iterable[tuple[Anchor, str]], expected: Head | None = None) -> None:
        self.checked = self.erased = 0
        self.fault: Fault | None = None
        self.began: int | None = None
        self._expected = expected
        self.head = self._begin(anchors)
        self._compare_kept()

    def take(self, rows: Iterable[Stored]) -> None:
        """Goes on over rows, by ascending sequence; what comes behind a fault is passed over."""
        for row in rows:
            if self.fault is not None:
                return
            self._take(row)

    def finish(self) -> Fault | None:
        """The first fault, if there is one, when all rows are taken in."""
        kept = self._expected
        if self.fault is None and kept is not None and kept.sequence > self.head.sequence:
            self.fault = Fault(self.head.sequence + 1, ChainFaultKind.LOST_TAIL)
        return self.fault

    def _begin(self, anchors: Iterable[tuple[Anchor, str]]) -> Head:
        head, before = Head(0, ""), None
        for anchor, stored in anchors:
            if not _is_sound(anchor, stored) or anchor.previous_hash != before:
                self.fault = Fault(anchor.sequence, ChainFaultKind.ANCHOR_ALTERED)
                break
            head, before = Head(anchor.sequence, anchor.checkpoint_hash), stored
            self.began = anchor.began_at
        return head

    def _take(self, row: Stored) -> None:
        wanted = self.head.sequence + 1
        if row.sequence != wanted:
            self.fault = Fault(min(row.sequence, wanted), ChainFaultKind.MISSING)
        elif not is_whole(row):
            self.fault = Fault(wanted, ChainFaultKind.ALTERED)
        elif row.link is not None and row.link.previous_hash != (self.head.hash or None):
            self.fault = Fault(wanted, ChainFaultKind.UNLINKED)
        else:
            self.checked += 1
            self.erased += row.erasure is not None
            self.head = Head(row.sequence, row.hash)
            if self.began is None and row.link is not None:
                self.began = row.link.committed_at
            self._compare_kept()

    def _compare_kept(self) -> None:
        kept, at = self._expected, self.head
        if self.fault is None and kept is not None and kept.sequence == at.sequence:
            same = kept.hash == at.hash or not at.sequence
            self.fault = None if same else Fault(at.sequence, ChainFaultKind.OTHER_HEAD)


def is_whole(row: Stored) -> bool:
    """Whether a row is what its hash says, or its seal where its payload was erased."""
    try:
        if row.link is None or row.erasure is None:
            return row.link is not None and checkpoint_hash(row.link) == row.hash
        return not row.link.payload and bool(read_erasure(row.erasure, left_of(row.link, row.hash)))
    except ValueError:
        return False


def left_of(link: Link, made: str) -> dict[str, object]:
    """What is left of a checkpoint, whose hash was `made`, when its payload is erased."""
    return {**without_payload(link), "hash": made}


def _is_sound(anchor: Anchor, stored: str) -> bool:
    try:
        return anchor_hash(anchor) == stored
    except ValueError:
        return False

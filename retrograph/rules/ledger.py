"""The ledger of an execution's steps: a chain of entries, each bound by its hash to all before it.

A step makes one entry when it is entered, and another one when it is given its outcome later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from retrograph.rules.chain import ChainFaultKind, Fault, Head
from retrograph.rules.checkpoint import sealed
from retrograph.rules.instant import EARLIEST, LATEST, format_instant


@dataclass(frozen=True, slots=True)
class Entry:
    """All that the hash of an entry is taken of.

    `number` counts the entries of an execution from 1 on, `sequence` is that of the checkpoint the
    step belongs to.  `status` is STARTED, SUCCEEDED or FAILED; `result_hash` the hex SHA-256 of the
    result's canonical JSON, None where there is no result; `at` the instant of the entry.
    `previous_hash` is that of the entry before, None for the first.
    """

    tenant_id: int
    fleet_id: int
    execution_id: str
    number: int
    key: str
    sequence: int | None
    name: str | None
    worker: str | None
    status: str
    at: int
    result_hash: str | None
    previous_hash: str | None


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as it is stored; `entry` None where what is stored is none.

    `erased` tells that the result is there only by its hash.
    """

    number: int
    hash: str
    entry: Entry | None
    erased: bool = False


def result_hash(result: bytes | None) -> str | None:
    """The hex SHA-256 of a result's canonical JSON; None for none."""
    return None if result is None else hashlib.sha256(result).hexdigest()


def entry_hash(entry: Entry) -> str:
    """The hex SHA-256 of the entry as one canonical JSON object, spelt like a checkpoint's.

    `ValueError` for what no entry can hold.
    """
    if not EARLIEST <= entry.at <= LATEST:
        raise ValueError("at no instant")
    return sealed(
        {
            "tenantId": str(entry.tenant_id),
            "fleetId": str(entry.fleet_id),
            "executionId": entry.execution_id,
            "number": str(entry.number),
            "key": entry.key,
            "sequence": None if entry.sequence is None else str(entry.sequence),
            "name": entry.name,
            "worker": entry.worker,
            "status": entry.status,
            "at": format_instant(entry.at),
            "resultHash": entry.result_hash,
            "previousHash": entry.previous_hash,
        }
    )


class LedgerCheck:
    """Takes in the entries of a ledger in their order, until a fault is found.

    `expected` is the last entry that somebody kept: its number, as a sequence, and its hash.
    `began` is the instant of the first entry, if there is one.
    """

    def __init__(self, expected: Head | None = None) -> None:
        self.checked = self.erased = 0
        self.fault: Fault | None = None
        self.began: int | None = None
        self.head = Head(0, "")
        self._expected = expected

    def take(self, entries: Iterable[StoredEntry]) -> None:
        """Goes on over entries, by ascending number; behind a fault it reads no further."""
        for each in entries:
            self._take(each)
            if self.fault is not None:
                return

    def finish(self) -> Fault | None:
        """The first fault, if there is one, when all entries are taken in."""
        kept = self._expected
        if self.fault is None and kept is not None and kept.sequence > self.head.sequence:
            self.fault = Fault(self.head.sequence + 1, ChainFaultKind.LOST_TAIL)
        return self.fault

    def _take(self, stored: StoredEntry) -> None:
        wanted, kept = self.head.sequence + 1, self._expected
        if stored.number != wanted:
            self.fault = Fault(min(stored.number, wanted), ChainFaultKind.MISSING)
        elif stored.entry is None or not is_whole(stored):
            self.fault = Fault(wanted, ChainFaultKind.ALTERED)
        elif stored.entry.previous_hash != (self.head.hash or None):
            self.fault = Fault(wanted, ChainFaultKind.UNLINKED)
        elif kept is not None and kept.sequence == wanted and kept.hash != stored.hash:
            self.fault = Fault(wanted, ChainFaultKind.OTHER_HEAD)
        else:
            self.checked += 1
            self.erased += stored.erased
            self.head = Head(wanted, stored.hash)
            if self.began is None:
                self.began = stored.entry.at


def is_whole(stored: StoredEntry) -> bool:
    """Whether an entry is what its hash says."""
    try:
        return stored.entry is not None and entry_hash(stored.entry) == stored.hash
    except ValueError:
        return False

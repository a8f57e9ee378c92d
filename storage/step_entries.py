"""The entries of a ledger as its rows hold them, sound or not.

A step is one row.  It holds the entry in which the step was entered, and the one in which it was
given its outcome, where that came later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Any

from sqlalchemy import Executable, bindparam, select

from retrograph.rules.chain import Head
from retrograph.rules.erasure import read_erasure
from retrograph.rules.ledger import Entry, StoredEntry, result_hash
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.payload_codec import unpack
from retrograph.storage.prepared import Frame, fetch, prepared, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.stored_text import stored_text
from retrograph.storage.tables import execution_step as step

NAMES = (
    "ordinal", "key", "sequence", "name", "worker", "started_at", "finished_at", "outcome",
    "previous_hash", "hash", "finish_ordinal", "finish_previous_hash", "finish_hash", "erasure",
    "codec", "result",
)  # fmt: skip
"""The columns of a row, as `StepRow` takes them."""
ROWS = 32
"""Rows read at a time: a result may take 1 MB."""
_TEXTS = frozenset(
    {
        "key",
        "name",
        "worker",
        "previous_hash",
        "hash",
        "finish_previous_hash",
        "finish_hash",
        "erasure",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row of the ledger as it is stored."""

    ordinal: int
    key: str
    sequence: int | None
    name: str | None
    worker: str | None
    started_at: int
    finished_at: int | None
    outcome: int | None
    previous_hash: str | None
    hash: str
    finish_ordinal: int | None
    finish_previous_hash: str | None
    finish_hash: str | None
    erasure: str | None
    codec: int | None
    result: bytes | None

    def text(self) -> bytes | None:
        """The result's canonical JSON, None for none, or for one that was erased.

        `ValueError` where the stored bytes are none.
        """
        if self.codec is None and self.result is None:
            return None
        if self.codec is None or self.result is None:
            raise ValueError("half a result")
        return unpack(self.codec, self.result)

    def result_hash(self) -> str | None:
        """The hash of the result, also of one that was erased; `ValueError` as for `text`."""
        text = self.text()
        if self.erasure is None:
            return result_hash(text)
        if text is not None:
            raise ValueError("an erased result that is there")
        return read_erasure(self.erasure, self.left()).result_hash

    def left(self) -> dict[str, object]:
        """What is left of a step when its result is erased: its entry tells of all the rest."""
        return {"hash": self.hash if self.finish_hash is None else self.finish_hash}


def entered(s: Snapshot, execution: str, row: StepRow) -> StoredEntry:
    """The entry in which a step was entered."""
    outcome: tuple[str, str | None] | None
    if row.finish_ordinal is not None:
        outcome = (StepStatus.STARTED.name, None) if row.finish_ordinal > row.ordinal else None
    elif (row.finish_previous_hash, row.finish_hash) != (None, None):
        outcome = None
    elif row.finished_at is None:
        blank = (row.outcome, row.codec, row.result, row.erasure) == (None, None, None, None)
        outcome = (StepStatus.STARTED.name, None) if blank else None
    else:
        outcome = _outcome(row) if row.finished_at == row.started_at else None
    place = row.ordinal, row.started_at, row.previous_hash
    return _stored(s, execution, row, place, outcome, row.hash)


def finished(s: Snapshot, execution: str, row: StepRow) -> StoredEntry:
    """The entry in which a step was given its outcome, of a row that has one."""
    assert row.finish_ordinal is not None  # noqa: S101 (that is how it was found)
    place = row.finish_ordinal, row.finished_at, row.finish_previous_hash
    return _stored(s, execution, row, place, _outcome(row), row.finish_hash or "")


def entries_of(s: Snapshot, execution: str, row: StepRow) -> list[StoredEntry]:
    """The one or two entries of a row."""
    first = entered(s, execution, row)
    return [first] if row.finish_ordinal is None else [first, finished(s, execution, row)]


def ledger_entries(s: Snapshot, execution: int, name: str) -> Iterator[StoredEntry]:
    """All entries of the ledger of an execution, called `name`, by number."""
    starts = _each(s, execution, _rows, lambda row: entered(s, name, row))
    finishes = _each(s, execution, _finishes, lambda row: finished(s, name, row))
    return merge(starts, finishes, key=lambda each: each.number)


def last_entry(s: Snapshot, execution: int) -> Head:
    """The number and the hash of the last entry of a ledger; 0 for none."""
    found = [
        *fetch(s, _last, execution=execution),
        *fetch(s, _last_finish, execution=execution),
    ]
    number, made = max(found, key=lambda each: each[0], default=(0, ""))
    return Head(number, made)


def _outcome(row: StepRow) -> tuple[str, str | None] | None:
    """The status and the hash of the result; None where they are none."""
    try:
        return StepStatus(row.outcome or 0).name, row.result_hash()
    except ValueError:
        return None


def _stored(
    s: Snapshot,
    execution: str,
    row: StepRow,
    place: tuple[int, int | None, str | None],
    outcome: tuple[str, str | None] | None,
    made: str,
) -> StoredEntry:
    number, at, previous = place
    if outcome is None or at is None:
        return StoredEntry(number, made, None)
    entry = Entry(
        s.tenant_id, s.fleet_id, execution, number, row.key, row.sequence, row.name, row.worker,
        outcome[0], at, outcome[1], previous,
    )  # fmt: skip
    return StoredEntry(number, made, entry, row.erasure is not None and outcome[1] is not None)


def _each(
    s: Snapshot,
    execution: int,
    page: Callable[..., Executable],
    entry: Callable[[StepRow], StoredEntry],
) -> Iterator[StoredEntry]:
    after = 0
    while True:
        rows = fetch(s, page, execution=execution, after=after, rows=ROWS)
        for row in rows:
            made = entry(StepRow(*row))
            yield made
            after = made.number
        if len(rows) < ROWS:
            return


def _columns() -> Sequence[Any]:
    columns = [step.c[name] for name in NAMES]
    return [stored_text(each) if each.name in _TEXTS else each for each in columns]


@prepared
def _rows(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    return (
        select(*_columns())
        .where(
            step.c.execution_id == bindparam("execution"),
            step.c.ordinal > bindparam("after"),
            *within_scope(step),
        )
        .order_by(step.c.ordinal)
        .limit(bindparam("rows"))
    )


@prepared
def _finishes(frame: Frame) -> Executable:  # noqa: ARG001
    return (
        select(*_columns())
        .where(
            step.c.execution_id == bindparam("execution"),
            step.c.finish_ordinal > bindparam("after"),
            *within_scope(step),
        )
        .order_by(step.c.finish_ordinal)
        .limit(bindparam("rows"))
    )


@prepared
def _last(frame: Frame) -> Executable:  # noqa: ARG001
    return (
        select(step.c.ordinal, stored_text(step.c.hash))
        .where(step.c.execution_id == bindparam("execution"), *within_scope(step))
        .order_by(step.c.ordinal.desc())
        .limit(1)
    )


@prepared
def _last_finish(frame: Frame) -> Executable:  # noqa: ARG001
    return (
        select(step.c.finish_ordinal, stored_text(step.c.finish_hash))
        .where(
            step.c.execution_id == bindparam("execution"),
            step.c.finish_ordinal > 0,
            *within_scope(step),
        )
        .order_by(step.c.finish_ordinal.desc())
        .limit(1)
    )

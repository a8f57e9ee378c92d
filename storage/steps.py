"""The ledger of an execution's steps: each is entered once by its key, and finished once.

What a row holds is checked by the hashes of its entries whenever it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Executable, bindparam, select, update
from sqlalchemy.types import Text

from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.ledger import Entry, StoredEntry, entry_hash, is_whole, result_hash
from retrograph.rules.limits import MAX_ID
from retrograph.storage.aside import out_of_order
from retrograph.storage.checkpoint_records import StepRecord, StepReport, StepStatus
from retrograph.storage.executions import execution_called
from retrograph.storage.filters import StepFilter, after_prefix
from retrograph.storage.has_key import has_key
from retrograph.storage.pages import page_of
from retrograph.storage.payload_codec import pack
from retrograph.storage.prepared import INSTANT, Frame, enter, fetch, prepared, within_scope
from retrograph.storage.records import Page
from retrograph.storage.same_text import key_has_prefix
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.step_entries import NAMES, StepRow, entries_of, last_entry
from retrograph.storage.tables import execution_step as step
from retrograph.storage.write import Write

_COLUMNS = tuple(step.c[name] for name in NAMES)


def enter_step(write: Write, execution: int, name: str, report: StepReport) -> None:
    """Enters a step of an execution, called `name`, as started or finished at once.

    Its key must be new to the execution.
    """
    s = write.snapshot
    number, previous, made = _next_entry(write, execution, name, report)
    row = {
        "execution_id": execution,
        "ordinal": number,
        "tenant_id": s.tenant_id,
        "fleet_id": s.fleet_id,
        "key": report.key,
        "sequence": report.sequence,
        "name": report.name,
        "worker": report.worker,
        "started_at": write.instant,
        "previous_hash": previous,
        "hash": made,
        "finish_ordinal": None,
        "finish_previous_hash": None,
        "finish_hash": None,
        "erasure": None,
    }
    enter(s, step, row | _outcome(write, report))


def finish_step(write: Write, execution: int, known: StepRecord, report: StepReport) -> None:
    """Gives a step that was started its outcome."""
    s = write.snapshot
    told = replace(report, sequence=known.sequence, name=known.name, worker=known.worker)
    number, previous, made = _next_entry(write, execution, known.execution_id, told)
    linked = {
        "finish_ordinal": number,
        "finish_previous_hash": previous,
        "finish_hash": made,
    }
    s.connection.execute(
        update(step)
        .where(
            step.c.execution_id == execution,
            has_key(step.c.key, report.key),
            step.c.tenant_id == s.tenant_id,
            step.c.fleet_id == s.fleet_id,
        )
        .values(linked | _outcome(write, report))
    )


def step_by_key(s: Snapshot, execution: int, name: str, key: str) -> StepRecord | None:
    """The step of an execution, called `name`, that was entered under a key."""
    rows = fetch(s, _by_key, execution=execution, key=key)
    return _record(s, name, rows[0]) if rows else None


def page_steps(
    s: Snapshot, name: str, filter: StepFilter, first: int, after: int | None
) -> Page[StepRecord]:
    """The steps of the execution called `name` as of the instant, in the order of their starts.

    Those that pass the filter, after an ordinal.
    """
    values = _values(filter)
    rows = fetch(
        s,
        _page,
        frozenset(values),
        **values,
        key=name,
        after=0 if after is None else after,
        rows=first + 1,
    )
    return page_of(s, [_record(s, name, row) for row in rows], first)


def _values(filter: StepFilter) -> dict[str, object]:
    """The parameters for what the filter gives; their names name the conditions, too."""
    prefix = filter.key_prefix or None
    values = {
        "sequence": filter.sequence,
        "least_key": prefix,
        "next_key": None if prefix is None else after_prefix(prefix),
    }
    return {name: value for name, value in values.items() if value is not None}


def _next_entry(
    write: Write, execution: int, name: str, report: StepReport
) -> tuple[int, str | None, str]:
    """The number of the next entry of a ledger, the hash before it, and its own."""
    s, last = write.snapshot, last_entry(write.snapshot, execution)
    if last.sequence >= MAX_ID:  # no ledger of reports has come so far
        raise damaged_step(name, report.key)
    result = None if report.result is None else report.result.encode()
    number, previous = last.sequence + 1, last.hash or None
    entry = Entry(
        s.tenant_id, s.fleet_id, name, number, report.key, report.sequence, report.name,
        report.worker, report.status.name, write.instant, result_hash(result), previous,
    )  # fmt: skip
    try:
        return number, previous, entry_hash(entry)
    except ValueError as error:  # what the report brings was checked
        raise damaged_step(name, report.key) from error


def _outcome(write: Write, report: StepReport) -> dict[str, object]:
    if report.status is StepStatus.STARTED:
        return {"finished_at": None, "outcome": None, "codec": None, "result": None}
    codec, stored = (None, None) if report.result is None else pack(report.result.encode())
    return {
        "finished_at": write.instant,
        "outcome": int(report.status),
        "codec": codec,
        "result": stored,
    }


def _record(s: Snapshot, execution: str, row: Sequence[Any]) -> StepRecord:
    found = StepRow(*row)
    if not is_sound(entries_of(s, execution, found)):
        raise damaged_step(execution, found.key)
    done = found.finished_at is not None and found.finished_at <= s.instant
    text = found.text() if done else None
    return StepRecord(
        s.tenant_id, s.fleet_id, execution, found.ordinal, found.key, found.sequence or 0,
        found.name, found.worker, StepStatus(found.outcome or 0) if done else StepStatus.STARTED,
        None if text is None else text.decode(), found.started_at,
        found.finished_at if done else None, s.instant, done and found.erasure is not None,
    )  # fmt: skip


def is_sound(entries: Sequence[StoredEntry]) -> bool:
    """Whether each entry of a row is what its hash says."""
    return all(map(is_whole, entries))


def damaged_step(execution: str, key: str) -> CheckpointDamaged:
    """The error for a step that isn't what was recorded."""
    return CheckpointDamaged(
        f"The step {key!r} of the execution {execution!r} isn't what was recorded: its hash "
        "differs. Ask verifyCheckpoints, and restore the database from a copy."
    )


@prepared
def _by_key(frame: Frame) -> Executable:  # noqa: ARG001
    return select(*_COLUMNS).where(
        step.c.execution_id == bindparam("execution"),
        has_key(step.c.key, bindparam("key", type_=Text)),
        *within_scope(step),
    )


@prepared
def _page(frame: Frame, given: frozenset[str]) -> Executable:  # noqa: ARG001
    """Driven by the range of keys where one is given: it leads to fewer than the order does."""
    order = out_of_order(step.c.ordinal) if "least_key" in given else step.c.ordinal
    least, following = (bindparam(name, type_=Text) for name in ("least_key", "next_key"))
    conditions: dict[str, ColumnElement[bool]] = {
        "sequence": step.c.sequence == bindparam("sequence"),
        "least_key": key_has_prefix(step.c.key, least, following if "next_key" in given else None),
    }
    return (
        select(*_COLUMNS)
        .where(
            step.c.execution_id == execution_called(),
            *within_scope(step),
            step.c.started_at <= INSTANT,
            order > bindparam("after"),
            *(condition for name, condition in conditions.items() if name in given),
        )
        .order_by(order)
        .limit(bindparam("rows"))
    )

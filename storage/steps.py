"""The ledger of an execution's steps: each is entered once by its key, and finished once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Executable, bindparam, func, insert, select, update
from sqlalchemy.types import Text

from retrograph.storage.aside import aside
from retrograph.storage.checkpoint_records import StepRecord, StepReport, StepStatus
from retrograph.storage.executions import execution_called
from retrograph.storage.filters import StepFilter, after_prefix
from retrograph.storage.has_key import has_key
from retrograph.storage.pages import page_of
from retrograph.storage.payload_codec import pack, unpack
from retrograph.storage.prepared import INSTANT, Frame, fetch, prepared, within_scope
from retrograph.storage.records import Page
from retrograph.storage.same_text import has_prefix
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import execution_step as step
from retrograph.storage.write import Write

_NAMES = (
    "ordinal", "key", "sequence", "name", "worker", "started_at", "finished_at", "outcome",
    "codec", "result",
)  # fmt: skip
_COLUMNS = tuple(step.c[name] for name in _NAMES)


def enter_step(write: Write, execution: int, report: StepReport) -> None:
    """Enters a step, whose key must be new to its execution, as started or finished at once."""
    s = write.snapshot
    ordinal = 1 + (fetch(s, _last, execution=execution)[0][0] or 0)
    row = {
        "execution_id": execution,
        "ordinal": ordinal,
        "tenant_id": s.tenant_id,
        "fleet_id": s.fleet_id,
        "key": report.key,
        "sequence": report.sequence,
        "name": report.name,
        "worker": report.worker,
        "started_at": write.instant,
    }
    s.connection.execute(insert(step), row | _outcome(write, report))


def finish_step(write: Write, execution: int, report: StepReport) -> None:
    """Gives a step that was started its outcome."""
    s = write.snapshot
    s.connection.execute(
        update(step)
        .where(
            step.c.execution_id == execution,
            has_key(step.c.key, report.key),
            step.c.tenant_id == s.tenant_id,
            step.c.fleet_id == s.fleet_id,
        )
        .values(_outcome(write, report))
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
    prefix = filter.key_prefix
    values = {
        "sequence": filter.sequence,
        "least_key": prefix,
        "next_key": None if prefix is None else after_prefix(prefix),
    }
    return {name: value for name, value in values.items() if value is not None}


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
    ordinal, key, sequence, name, worker, started, finished, outcome, codec, result = row
    done = finished is not None and finished <= s.instant
    return StepRecord(
        s.tenant_id, s.fleet_id, execution, ordinal, key, sequence, name, worker,
        StepStatus(outcome) if done else StepStatus.STARTED,
        unpack(codec, result).decode() if done and result is not None else None,
        started, finished if done else None, s.instant,
    )  # fmt: skip


@prepared
def _last(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    return select(func.max(step.c.ordinal)).where(
        step.c.execution_id == bindparam("execution"), *within_scope(step)
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
    order = aside(step.c.ordinal) if "least_key" in given else step.c.ordinal
    least, following = (bindparam(name, type_=Text) for name in ("least_key", "next_key"))
    conditions: dict[str, ColumnElement[bool]] = {
        "sequence": step.c.sequence == bindparam("sequence"),
        "least_key": has_prefix(step.c.key, least, following if "next_key" in given else None),
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
        .order_by(step.c.ordinal)
        .limit(bindparam("rows"))
    )

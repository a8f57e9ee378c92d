"""Whatever byte of whatever row of a chain or a ledger is changed: it is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Table

from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.retain_checkpoints import Retention, delete_execution, retain_checkpoints
from retrograph.rules.chain import ChainFaultKind, Fault, Head
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.limits import MAX_ID
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.payload_codec import DEFLATED_FROM
from retrograph.storage.tables import checkpoint, checkpoint_anchor, execution, execution_step
from tests.executions import Execution
from tests.tampering import allowed, cut, faults, others, put, rows_of, verified

TABLES: tuple[tuple[Table, frozenset[str]], ...] = (
    (checkpoint, frozenset(checkpoint.c.keys())),
    (checkpoint_anchor, frozenset(checkpoint_anchor.c.keys())),
    (execution_step, frozenset(execution_step.c.keys())),
    (execution, frozenset(execution.c.keys())),
)
"""What is covered: every column of what makes the chain and the ledger, and what leads to it."""
LARGE = {"text": "words " * DEFLATED_FROM}


def live(run: Execution, payload: Any) -> tuple[Head, Head]:
    """A chain with an anchor, and a ledger of every kind of step; their heads."""
    run.grow(4, payload=payload)
    retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old", 2))
    for key, status, result in (
        ("pay", StepStatus.STARTED, None),
        ("ship", StepStatus.SUCCEEDED, payload),
        ("call", StepStatus.STARTED, None),
        ("pay", StepStatus.FAILED, [1]),
    ):
        record_step(run.scope, run.fleet, Step(run.name, key, status, 3, key, "w", result))
    found = verified(run)
    assert found is not None
    assert (found.fault, found.ledger.fault) == (None, None)
    assert found.head is not None
    assert found.ledger.head is not None
    assert (found.checked, found.ledger.checked) == (2, 4)
    return found.head, found.ledger.head


@pytest.mark.parametrize(
    ("payload", "most"),
    [
        ({"step": 1}, 1),
        pytest.param({"step": 1}, 1_000, marks=pytest.mark.long),
        pytest.param(LARGE, 50, marks=pytest.mark.long),
    ],
    ids=["some", "every", "deflated"],
)
def test_every_byte_of_every_row_counts(run: Execution, payload: Any, most: int) -> None:
    heads, tried = live(run, payload), 0
    for table, names in TABLES:
        for row in rows_of(run, table):
            for name in sorted(names):
                for other in others(table.c[name], row[name], most):
                    if not allowed(run, name, other):
                        continue
                    put(run, table, {name: other}, row)
                    assert faults(run, *heads) != [None, None], (table.name, name, other)
                    put(run, table, {name: row[name]}, row | {name: other})
                    tried += 1
    assert faults(run, *heads) == [None, None]
    assert tried > 100


def test_nothing_goes_on_behind_the_last_place_of_all(run: Execution) -> None:
    run.grow(2)
    pay = Step(run.name, "pay", StepStatus.STARTED)
    record_step(run.scope, run.fleet, pay)
    for table, place in ((checkpoint, "sequence"), (execution_step, "ordinal")):
        put(run, table, {place: MAX_ID}, rows_of(run, table)[-1])
    with pytest.raises(CheckpointDamaged):
        run.commit(MAX_ID, "next", payload=1)
    with pytest.raises(CheckpointDamaged):
        record_step(run.scope, run.fleet, replace(pay, key="ship", sequence=1))
    with pytest.raises(CheckpointDamaged):
        retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old", 1))
    assert faults(run) == [(2, "MISSING"), (1, "MISSING")]


def test_nothing_begins_beside_what_is_said_to_begin_later(run: Execution) -> None:
    if run.scope.store._profile.name != "sqlite":
        pytest.skip("no index over the live names alone")
    run.grow(1)
    row = rows_of(run, execution)[-1]
    put(run, execution, {"created_at": row["created_at"] + 3_600_000_000}, row)
    with pytest.raises(CheckpointDamaged, match="begins in the future"):
        run.commit(0, "again")
    assert replace(run, name="another").commit(0).checkpoint.sequence == 1


def test_an_execution_without_anything_is_found(run: Execution) -> None:
    """Also where no head was kept of it: it began with something."""
    run.grow(2)
    for row in rows_of(run, checkpoint):
        cut(run, checkpoint, row)
    found = verified(run)
    assert found is not None
    assert (found.fault, found.checked) == (Fault(0, ChainFaultKind.EXECUTION_ALTERED), 0)


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_what_is_broken_stays(run: Execution, broken: int) -> None:
    """What would go is all that tells of the damage."""
    run.grow(5)
    asked = Retention(run.name, "me", "old", 2)
    row = next(row for row in rows_of(run, checkpoint) if row["sequence"] == broken)
    put(run, checkpoint, {"state_node": "another"}, row)
    with pytest.raises(CheckpointDamaged, match=f"Checkpoint {broken} "):
        retain_checkpoints(run.scope, run.fleet, asked)
    cut(run, checkpoint, row)
    with pytest.raises(CheckpointDamaged):
        retain_checkpoints(run.scope, run.fleet, asked)
    assert faults(run) == [(broken, "MISSING"), None]


def test_a_damaged_execution_can_be_deleted(run: Execution) -> None:
    run.grow(2)
    put(run, checkpoint, {"state_node": "another"}, rows_of(run, checkpoint)[-1])
    with pytest.raises(CheckpointDamaged):
        run.head()
    done = delete_execution(run.scope, run.fleet, run.name, "me", "damaged", purge=True)
    assert done.head is None
    assert run.commit(0, "anew").checkpoint.sequence == 1

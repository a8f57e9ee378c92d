"""What is erased is gone for good, and the chain and the ledger still prove all that is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from retrograph.resolvers.check_upcasts import check_upcasts
from retrograph.resolvers.checkpoints import get_committed
from retrograph.resolvers.erase_checkpoints import Erased, Erasing, erase_checkpoints
from retrograph.resolvers.record_step import Step, list_steps, record_step
from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.chain import Head
from retrograph.rules.checkpoint_errors import (
    CheckpointDamaged,
    CheckpointRemoved,
    StepKeyReused,
    TokenReused,
)
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.storage.checkpoint_records import StepRecord, StepStatus
from retrograph.storage.filters import StepFilter
from retrograph.storage.payload_codec import DEFLATED_FROM
from retrograph.storage.tables import checkpoint, execution_step
from retrograph.storage.write import Write
from tests.executions import Execution
from tests.tampering import allowed, faults, others, put, rows_of

SECRET = "a secret " * (DEFLATED_FROM // 8)


def erase(run: Execution, *sequences: int, steps: tuple[str, ...] = (), **more: Any) -> Erased:
    asked = Erasing(run.name, "me", "asked to", sequences, steps)
    return erase_checkpoints(run.scope, run.fleet, replace(asked, **more))


def tell(run: Execution, key: str, status: StepStatus, result: Any = None) -> StepRecord:
    told = Step(run.name, key, status, None, None, None, result)
    return record_step(run.scope, run.fleet, told).step


def steps(run: Execution) -> list[StepRecord]:
    return list_steps(run.scope, run.fleet, run.name, StepFilter(), 50).rows


def test_what_is_erased_is_gone_and_the_chain_holds(run: Execution) -> None:
    before = run.scope.clock(run.fleet)
    made = run.grow(4, payload={"text": SECRET})
    done = erase(run, 2, 3, 2)
    assert (done.checkpoints, done.steps) == (2, 0)
    assert erase(run, 2).checkpoints == 0
    found = verify_checkpoints(run.scope, run.fleet, run.name, Head(4, made[-1].hash))
    assert (found.fault, found.checked, found.erased) == (None, 4, 2)
    assert run.sequences() == [4, 1]
    rows = {row["sequence"]: bytes(row["payload"]) for row in rows_of(run, checkpoint)}
    assert (rows[2], rows[3]) == (b"", b"")
    for at in (None, made[1].committed_at):
        with pytest.raises(CheckpointRemoved, match="erased"):
            run.get(2, at)
    with pytest.raises(CheckpointRemoved):
        run.head(made[1].committed_at)
    with pytest.raises(CheckpointRemoved) as asked:
        get_committed(run.scope, run.fleet, run.name, "token 2")
    assert asked.value.path == ("idempotencyToken",)
    with pytest.raises(CheckpointRemoved):
        rollback_execution(run.scope, run.fleet, Rollback(run.name, 2, "back"))
    assert run.head(before) is None
    assert run.commit(4).checkpoint.sequence == 5
    own = [each for each in check_upcasts(run.scope) if each.fleet_id == run.fleet]
    assert [each.sequence for each in own] == [1, 4, 5]


def test_a_commit_that_comes_again_is_answered_though_its_payload_was_erased(
    run: Execution,
) -> None:
    made = run.grow(3, payload={"text": SECRET})
    erase(run, 2)
    again = run.commit(1, payload={"text": SECRET})
    assert (again.replayed, again.checkpoint._replace(as_of=0)) == (True, made[1]._replace(as_of=0))
    for other in ({"payload": {"text": "other"}}, {"payload": {"text": SECRET}, "state_node": "x"}):
        with pytest.raises(TokenReused, match="committed checkpoint 2") as reused:
            run.commit(1, **other)
        assert reused.value.path == ("input", "idempotencyToken")
    (row,) = [row for row in rows_of(run, checkpoint) if row["sequence"] == 2]
    assert bytes(row["payload"]) == b""
    put(run, checkpoint, {"state_node": "y"}, row)
    with pytest.raises(CheckpointDamaged):
        run.commit(1, payload={"text": SECRET})


def test_a_rollback_that_comes_again_is_answered_as_far_as_its_state_is_left(
    run: Execution,
) -> None:
    run.grow(2)
    asked = Rollback(run.name, 1, "back")
    made = rollback_execution(run.scope, run.fleet, asked).checkpoint
    run.commit(3)
    erase(run, 3)
    again = rollback_execution(run.scope, run.fleet, asked)
    assert (again.replayed, again.checkpoint._replace(as_of=0)) == (True, made._replace(as_of=0))
    with pytest.raises(TokenReused):
        rollback_execution(run.scope, run.fleet, replace(asked, to_sequence=2))
    erase(run, 1)
    with pytest.raises(CheckpointRemoved, match="new token") as gone:
        rollback_execution(run.scope, run.fleet, asked)
    assert gone.value.path == ("input", "idempotencyToken")


def test_the_head_stays(run: Execution) -> None:
    run.grow(2)
    for sequences in ([2], [3], [0], [-1]):
        with pytest.raises(InvalidInput):
            erase(run, *sequences)
    rollback_execution(run.scope, run.fleet, Rollback(run.name, 1, "back"))
    assert erase(run, 2).checkpoints == 1
    head = run.head()
    assert head is not None
    assert (head.sequence, head.payload) == (3, '{"step":1}')


def test_what_retention_took_is_passed_over_and_it_takes_what_was_erased(run: Execution) -> None:
    run.grow(4)
    assert erase(run, 2).checkpoints == 1
    retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old", 2))
    assert erase(run, 1, 2, 3).checkpoints == 1
    found = verify_checkpoints(run.scope, run.fleet, run.name)
    assert (found.fault, found.checked, found.erased) == (None, 2, 1)
    assert found.anchor is not None
    assert found.anchor.sequence == 2


def test_results_are_erased_and_the_ledger_holds(run: Execution) -> None:
    tell(run, "begun", StepStatus.STARTED)
    tell(run, "pay", StepStatus.STARTED)
    paid = tell(run, "pay", StepStatus.SUCCEEDED, {"card": SECRET})
    tell(run, "ship", StepStatus.FAILED, [1])
    done = erase(run, steps=("pay", "ship", "begun", "pay"))
    assert (done.checkpoints, done.steps) == (0, 2)
    assert erase(run, steps=("pay",)).steps == 0
    found = verify_checkpoints(run.scope, run.fleet, run.name).ledger
    assert (found.fault, found.checked, found.erased) == (None, 4, 2)
    known = {each.key: each for each in steps(run)}
    assert (known["pay"].status, known["pay"].result) == (StepStatus.SUCCEEDED, None)
    assert [known[key].erased for key in ("begun", "pay", "ship")] == [False, True, True]
    assert tell(run, "pay", StepStatus.STARTED).finished_at == paid.finished_at
    assert tell(run, "pay", StepStatus.SUCCEEDED, {"card": SECRET}).erased
    with pytest.raises(StepKeyReused):
        tell(run, "pay", StepStatus.FAILED, 1)


def test_what_stands_for_the_content_is_sealed(run: Execution) -> None:
    """Whatever is changed of an erased row, or made to look erased, is found."""
    head = run.grow(3)[-1]
    tell(run, "pay", StepStatus.SUCCEEDED, 1)
    tell(run, "ship", StepStatus.SUCCEEDED, 1)
    erase(run, 1, steps=("pay",))
    kept = Head(3, head.hash), verify_checkpoints(run.scope, run.fleet, run.name).ledger.head
    for table in (checkpoint, execution_step):
        erased, sound = sorted(rows_of(run, table), key=lambda row: row["erasure"] is None)[:2]
        for name in sorted(table.c.keys()):
            for other in others(table.c[name], erased[name], 2):
                if not allowed(run, name, other):
                    continue
                put(run, table, {name: other}, erased)
                assert faults(run, *kept) != [None, None], (table.name, name, other)
                put(run, table, {name: erased[name]}, erased | {name: other})
        put(run, table, {"erasure": erased["erasure"]}, sound)
        assert faults(run, *kept) != [None, None]
        put(run, table, {"erasure": None}, sound)
    assert faults(run, *kept) == [None, None]


def test_bad_requests_are_refused(run: Execution) -> None:
    with pytest.raises(NotFound):
        erase(run, 1)
    run.grow(2)
    with pytest.raises(InvalidInput, match="Name what goes") as nothing:
        erase(run)
    assert nothing.value.path == ("input", "sequences")
    tell(run, "pay", StepStatus.SUCCEEDED, 1)
    with pytest.raises(NotFound, match="no step 'none'") as unknown:
        erase(run, 1, steps=("pay", "none"))
    assert unknown.value.path == ("input", "stepKeys", "1")
    done = erase(run, 1, steps=("pay",))
    assert (done.checkpoints, done.steps) == (1, 1)
    for bad in ({"by": ""}, {"reason": ""}, {"step_keys": [""]}, {"sequences": [1] * 1_001}):
        with pytest.raises(InvalidInput):
            erase(run, **bad)


@pytest.mark.needs("file")
@pytest.mark.parametrize("sequence", [1, 2])
@pytest.mark.parametrize("text", ["erasure = 'x'", "payload = x'00'", "erasure = 'x', token = 'x'"])
def test_the_database_keeps_a_checkpoint_final(scope: Scope, sequence: int, text: str) -> None:
    """Erasing is the only change that SQLite's own guard lets through, once."""
    run = Execution(scope)
    run.grow(3)
    erase(run, 1)
    changing = f"UPDATE checkpoint SET {text} WHERE sequence = {sequence}"

    def job(write: Write) -> None:
        write.snapshot.connection.exec_driver_sql(changing)

    with pytest.raises(IntegrityError, match="final"):
        scope.write(1, job)

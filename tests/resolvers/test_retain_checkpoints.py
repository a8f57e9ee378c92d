"""What retention removes is never an empty answer, and the chain still proves itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from retrograph.resolvers.record_step import Step, list_steps, record_step
from retrograph.resolvers.retain_checkpoints import (
    Deleted,
    Retained,
    Retention,
    delete_execution,
    retain_checkpoints,
)
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.anchor import anchor_hash
from retrograph.rules.chain import Head
from retrograph.rules.checkpoint_errors import CheckpointConflict, CheckpointRemoved
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.filters import StepFilter
from retrograph.storage.tables import checkpoint, checkpoint_anchor
from tests.clock import ManualClock
from tests.dump import dump_fleet
from tests.executions import Execution


def retain(run: Execution, keep: int = 1, **more: Any) -> Retained:
    asked = Retention(run.name, "me", "old", keep, **more)
    return retain_checkpoints(run.scope, run.fleet, asked)


def delete_it(run: Execution, **more: Any) -> Deleted:
    return delete_execution(run.scope, run.fleet, run.name, "me", "done with", **more)


def fault(run: Execution, expected: Head | None = None) -> tuple[int, str] | None:
    found = verify_checkpoints(run.scope, run.fleet, run.name, expected).fault
    return None if found is None else (found.sequence, found.kind.name)


def test_an_anchor_stands_for_what_went(run: Execution) -> None:
    made = run.grow(5)
    done = retain(run, 2)
    assert (done.removed, run.sequences()) == (3, [5, 4])
    anchor = done.anchor
    assert anchor is not None
    assert (anchor.sequence, anchor.checkpoint_hash) == (3, made[2].hash)
    assert (anchor.began_at, anchor.committed_at) == (made[0].committed_at, made[2].committed_at)
    assert (anchor.removed_at, anchor.removed_by, anchor.reason) == (done.instant, "me", "old")
    assert done.anchor_hash == anchor_hash(anchor)
    found = verify_checkpoints(run.scope, run.fleet, run.name, Head(5, made[4].hash))
    assert (found.fault, found.checked, found.anchor) == (None, 2, anchor)
    assert fault(run, Head(3, made[2].hash)) is None
    assert fault(run, Head(3, made[1].hash)) == (3, "OTHER_HEAD")
    with pytest.raises(CheckpointRemoved):
        fault(run, Head(2, made[1].hash))


def test_the_chain_goes_on_from_anchor_to_anchor(run: Execution) -> None:
    run.grow(3)
    first = retain(run)
    run.grow(3)
    second = retain(run, 2)
    assert second.anchor is not None
    assert (second.anchor.sequence, second.anchor.previous_hash) == (4, first.anchor_hash)
    assert first.anchor is not None
    assert second.anchor.began_at == first.anchor.began_at
    assert fault(run) is None
    assert run.commit(6).checkpoint.sequence == 7


def test_nothing_to_remove_leaves_no_anchor(run: Execution) -> None:
    run.grow(2)
    for _ in range(2):
        done = retain(run, 2)
        assert (done.removed, done.anchor) == (0, None)
    assert fault(run) is None


def test_only_what_is_older_goes(run: Execution, shared_clock: ManualClock) -> None:
    made = []
    for _ in range(4):
        made += run.grow(1)
        shared_clock.advance()
    assert retain(run, 1, older_than=made[0].committed_at).removed == 0
    assert retain(run, 1, older_than=made[2].committed_at).removed == 2
    assert run.sequences() == [4, 3]
    assert retain(run, 2, older_than=made[3].committed_at + 1).removed == 0


def test_a_dry_run_removes_nothing(run: Execution) -> None:
    run.grow(3)
    assert (retain(run, dry_run=True).removed, run.sequences()) == (2, [3, 2, 1])


def test_what_went_is_no_empty_answer(run: Execution, shared_clock: ManualClock) -> None:
    before = run.scope.clock(run.fleet)
    made = []
    for _ in range(3):
        made += run.grow(1)
        shared_clock.advance()
    retain(run)
    asks: list[Callable[[], object]] = [
        lambda: run.get(1),
        lambda: run.get(2, made[2].committed_at),
        lambda: run.head(made[1].committed_at),
        lambda: run.sequences(made[0].committed_at),
        lambda: rollback_execution(run.scope, run.fleet, Rollback(run.name, 2, "back")),
    ]
    for ask in asks:
        with pytest.raises(CheckpointRemoved) as caught:
            ask()
        assert caught.value.code == "CHECKPOINT_REMOVED"
    assert run.head(before) is None
    assert run.sequences(before) == []
    assert run.get(4) is None
    assert run.head(made[2].committed_at) is not None


def test_a_late_repetition_of_what_went_is_a_conflict(run: Execution) -> None:
    run.grow(3)
    retain(run)
    with pytest.raises(CheckpointConflict):
        run.commit(0)


@pytest.mark.parametrize("altered", ["reason", "removed_by", "checkpoint_hash", "hash"])
def test_an_altered_anchor_is_found(run: Execution, altered: str) -> None:
    run.grow(3)
    retain(run)
    _tamper(run, update(checkpoint_anchor).values({altered: "other"}))
    assert fault(run) == (2, "ANCHOR_ALTERED")


def test_a_lost_anchor_is_found(run: Execution) -> None:
    run.grow(3)
    retain(run)
    _tamper(run, delete(checkpoint_anchor))
    assert fault(run) == (1, "MISSING")


def _tamper(run: Execution, statement: Any) -> None:
    here = (checkpoint_anchor.c.tenant_id == 1, checkpoint_anchor.c.fleet_id == run.fleet)

    def job(write: Any) -> None:
        if write.snapshot.profile.name == "sqlite":
            for trigger in ("checkpoint_anchor_update", "checkpoint_anchor_delete"):
                write.snapshot.connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger}")
        write.snapshot.connection.execute(statement.where(*here))

    run.scope.store.write(1, run.fleet, job)


@pytest.mark.parametrize(("more", "path"), [({"keep": 0}, "keepLast"), ({"keep": -1}, "keepLast")])
def test_the_head_always_stays(run: Execution, more: Any, path: str) -> None:
    run.grow(1)
    with pytest.raises(InvalidInput) as caught:
        retain(run, **more)
    assert caught.value.path == ("input", path)


@pytest.mark.parametrize("wrong", [{"by": ""}, {"reason": " "}])
def test_it_is_signed_off(run: Execution, wrong: Any) -> None:
    run.grow(2)
    given = {"by": "me", "reason": "old"} | wrong
    with pytest.raises(InvalidInput):
        retain_checkpoints(run.scope, run.fleet, Retention(run.name, **given))
    with pytest.raises(InvalidInput):
        delete_execution(run.scope, run.fleet, run.name, **given)
    assert run.sequences() == [2, 1]


def test_a_deleted_execution_leaves_the_present_alone(
    run: Execution, shared_clock: ManualClock
) -> None:
    made = run.grow(2)
    record_step(run.scope, run.fleet, Step(run.name, "pay", StepStatus.STARTED))
    at = run.scope.clock(run.fleet)
    shared_clock.advance()
    done = delete_it(run)
    assert done.head is not None
    assert done.head.hash == made[1].hash
    assert run.head() is None
    assert run.sequences() == []
    assert list_steps(run.scope, run.fleet, run.name, StepFilter(), 50).rows == []
    with pytest.raises(NotFound):
        fault(run)
    assert fault(run, Head(2, made[1].hash)) == (1, "LOST_TAIL")
    then = run.head(at)
    assert then is not None
    assert then.hash == made[1].hash
    assert run.sequences(at) == [2, 1]
    assert len(list_steps(run.scope, run.fleet, run.name, StepFilter(), 50, at=at).rows) == 1
    with pytest.raises(NotFound):
        delete_it(run)


def test_a_name_begins_anew_after_a_deletion(run: Execution, shared_clock: ManualClock) -> None:
    old = run.grow(2)
    shared_clock.advance()
    delete_it(run)
    shared_clock.advance()
    (new,) = run.grow(1)
    assert (new.sequence, new.previous_hash) == (1, None)
    assert new.hash != old[0].hash
    assert run.sequences() == [1]
    assert run.sequences(old[1].committed_at) == [2, 1]
    assert fault(run) is None


def test_a_purge_leaves_nothing_but_the_knowledge_of_it(
    run: Execution, shared_clock: ManualClock
) -> None:
    made = run.grow(2)
    record_step(run.scope, run.fleet, Step(run.name, "pay", StepStatus.STARTED))
    shared_clock.advance()
    delete_it(run, purge=True)
    rows = dump_fleet(run.scope.store, 1, run.fleet)
    assert (rows["checkpoint"], rows["execution_step"]) == ([], [])
    assert run.head() is None
    for ask in (run.head, run.sequences):
        with pytest.raises(CheckpointRemoved):
            ask(made[1].committed_at)
    with pytest.raises(CheckpointRemoved):
        list_steps(run.scope, run.fleet, run.name, StepFilter(), 50, at=made[1].committed_at)


@pytest.mark.parametrize("statement", [update(checkpoint).values(codec=1), delete(checkpoint)])
def test_sqlite_guards_what_is_final(run: Execution, statement: Any) -> None:
    if run.scope.store._profile.name != "sqlite":
        pytest.skip("no such guard")
    run.grow(1)
    here = (checkpoint.c.tenant_id == 1, checkpoint.c.fleet_id == run.fleet)
    with pytest.raises(Exception, match="a checkpoint is final"):
        run.scope.store.write(
            1, run.fleet, lambda w: w.snapshot.connection.execute(statement.where(*here))
        )
    with run.scope.snapshot(run.fleet) as s:
        assert len(s.connection.execute(select(checkpoint.c.codec).where(*here)).all()) == 1

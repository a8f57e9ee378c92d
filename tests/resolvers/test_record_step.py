"""A step is entered once and finished once: whoever resumes learns what was done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrograph.resolvers.record_step import Recorded, Step, list_steps, record_step
from retrograph.rules.checkpoint_errors import StepKeyReused
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.checkpoint_records import StepRecord, StepStatus
from retrograph.storage.filters import StepFilter
from tests.clock import ManualClock
from tests.executions import Execution

STARTED, DONE, FAILED = StepStatus.STARTED, StepStatus.SUCCEEDED, StepStatus.FAILED


def tell(run: Execution, key: str = "pay", status: StepStatus = STARTED, **more: Any) -> Recorded:
    return record_step(run.scope, run.fleet, Step(run.name, key, status, **more))


def steps(
    run: Execution, sequence: int | None = None, prefix: str | None = None, at: int | None = None
) -> list[StepRecord]:
    filter = StepFilter(sequence, prefix)
    return list_steps(run.scope, run.fleet, run.name, filter, MAX_FIRST, None, at).rows


def test_the_life_of_a_step(run: Execution, shared_clock: ManualClock) -> None:
    run.grow(1)
    begun = tell(run, worker="w", name="pay the invoice")
    assert (begun.replayed, begun.step.status, begun.step.sequence) == (False, STARTED, 1)
    shared_clock.advance()
    done = tell(run, status=DONE, result={"receipt": [1]})
    assert (done.replayed, done.step.status) == (False, DONE)
    assert json.loads(done.step.result or "") == {"receipt": [1]}
    assert (done.step.name, done.step.worker) == ("pay the invoice", "w")
    assert done.step.started_at == begun.step.started_at < (done.step.finished_at or 0)
    assert steps(run) == [done.step]
    (then,) = steps(run, at=begun.step.started_at)
    assert (then.status, then.result, then.finished_at) == (STARTED, None, None)
    assert steps(run, at=begun.step.started_at - 1) == []


@pytest.mark.parametrize("status", [DONE, FAILED])
def test_what_a_step_has_come_to_is_not_done_again(run: Execution, status: StepStatus) -> None:
    first = tell(run, status=status, result="x" * 10_000)
    for again in (tell(run, worker="another"), tell(run, status=status, result="x" * 10_000)):
        assert again.replayed
        assert again.step.status == status
        assert again.step.result == first.step.result
    assert len(steps(run)) == 1


def test_a_worker_that_died_in_a_step_learns_that_it_began(run: Execution) -> None:
    tell(run)
    again = tell(run)
    assert (again.replayed, again.step.status) == (True, STARTED)


@pytest.mark.parametrize(
    "other",
    [
        {"status": DONE, "result": 2},
        {"status": DONE},
        {"status": FAILED, "result": 1},
        {"name": "other"},
        {"sequence": 0},
    ],
)
def test_a_key_is_one_steps(run: Execution, other: Any) -> None:
    run.grow(1)
    first = tell(run, status=DONE, result=1, name="pay").step
    with pytest.raises(StepKeyReused) as caught:
        tell(run, **other)
    assert caught.value.path == ("input", "key")
    (kept,) = steps(run)
    assert (kept.result, kept.finished_at) == (first.result, first.finished_at)


def test_steps_come_in_their_order_and_by_their_checkpoint(run: Execution) -> None:
    tell(run, "z")
    run.grow(2)
    tell(run, "a", sequence=1)
    tell(run, "b ", DONE)
    tell(run, "b")
    assert [(each.ordinal, each.key, each.sequence) for each in steps(run)] == [
        (1, "z", 0), (2, "a", 1), (3, "b ", 2), (4, "b", 2),
    ]  # fmt: skip
    assert [each.key for each in steps(run, 1)] == ["a"]
    page = list_steps(run.scope, run.fleet, run.name, StepFilter(), 2, 1)
    assert ([each.key for each in page.rows], page.has_next) == (["a", "b "], True)


def test_steps_are_found_by_how_their_keys_begin(run: Execution) -> None:
    run.grow(1)
    for key in ("pay/2", "pay/1 ", "pa", "pay", "Pay/3", "pay0", "päy/1"):
        tell(run, key)
    tell(run, "pay/late", sequence=0)
    assert [each.key for each in steps(run, None, "pay/")] == ["pay/2", "pay/1 ", "pay/late"]
    assert [each.key for each in steps(run, 0, "pay/")] == ["pay/late"]
    assert [each.key for each in steps(run, None, "pay/1 ")] == ["pay/1 "]
    assert [each.key for each in steps(run, None, "pä")] == ["päy/1"]
    assert len(steps(run, None, "")) == 8
    filter = StepFilter(key_prefix="pay/")
    page = list_steps(run.scope, run.fleet, run.name, filter, 1, 1)
    assert ([each.key for each in page.rows], page.has_next) == (["pay/1 "], True)


@pytest.mark.parametrize("prefix", ["x" * 1_001, "\0"])
def test_a_beginning_that_no_key_has_is_refused(run: Execution, prefix: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        steps(run, None, prefix)
    assert caught.value.path == ("keyPrefix",)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"key": ""}, "key"),
        ({"key": "x" * 1_001}, "key"),
        ({"name": " "}, "name"),
        ({"worker": "\0"}, "worker"),
        ({"sequence": 1}, "sequence"),
        ({"sequence": -1}, "sequence"),
        ({"result": 1}, "result"),
        ({"status": DONE, "result": float("nan")}, "result"),
    ],
)
def test_bad_reports_are_refused(run: Execution, more: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        tell(run, **more)
    assert caught.value.path[:2] == ("input", path)
    assert steps(run) == []


def test_an_unknown_fleet_has_no_ledger(run: Execution) -> None:
    with pytest.raises(NotFound):
        tell(Execution(run.scope, fleet=99_999))

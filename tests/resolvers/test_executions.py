"""Executions are listed as of any instant, and checkpoints are found by their tokens."""

from __future__ import annotations

import pytest

from retrograph.resolvers.checkpoints import get_committed, list_executions
from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.retain_checkpoints import Retention, delete_execution, retain_checkpoints
from retrograph.rules.checkpoint_errors import CheckpointRemoved
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.checkpoint_records import StepStatus
from tests.clock import ManualClock
from tests.executions import Execution


def named(run: Execution, prefix: str | None = None, at: int | None = None) -> list[str]:
    page = list_executions(run.scope, run.fleet, prefix, MAX_FIRST, None, at)
    return [each.key for each in page.rows]


def grown(run: Execution, *names: str) -> None:
    for name in names:
        Execution(run.scope, name, run.fleet).grow(1)


def test_executions_are_listed_with_their_heads(run: Execution) -> None:
    made = run.grow(2)
    record_step(run.scope, run.fleet, Step("begun", "pay", StepStatus.STARTED))
    page = list_executions(run.scope, run.fleet, None, MAX_FIRST)
    assert [(each.key, each.sequence) for each in page.rows] == [("run", 2), ("begun", 0)]
    assert page.rows[0].created_at == made[0].committed_at
    then = list_executions(run.scope, run.fleet, None, 1, None, made[0].committed_at)
    assert [(each.key, each.sequence) for each in then.rows] == [("run", 1)]
    assert {each.as_of for each in then.rows} == {made[0].committed_at}
    assert named(run, at=made[0].committed_at - 1) == []


def test_executions_are_found_by_how_their_names_begin(run: Execution) -> None:
    grown(run, "t/b", "t/a ", "t", "t0", "T/c", "tä")
    assert named(run, "t/") == ["t/b", "t/a "]
    assert named(run, "t/a ") == ["t/a "]
    assert named(run, "tä") == ["tä"]
    assert len(named(run, "")) == 6
    first = list_executions(run.scope, run.fleet, "t/", 1)
    rest = list_executions(run.scope, run.fleet, "t/", 1, first.rows[-1].id)
    assert ([each.key for each in rest.rows], first.has_next, rest.has_next) == (
        ["t/a "],
        True,
        False,
    )


@pytest.mark.parametrize(
    "prefix", ["[a]", "%", "_", "\\", "a ", "a\t", "\uffff", "\U0001f600", "x" * 450]
)
def test_no_character_of_a_beginning_stands_for_others(run: Execution, prefix: str) -> None:
    mine = [prefix, f"{prefix}\t", f"{prefix} b", f"{prefix}\uffff\uffff", f"{prefix}\U0001f600"]
    grown(run, *mine, "a", "ab", "b", prefix[:-1] + "y", f"y{prefix}")
    assert named(run, prefix) == mine


def test_what_was_deleted_is_listed_in_its_time(run: Execution, shared_clock: ManualClock) -> None:
    (made,) = run.grow(1)
    shared_clock.advance()
    delete_execution(run.scope, run.fleet, run.name, "me", "done with")
    assert named(run) == []
    assert named(run, "run", made.committed_at) == ["run"]


@pytest.mark.parametrize("prefix", ["x" * 1_001, "\ud800"])
def test_a_beginning_that_no_name_has_is_refused(run: Execution, prefix: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        named(run, prefix)
    assert caught.value.path == ("keyPrefix",)


def test_a_checkpoint_is_found_by_its_token(run: Execution, shared_clock: ManualClock) -> None:
    one = run.commit(0, "one").checkpoint
    shared_clock.advance()
    two = run.commit(1, "one ").checkpoint
    for token, made in {"one": one, "one ": two}.items():
        found = get_committed(run.scope, run.fleet, run.name, token)
        assert found is not None
        assert found.hash == made.hash
    assert get_committed(run.scope, run.fleet, run.name, "one ", one.committed_at) is None
    assert get_committed(run.scope, run.fleet, run.name, "none") is None
    assert get_committed(run.scope, run.fleet, "other", "one") is None


def test_a_token_of_what_retention_took_is_no_empty_answer(run: Execution) -> None:
    run.grow(3)
    retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old"))
    with pytest.raises(CheckpointRemoved):
        get_committed(run.scope, run.fleet, run.name, "token 1")
    assert get_committed(run.scope, run.fleet, run.name, "token 3") is not None


def test_a_token_that_none_can_be_is_refused(run: Execution) -> None:
    with pytest.raises(InvalidInput) as caught:
        get_committed(run.scope, run.fleet, run.name, " ")
    assert caught.value.path == ("idempotencyToken",)

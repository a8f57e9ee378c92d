"""An old state becomes a new head: the chain grows, and nothing of it is lost."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.resolvers.commit_checkpoint import Committed
from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.checkpoint_errors import CheckpointConflict, CheckpointRemoved, TokenReused
from retrograph.rules.errors import InvalidInput, NotFound
from tests.executions import Execution
from tests.memory import Memory, ref


def roll_back(run: Execution, to: int, token: str = "back", **more: Any) -> Committed:
    return rollback_execution(run.scope, run.fleet, Rollback(run.name, to, token, **more))


def test_the_old_state_is_the_new_head(run: Execution) -> None:
    Memory(run.scope, run.fleet).plant("a")
    (one,) = run.grow(1, based_on=[ref("a")], state_node="first")
    two = run.grow(1)[0]
    done = roll_back(run, 1)
    head = done.checkpoint
    assert not done.replayed
    assert (head.sequence, head.previous_hash) == (3, two.hash)
    assert (head.payload, head.state_node, head.based_on) == (
        one.payload, "first", one.based_on,
    )  # fmt: skip
    assert run.head() == head
    assert verify_checkpoints(run.scope, run.fleet, run.name).fault is None


def test_it_is_done_once(run: Execution) -> None:
    run.grow(2)
    first = roll_back(run, 1, expected_sequence=2)
    run.commit(3)
    again = roll_back(run, 1, expected_sequence=2)
    assert again.replayed
    assert again.checkpoint.hash == first.checkpoint.hash
    assert run.sequences() == [4, 3, 2, 1]


def test_it_is_answered_again_when_its_target_has_gone(run: Execution) -> None:
    run.grow(2)
    first = roll_back(run, 1)
    retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old", 1))
    again = roll_back(run, 1)
    assert again.replayed
    assert again.checkpoint.hash == first.checkpoint.hash
    with pytest.raises(CheckpointRemoved):
        roll_back(run, 1, "new")
    with pytest.raises(TokenReused):
        roll_back(run, 1, expected_sequence=1)
    assert run.sequences() == [3]


@pytest.mark.parametrize(
    ("request_", "error", "path"),
    [
        ({"to": 2}, TokenReused, "idempotencyToken"),
        ({"to": 1, "expected_sequence": 1}, TokenReused, "idempotencyToken"),
        ({"to": 1, "token": "new", "expected_sequence": 2}, CheckpointConflict, "expectedSequence"),
        ({"to": 4, "token": "new"}, NotFound, "toSequence"),
        ({"to": 0, "token": "new"}, InvalidInput, "toSequence"),
        ({"to": 1, "token": ""}, InvalidInput, "idempotencyToken"),
    ],
)
def test_refusals(run: Execution, request_: Any, error: type[Exception], path: str) -> None:
    run.grow(2)
    roll_back(run, 1)
    with pytest.raises(error) as caught:
        roll_back(run, **request_)
    assert caught.value.path == ("input", path)  # type: ignore[attr-defined]
    assert run.sequences() == [3, 2, 1]


def test_an_execution_must_be_there(run: Execution) -> None:
    with pytest.raises(NotFound) as caught:
        roll_back(run, 1)
    assert caught.value.path == ("input", "executionId")

"""A commit goes behind the head that it expects, once, and is read back exactly at any instant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from retrograph.resolvers.checkpoints import list_checkpoints
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.rules.checkpoint_errors import CheckpointConflict, TokenReused
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.rules.limits import MAX_PAYLOAD_BYTES
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.outbox import page_events
from retrograph.storage.payload_codec import DEFLATED_FROM
from retrograph.storage.records import EventType, NodeRef
from tests.clock import ManualClock
from tests.dump import dump_fleet
from tests.executions import Execution
from tests.memory import NEW, Memory, ref


@pytest.fixture
def unchanged(run: Execution) -> Iterator[None]:
    """What is refused has written nothing."""
    run.grow(2)
    before = dump_fleet(run.scope.store, 1, run.fleet)
    yield
    assert dump_fleet(run.scope.store, 1, run.fleet) == before


def test_commits_make_a_chain(run: Execution) -> None:
    one, two = run.grow(2)
    assert (one.sequence, one.previous_hash) == (1, None)
    assert (two.sequence, two.previous_hash) == (2, one.hash)
    assert run.head() == two
    assert two.as_of == two.committed_at == run.scope.clock(run.fleet)
    assert run.sequences() == [2, 1]


def test_an_execution_that_never_was_has_no_checkpoint(run: Execution) -> None:
    assert run.head() is None
    assert run.get(1) is None
    assert run.sequences() == []


def test_the_past_of_an_execution_stays_as_it_was(
    run: Execution, shared_clock: ManualClock
) -> None:
    made = []
    for sequence in range(3):
        made.append(run.commit(sequence).checkpoint)
        shared_clock.advance()
    for each in made:
        at = each.committed_at
        assert run.head(at) == each
        assert run.sequences(at) == list(range(each.sequence, 0, -1))
        before = run.head(at - 1)
        assert (0 if before is None else before.sequence) == each.sequence - 1
    found = run.get(1, made[2].committed_at)
    assert found is not None
    assert (found.sequence, found.as_of) == (1, made[2].committed_at)
    assert run.get(3, made[1].committed_at) is None


def test_a_page_goes_on_behind_a_sequence(run: Execution) -> None:
    run.grow(5)
    page = list_checkpoints(run.scope, run.fleet, run.name, 2, 4)
    assert ([each.sequence for each in page.rows], page.has_next) == ([3, 2], True)
    assert not list_checkpoints(run.scope, run.fleet, run.name, 2, 3).has_next


def test_executions_keep_apart(run: Execution) -> None:
    names = ("a", "A", "a ", "ä", "a" * 1_000)
    for number, name in enumerate(names, 1):
        Execution(run.scope, name, run.fleet).grow(number, token="same" if number == 1 else None)
    heads = [Execution(run.scope, name, run.fleet).sequences()[0] for name in names]
    assert heads == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("expected", [0, 1, 3, -1, 2**63 - 1])
def test_another_head_than_the_expected_is_told(
    run: Execution, unchanged: None, expected: int
) -> None:
    with pytest.raises(CheckpointConflict) as caught:
        run.commit(expected, "new", payload=1)
    assert (caught.value.head, caught.value.code) == (2, "CHECKPOINT_CONFLICT")
    assert caught.value.path == ("input", "expectedSequence")


def test_a_first_commit_expects_nothing(run: Execution) -> None:
    with pytest.raises(CheckpointConflict, match="expectedSequence 0") as caught:
        run.commit(1)
    assert caught.value.head == 0
    with pytest.raises(CheckpointConflict):
        run.commit(0, expected_hash="0" * 64)


def test_the_hash_of_the_head_can_be_expected_too(run: Execution, unchanged: None) -> None:
    with pytest.raises(CheckpointConflict, match="its hash as expectedHash") as caught:
        run.commit(2, expected_hash="0" * 64)
    assert "expectedSequence" not in caught.value.message
    assert caught.value.path == ("input", "expectedHash")


def test_the_expected_hash_lets_through(run: Execution) -> None:
    (one,) = run.grow(1)
    assert run.commit(1, expected_hash=one.hash).checkpoint.sequence == 2


def test_the_same_commit_is_made_once(run: Execution) -> None:
    first = run.commit(0)
    run.commit(1)
    again = run.commit(0)
    assert (first.replayed, again.replayed) == (False, True)
    assert again.checkpoint.hash == first.checkpoint.hash
    assert run.sequences() == [2, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"payload": {"step": 3}},
        {"session_id": "other"},
        {"state_node": "other"},
        {"schema_version": "2"},
        {"expected_hash": "0" * 64},
        {"based_on": [NodeRef(id=1)]},
        {"based_on": [NodeRef(key="unknown")]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_another_commit_with_a_token_is_refused(run: Execution, unchanged: None, more: Any) -> None:
    with pytest.raises(TokenReused) as caught:
        run.commit(1, **more)
    assert caught.value.path == ("input", "idempotencyToken")


def test_a_token_that_expects_another_head_is_another_commit(
    run: Execution, unchanged: None
) -> None:
    with pytest.raises(TokenReused):
        run.commit(2, "token 2", payload={"step": 2})


def test_what_it_was_based_on_is_kept_in_order_and_once(run: Execution) -> None:
    memory = Memory(run.scope, run.fleet)
    a, b = memory.plant("a", "b")
    asked: dict[str, Any] = {"based_on": [ref("b"), NodeRef(id=a), ref("a")]}
    done = run.commit(0, **asked)
    assert done.checkpoint.based_on == (a, b)
    assert run.head() == done.checkpoint
    assert run.commit(0, **asked).replayed


def test_a_commit_is_known_again_when_its_nodes_have_left(run: Execution) -> None:
    memory = Memory(run.scope, run.fleet)
    memory.plant("stays")
    to = run.scope.clock(run.fleet)
    made = memory.put(NodeInput("gone", kind=NEW)).nodes[0].id
    asked: dict[str, Any] = {"based_on": [ref("gone"), NodeRef(id=made), ref("stays")]}
    run.commit(0, **asked)
    confirm = confirmation(run.fleet, to)
    rewind_fleet(run.scope, run.fleet, Rewind(to, dry_run=False, confirm=confirm))
    assert run.commit(0, **asked).replayed
    with pytest.raises(NotFound):
        run.commit(1, **asked)


def test_an_unknown_node_or_fleet_is_not_found(run: Execution, unchanged: None) -> None:
    with pytest.raises(NotFound) as caught:
        run.commit(2, based_on=[ref("nobody")])
    assert caught.value.path == ("input", "basedOn", "0", "key")
    with pytest.raises(NotFound):
        Execution(run.scope, fleet=99_999).commit(0)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"session_id": ""}, "sessionId"),
        ({"session_id": "\0"}, "sessionId"),
        ({"state_node": "x" * 1_001}, "stateNode"),
        ({"schema_version": " "}, "schemaVersion"),
        ({"token": "\ud800"}, "idempotencyToken"),
        ({"payload": float("nan")}, "payload"),
        ({"payload": [2**53]}, "payload"),
        ({"payload": {"a": 9007199254740993.0}}, "payload"),
        ({"payload": -9.1e15}, "payload"),
        ({"payload": {"\ud800": 1}}, "payload"),
        ({"payload": "x" * MAX_PAYLOAD_BYTES}, "payload"),
        ({"based_on": [NodeRef()]}, "basedOn"),
        ({"based_on": [NodeRef(id=1)] * 1_001}, "basedOn"),
    ],
)
def test_what_can_not_be_stored_is_refused(
    run: Execution, unchanged: None, more: Any, path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        run.commit(2, **more)
    assert caught.value.path[:2] == ("input", path)


def test_a_limit_of_bytes_may_be_set(run: Execution) -> None:
    """Of the canonical text; what was committed under another limit is still read."""
    run.commit(0, payload="x" * 99)
    small = replace(run, scope=replace(run.scope, checkpoint_bytes=100))
    small.commit(1, payload="x" * 98)
    with pytest.raises(InvalidInput) as caught:
        small.commit(2, payload="x" * 99)
    assert (caught.value.code, caught.value.path) == ("PAYLOAD_TOO_LARGE", ("input", "payload"))
    paid = Step(run.name, "paid", StepStatus.SUCCEEDED, result="x" * 99)
    with pytest.raises(InvalidInput) as caught:
        record_step(small.scope, run.fleet, paid)
    assert (caught.value.code, caught.value.path) == ("PAYLOAD_TOO_LARGE", ("input", "result"))
    first = small.get(1)
    assert first is not None
    assert json.loads(first.payload) == "x" * 99


@pytest.mark.parametrize("name", ["", " ", "\0", "\ud800", "x" * 1_001])
def test_names_of_executions_are_checked_wherever_they_are_given(run: Execution, name: str) -> None:
    wrong = Execution(run.scope, name, run.fleet)
    for ask in (lambda: wrong.commit(0), wrong.head, wrong.sequences):
        with pytest.raises(InvalidInput):
            ask()


@pytest.mark.parametrize("sequence", [0, -1])
def test_sequences_begin_with_one(run: Execution, sequence: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        run.get(sequence)
    assert caught.value.path == ("sequence",)


@pytest.mark.parametrize(
    "payload",
    [
        "",
        {"b": 1, "a": [0.1, -0.0, 1e-7, True, '\u2028😀\\"\b'], "ä": {"": {}}, "😀": 1},
        "x" * (MAX_PAYLOAD_BYTES - 2),
        ["text", *range(DEFLATED_FROM)],
        [n * 7919 % 9973 / 9973 for n in range(2_000)],
    ],
    ids=["empty", "texts", "most", "deflated", "numbers"],
)
def test_a_payload_comes_back_exactly(run: Execution, payload: Any) -> None:
    run.commit(0, payload=payload)
    head = run.head()
    assert head is not None
    assert json.loads(head.payload) == payload


def test_null_is_no_payload(run: Execution) -> None:
    with pytest.raises(InvalidInput, match="not null") as caught:
        run.commit(0, payload=None)
    assert caught.value.path == ("input", "payload")


def test_a_commit_is_told(run: Execution) -> None:
    (made,) = run.grow(1)
    run.commit(0)
    with run.scope.snapshot(run.fleet) as snapshot:
        (told,) = page_events(snapshot, frozenset({EventType.CHECKPOINT_COMMITTED}), None, 50).rows
    assert told.at == made.committed_at
    assert told.detail is not None
    assert json.loads(told.detail) == {
        "executionId": "run", "sequence": "1", "stateNode": "plan", "hash": made.hash,
    }  # fmt: skip

"""Checkpoints through GraphQL: committed, conflicting, read at any instant, told, and stale."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrograph.rules.instant import format_instant
from retrograph.rules.validity import Validity
from tests.executions import Execution
from tests.memory import Memory, ref
from tests.schema.serving import Served

HEAD = """executionId sessionId sequence stateNode payload schemaVersion storedSchemaVersion
    idempotencyToken hash previousHash committedAt asOf basedOn { key } staleReads { key validity
        staleness { run { reason } path { key } } }"""
COMMIT = f"""mutation ($input: CommitCheckpointInput!) {{ commitCheckpoint(input: $input) {{
    __typename ... on CheckpointCommitted {{ replayed checkpoint {{ {HEAD} }} }}
    ... on CheckpointConflict {{ head {{ {HEAD} }} }}
    ... on UserError {{ code message path }} }} }}"""
ONE = f"""query ($id: String! = "run", $sequence: Long, $asOf: DateTime) {{
    checkpoint(fleetId: 1, executionId: $id, sequence: $sequence, asOf: $asOf) {{ {HEAD} }} }}"""
LIST = """query ($after: String, $asOf: DateTime) {
    checkpoints(fleetId: 1, executionId: "run", first: 2, after: $after, asOf: $asOf) {
        nodes { sequence } pageInfo { endCursor hasNextPage } } }"""
EVENTS = """{ events(fleetId: 1, types: [CHECKPOINT_COMMITTED]) { nodes {
    at detail checkpoint { sequence hash asOf staleReads { key } } } } }"""

HEARD = """subscription { events(fleetId: 1, types: [CHECKPOINT_COMMITTED], after: "0-0") {
    detail checkpoint { sequence payload } } }"""


def only(answer: Any) -> Any:
    (found,) = answer.data.values()
    return found


def commit(served: Served, expected: object, **more: Any) -> Any:
    given = {
        "fleetId": 1,
        "executionId": "run",
        "sessionId": "s",
        "expectedSequence": expected,
        "stateNode": "plan",
        "payload": {"step": [1, 2.5, None]},
        "schemaVersion": "1",
        "idempotencyToken": f"token {expected}",
    }
    return only(served.ask(COMMIT, input=given | more))


def test_a_commit_and_its_replay(served: Served, memory: Memory) -> None:
    memory.plant("a", "b")
    based = {"basedOn": [{"key": "b"}, {"key": "a"}]}
    first = commit(served, "0", **based)
    made = first["checkpoint"]
    assert first["__typename"] == "CheckpointCommitted"
    assert made["sequence"] == "1"
    assert made["payload"] == {"step": [1, 2.5, None]}
    assert made["schemaVersion"] == made["storedSchemaVersion"] == "1"
    assert [each["key"] for each in made["basedOn"]] == ["a", "b"]
    assert made["asOf"] == made["committedAt"]
    again = commit(served, 0, **based)
    assert again["replayed"]
    assert again["checkpoint"]["hash"] == made["hash"]
    assert only(served.ask(ONE)) == {**made, "asOf": again["checkpoint"]["asOf"]}


def test_a_conflict_names_the_head(served: Served, memory: Memory) -> None:
    first = commit(served, "3")
    assert (first["__typename"], first["head"]) == ("CheckpointConflict", None)
    commit(served, "0")
    two = commit(served, "1")["checkpoint"]
    lost = commit(served, "1", idempotencyToken="late")
    assert lost["code"] == "CHECKPOINT_CONFLICT"
    assert lost["path"] == ["input", "expectedSequence"]
    assert (lost["head"]["sequence"], lost["head"]["hash"]) == ("2", two["hash"])


@pytest.mark.parametrize(
    ("more", "code", "path"),
    [
        ({"payload": 1}, "TOKEN_REUSED", ["input", "idempotencyToken"]),
        ({"fleetId": 2}, "NOT_FOUND", ["input", "fleetId"]),
        ({"basedOn": [{"id": "7"}]}, "TOKEN_REUSED", ["input", "idempotencyToken"]),
        ({"idempotencyToken": ""}, "BAD_USER_INPUT", ["input", "idempotencyToken"]),
        ({"payload": 2**53}, "BAD_USER_INPUT", ["input", "payload"]),
        ({"payload": "x" * 2**20}, "PAYLOAD_TOO_LARGE", ["input", "payload"]),
    ],
)
def test_refusals_are_typed(
    served: Served, memory: Memory, more: Any, code: str, path: list[str]
) -> None:
    commit(served, "0")
    refused = commit(served, "0", **more)
    assert (refused["code"], refused["path"]) == (code, path)


@pytest.mark.parametrize("wrong", ["01", "+1", 1.5, True, 2**63, "", "x", -(2**63) - 1])
def test_what_is_no_long_is_refused(served: Served, memory: Memory, wrong: Any) -> None:
    answer = served.ask(ONE, sequence=wrong)
    assert answer.code == "BAD_USER_INPUT"
    assert "64-bit integer" in answer.error["message"]


def test_a_long_is_a_string_or_a_number(served: Served, memory: Memory) -> None:
    commit(served, "0")
    for given in ("1", 1):
        assert only(served.ask(ONE, sequence=given))["sequence"] == "1"
    literal = '{ checkpoint(fleetId: 1, executionId: "run", sequence: 1) { sequence } }'
    assert only(served.ask(literal))["sequence"] == "1"
    assert only(served.ask(ONE, sequence=str(2**63 - 1))) is None


def test_pages_go_on_at_the_instant_of_their_cursor(served: Served, memory: Memory) -> None:
    Execution(memory.scope).grow(3)
    page = only(served.ask(LIST))
    assert [each["sequence"] for each in page["nodes"]] == ["3", "2"]
    Execution(memory.scope).grow(1)
    rest = only(served.ask(LIST, after=page["pageInfo"]["endCursor"]))
    assert [each["sequence"] for each in rest["nodes"]] == ["1"]
    assert not rest["pageInfo"]["hasNextPage"]


def test_the_past_is_read_as_of_an_instant(served: Served, memory: Memory) -> None:
    made = Execution(memory.scope).grow(2)
    at = format_instant(made[0].committed_at)
    found = only(served.ask(ONE, asOf=at))
    assert (found["sequence"], found["asOf"]) == ("1", at)
    assert only(served.ask(ONE, asOf=format_instant(made[0].committed_at - 1))) is None
    assert [each["sequence"] for each in only(served.ask(LIST, asOf=at))["nodes"]] == ["1"]


def test_stale_reads_name_what_felled_them(served: Served, memory: Memory) -> None:
    memory.plant("rule", "fact", "sound")
    memory.link("rule DERIVED_FROM fact")
    run = Execution(memory.scope)
    (made,) = run.grow(1, based_on=[ref("fact"), ref("sound")])
    assert only(served.ask(ONE))["staleReads"] == []
    memory.fell("rule", reason="New law")
    (stale,) = only(served.ask(ONE))["staleReads"]
    assert stale == {
        "key": "fact",
        "validity": Validity.DEFINITELY_STALE.name,
        "staleness": {"run": {"reason": "New law"}, "path": [{"key": "rule"}, {"key": "fact"}]},
    }
    assert only(served.ask(ONE, asOf=format_instant(made.committed_at)))["staleReads"] == []


def test_commits_are_told_with_their_checkpoints(served: Served, memory: Memory) -> None:
    memory.plant("fact")
    made = Execution(memory.scope).grow(2, based_on=[ref("fact")])
    other = Execution(memory.scope, "other").grow(1)
    memory.fell("fact")
    told = only(served.ask(EVENTS))["nodes"]
    assert [each["checkpoint"]["hash"] for each in told] == [each.hash for each in (*made, *other)]
    assert [each["checkpoint"]["asOf"] for each in told] == [each["at"] for each in told]
    assert all(each["checkpoint"]["staleReads"] == [] for each in told)
    assert told[0]["detail"]["executionId"] == "run"


def test_a_subscription_hears_of_commits(server: Any, memory: Memory) -> None:
    with server.socket() as socket:
        Execution(memory.scope).grow(1)
        socket.subscribe("1", HEARD)
        told = socket.hear()["payload"]["data"]["events"]
    assert told["checkpoint"] == {"sequence": "1", "payload": {"step": 1}}
    assert json.dumps(told["detail"]).count("run") == 1

"""Executions through GraphQL: chains verified, steps recorded, old states back or gone."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.instant import format_instant
from retrograph.storage.store import Store
from tests.executions import Execution
from tests.memory import Memory
from tests.schema.serving import Served, serving
from tests.schema.test_checkpoints import ONE, commit, only
from tests.schema.tokens import bearer, tokens

ANCHOR = """sequence checkpointHash committedAt beganAt removedAt removedBy reason previousHash
    hash"""
VERIFY = f"""query ($head: ChainHeadInput) {{
    verifyCheckpoints(fleetId: 1, executionId: "run", expectedHead: $head) {{
        valid checked asOf head {{ sequence hash }} fault {{ sequence kind }}
        anchor {{ {ANCHOR} }} }} }}"""
LEDGER = """query ($head: ChainHeadInput) {
    verifyCheckpoints(fleetId: 1, executionId: "run", expectedLedger: $head) { valid fault { kind }
        head { sequence } erased
        ledger { checked erased head { sequence hash } fault { sequence kind } } } }"""
ERASE = """mutation ($input: EraseCheckpointsInput!) { eraseCheckpoints(input: $input) { __typename
    ... on UserError { code path } ... on CheckpointsErased { instant checkpoints steps } } }"""
ERROR = "__typename ... on UserError { code path }"
ROLLBACK = f"""mutation ($input: RollbackExecutionInput!) {{ rollbackExecution(input: $input) {{
    {ERROR} ... on CheckpointConflict {{ head {{ sequence }} }}
    ... on CheckpointCommitted {{ replayed checkpoint {{ sequence payload }} }} }} }}"""
STEP = f"""mutation ($input: RecordStepInput!) {{ recordStep(input: $input) {{
    {ERROR} ... on StepRecorded {{ replayed step {{ executionId key sequence name worker status
        result startedAt finishedAt asOf }} }} }} }}"""
STEPS = """query ($sequence: Long, $after: String, $asOf: DateTime) {
    steps(fleetId: 1, executionId: "run", sequence: $sequence, first: 2, after: $after,
        asOf: $asOf) { nodes { key status result } pageInfo { endCursor hasNextPage } } }"""
EXECUTIONS = """query ($prefix: String, $after: String) {
    executions(fleetId: 1, keyPrefix: $prefix, first: 1, after: $after) {
        nodes { executionId sequence createdAt asOf } pageInfo { endCursor hasNextPage } } }"""
BY_TOKEN = """query ($token: String!, $sequence: Long, $asOf: DateTime) {
    checkpoint(fleetId: 1, executionId: "run", idempotencyToken: $token, sequence: $sequence,
        asOf: $asOf) { hash } }"""
BELOW = """query ($before: Long, $after: String) {
    checkpoints(fleetId: 1, executionId: "run", before: $before, first: 2, after: $after) {
        nodes { sequence } pageInfo { endCursor } } }"""
PREFIXED = """query ($prefix: String) {
    steps(fleetId: 1, executionId: "run", keyPrefix: $prefix) { nodes { key erased result } } }"""
RETAIN = f"""mutation ($input: RetainCheckpointsInput!) {{ retainCheckpoints(input: $input) {{
    {ERROR} ... on CheckpointsRetained {{ instant removed anchor {{ {ANCHOR} }} }} }} }}"""
DELETE = f"""mutation ($input: DeleteExecutionInput!) {{ deleteExecution(input: $input) {{
    {ERROR} ... on ExecutionDeleted {{ instant head {{ sequence }} }} }} }}"""


def tell(served: Served, document: str, **more: Any) -> Any:
    return only(served.ask(document, input={"fleetId": 1, "executionId": "run"} | more))


def test_a_chain_is_verified(served: Served, memory: Memory) -> None:
    head = Execution(memory.scope).grow(2)[-1]
    found = only(served.ask(VERIFY))
    assert found == {
        "valid": True, "checked": "2", "asOf": format_instant(head.as_of), "fault": None,
        "anchor": None, "head": {"sequence": "2", "hash": head.hash},
    }  # fmt: skip
    lost = only(served.ask(VERIFY, head={"sequence": "3", "hash": head.hash}))
    assert (lost["valid"], lost["fault"]) == (False, {"sequence": "3", "kind": "LOST_TAIL"})


def test_a_ledger_is_verified(served: Served, memory: Memory) -> None:
    assert not tell(served, STEP, key="pay", status="STARTED")["replayed"]
    assert not tell(served, STEP, key="pay", status="SUCCEEDED", result=[1])["replayed"]
    found = only(served.ask(LEDGER))
    assert (found["valid"], found["head"]) == (True, None)
    head = found["ledger"]["head"]
    assert (found["ledger"]["checked"], head["sequence"]) == ("2", "2")
    assert only(served.ask(LEDGER, head=head))["valid"]
    lost = only(served.ask(LEDGER, head=head | {"sequence": "3"}))
    assert (lost["valid"], lost["fault"]) == (False, None)
    assert lost["ledger"]["fault"] == {"sequence": "3", "kind": "LOST_TAIL"}
    early = served.ask(LEDGER, head=head | {"sequence": "0"})
    assert early.code == "BAD_USER_INPUT"


def test_what_can_not_be_verified_is_an_error(served: Served, memory: Memory) -> None:
    assert served.ask(VERIFY).code == "NOT_FOUND"
    head = {"sequence": "0", "hash": ""}
    assert served.ask(VERIFY, head=head).code == "BAD_USER_INPUT"


def test_an_old_state_comes_back(served: Served, memory: Memory) -> None:
    Execution(memory.scope).grow(2)
    asked = {"toSequence": "1", "idempotencyToken": "back", "expectedSequence": 2}
    done = tell(served, ROLLBACK, **asked)
    assert done["checkpoint"] == {"sequence": "3", "payload": {"step": 1}}
    assert tell(served, ROLLBACK, **asked)["replayed"]
    lost = tell(served, ROLLBACK, **asked | {"idempotencyToken": "late"})
    assert (lost["code"], lost["head"]) == ("CHECKPOINT_CONFLICT", {"sequence": "3"})


def test_a_step_is_done_once(served: Served, memory: Memory) -> None:
    begun = tell(served, STEP, key="pay", status="STARTED", worker="w", name="pay it")
    assert (begun["replayed"], begun["step"]["status"]) == (False, "STARTED")
    done = tell(served, STEP, key="pay", status="SUCCEEDED", result={"receipt": 7})
    again = tell(served, STEP, key="pay", status="STARTED")
    assert again["replayed"]
    assert again["step"]["result"] == done["step"]["result"] == {"receipt": 7}
    assert again["step"]["finishedAt"] == done["step"]["finishedAt"]
    other = tell(served, STEP, key="pay", status="FAILED")
    assert (other["code"], other["path"]) == ("STEP_KEY_REUSED", ["input", "key"])
    (then,) = only(served.ask(STEPS, asOf=begun["step"]["asOf"]))["nodes"]
    assert then == {"key": "pay", "status": "STARTED", "result": None}


def test_steps_are_listed_by_page_and_by_checkpoint(served: Served, memory: Memory) -> None:
    tell(served, STEP, key="a", status="SUCCEEDED")
    Execution(memory.scope).grow(1)
    for key in ("b", "c"):
        tell(served, STEP, key=key, status="SUCCEEDED")
    page = only(served.ask(STEPS))
    rest = only(served.ask(STEPS, after=page["pageInfo"]["endCursor"]))
    keys = [each["key"] for each in (*page["nodes"], *rest["nodes"])]
    assert (keys, rest["pageInfo"]["hasNextPage"]) == (["a", "b", "c"], False)
    assert [each["key"] for each in only(served.ask(STEPS, sequence="1"))["nodes"]] == ["b", "c"]


def test_what_went_is_told(served: Served, memory: Memory) -> None:
    made = Execution(memory.scope).grow(3)
    asked = {"by": "me", "reason": "old", "keepLast": "1"}
    assert tell(served, RETAIN, **asked, dryRun=True)["removed"] == "2"
    done = tell(served, RETAIN, **asked)
    assert (done["removed"], done["anchor"]["sequence"]) == ("2", "2")
    assert done["anchor"]["checkpointHash"] == made[1].hash
    found = only(served.ask(VERIFY))
    assert (found["valid"], found["checked"], found["anchor"]) == (True, "1", done["anchor"])
    gone = served.ask(ONE, sequence="1")
    assert (gone.code, gone.body["data"]) == ("CHECKPOINT_REMOVED", {"checkpoint": None})
    back = tell(served, ROLLBACK, toSequence="1", idempotencyToken="back")
    assert (back["__typename"], back["code"]) == ("NotFound", "CHECKPOINT_REMOVED")
    events = "{ events(fleetId: 1) { nodes { checkpoint { sequence } } } }"
    told = only(served.ask(events))["nodes"]
    assert [each["checkpoint"] for each in told] == [None, None, {"sequence": "3"}]


def test_content_is_erased(served: Served, memory: Memory) -> None:
    Execution(memory.scope).grow(3)
    assert not tell(served, STEP, key="pay", status="SUCCEEDED", result=[1])["replayed"]
    done = tell(served, ERASE, by="me", reason="asked", sequences=["1", 2], stepKeys=["pay"])
    assert (done["checkpoints"], done["steps"]) == ("2", "1")
    found = only(served.ask(LEDGER))
    assert (found["valid"], found["erased"], found["ledger"]["erased"]) == (True, "2", "1")
    assert served.ask(ONE, sequence="1").code == "CHECKPOINT_REMOVED"
    gone = only(served.ask(PREFIXED, prefix="pay"))["nodes"]
    assert gone == [{"key": "pay", "erased": True, "result": None}]
    events = "{ events(fleetId: 1) { nodes { checkpoint { sequence } } } }"
    told = only(served.ask(events))["nodes"]
    assert [each["checkpoint"] for each in told] == [None, None, {"sequence": "3"}]
    head = tell(served, ERASE, by="me", reason="asked", sequences=["3"])
    assert (head["__typename"], head["path"]) == ("InvalidInput", ["input", "sequences"])


def test_an_execution_is_deleted(served: Served, memory: Memory) -> None:
    made = Execution(memory.scope).grow(2)[-1]
    done = tell(served, DELETE, by="me", reason="done with")
    assert done["head"] == {"sequence": "2"}
    assert only(served.ask(ONE)) is None
    then = only(served.ask(ONE, asOf=format_instant(made.committed_at)))
    assert then["hash"] == made.hash
    assert tell(served, DELETE, by="me", reason="again")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("document", [RETAIN, DELETE])
def test_removal_takes_an_administrator(store: Store, document: str) -> None:
    with serving(create_app(store, identify=tokens())) as served:
        asked = {"fleetId": 1, "executionId": "run", "by": "me", "reason": "x"}
        body = {"query": document, "variables": {"input": asked}}
        answer = served.client.post("/graphql", json=body, headers=bearer(roles=["CONTROLLER"]))
        assert answer.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"


HOSTILE = (
    '{"a": NaN}', '{"a": 1e400}', "9007199254740992", "9007199254740993.0", "-9.1e15",
    "900719925474099300e-2", "123456789012345678901234567890", '"\\ud800"', '{"\\udfff": 1}',
    '{"a": 1, "a": 2}', '"\\u0000"', "[" * 201 + "]" * 201, "[" * 5_000 + "]" * 5_000,
    '"' + "x" * 1_048_576 + '"', "9007199254740991", "-0.0", "5e-324", '{"\\u00e9": "e\\u0301"}',
    "1.0", "[1e15, 0.1, 1E-7]", '"' + "x" * 1_048_574 + '"', '{"__proto__": {}}',
)  # fmt: skip
"""Payloads as texts of a request: what parsers differ about, and what lies at the limits."""


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_payload_is_refused_or_verifies(
    served: Served, memory: Memory, payload: str
) -> None:
    given = """{"fleetId": 1, "executionId": "run", "sessionId": "s", "expectedSequence": 0,
        "stateNode": "n", "schemaVersion": "1", "idempotencyToken": "t", "payload": %s}"""
    document = """mutation ($input: CommitCheckpointInput!) { commitCheckpoint(input: $input) {
        __typename ... on CheckpointCommitted { checkpoint { payload } } } }"""
    asked = '{"query": "%s", "variables": {"input": %s}}'
    body = asked % (document.replace("\n", " "), given % payload)
    headers = {"content-type": "application/json"}
    answer = served.client.post("/graphql", content=body.encode(), headers=headers)
    assert answer.status_code < 500
    head = Execution(memory.scope).head()
    if head is None:
        told = answer.json()
        assert "errors" in told or told["data"]["commitCheckpoint"]["__typename"] == "InvalidInput"
        return
    shown = answer.json()["data"]["commitCheckpoint"]["checkpoint"]["payload"]
    assert canonical_json(shown) == head.payload
    assert only(served.ask(VERIFY))["valid"]


def test_duplicate_keys_are_stored_as_one(served: Served, memory: Memory) -> None:
    """The last one counts, as JSON readers have it; a literal with both is no document."""
    twice = """mutation { commitCheckpoint(input: {fleetId: 1, executionId: "run", sessionId: "s",
        expectedSequence: 0, stateNode: "n", schemaVersion: "1", idempotencyToken: "t",
        payload: {a: 1, a: 2}}) { __typename } }"""
    assert served.ask(twice).code == "GRAPHQL_VALIDATION_FAILED"
    assert commit(served, 0, payload={"a": 2})["checkpoint"]["payload"] == {"a": 2}


def test_executions_are_listed_by_page(served: Served, memory: Memory) -> None:
    for name in ("t/a", "t/b", "u"):
        Execution(memory.scope, name).grow(2)
    page = only(served.ask(EXECUTIONS, prefix="t/"))
    assert [(each["executionId"], each["sequence"]) for each in page["nodes"]] == [("t/a", "2")]
    assert page["nodes"][0]["createdAt"] < page["nodes"][0]["asOf"]
    behind = page["pageInfo"]["endCursor"]
    rest = only(served.ask(EXECUTIONS, prefix="t/", after=behind))
    assert [each["executionId"] for each in rest["nodes"]] == ["t/b"]
    assert not rest["pageInfo"]["hasNextPage"]
    assert served.ask(EXECUTIONS, prefix="u", after=behind).code == "INVALID_CURSOR"


def test_a_checkpoint_is_found_by_its_token(served: Served, memory: Memory) -> None:
    made = Execution(memory.scope).grow(2)
    assert only(served.ask(BY_TOKEN, token="token 1"))["hash"] == made[0].hash
    assert only(served.ask(BY_TOKEN, token="none")) is None
    at = format_instant(made[0].committed_at)
    assert only(served.ask(BY_TOKEN, token="token 2", asOf=at)) is None
    both = served.ask(BY_TOKEN, token="token 1", sequence="1")
    assert (both.code, both.error["extensions"]["path"]) == (
        "BAD_USER_INPUT",
        ["idempotencyToken"],
    )


def test_checkpoints_below_a_sequence_are_listed(served: Served, memory: Memory) -> None:
    Execution(memory.scope).grow(4)
    page = only(served.ask(BELOW, before="4"))
    assert [each["sequence"] for each in page["nodes"]] == ["3", "2"]
    behind = page["pageInfo"]["endCursor"]
    rest = only(served.ask(BELOW, before="4", after=behind))
    assert [each["sequence"] for each in rest["nodes"]] == ["1"]
    assert served.ask(BELOW, before="3", after=behind).code == "INVALID_CURSOR"
    assert only(served.ask(BELOW, before="1"))["nodes"] == []


def test_steps_are_found_by_how_their_keys_begin(served: Served, memory: Memory) -> None:
    for key in ("a/1", "b/1", "a/2"):
        tell(served, STEP, key=key, status="SUCCEEDED")
    found = only(served.ask(PREFIXED, prefix="a/"))["nodes"]
    assert [each["key"] for each in found] == ["a/1", "a/2"]

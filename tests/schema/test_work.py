"""Work through GraphQL: tasks are listed, claimed, completed, put off, and nodes are repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.rules.instant import format_instant
from retrograph.rules.validity import Validity
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.memory import Memory
from tests.planting import fleet_of, plant_case
from tests.schema.serving import Served, serving
from tests.schema.tokens import bearer, tokens
from tests.shared import shared

TASK = """id status attempt priority leaseToken leasedBy leaseExpiresAt notBefore asOf
    node { id key validity } run { reason } path { key } standingSupporters { key }
    evidence { uri } blockedBy { id status node { key } }"""
CLAIM = f"""mutation ($fleet: ID! = 1, $limit: Int! = 100, $seconds: Int! = 60) {{
    claimRevalidations(input: {{fleetId: $fleet, worker: "w", limit: $limit,
        leaseSeconds: $seconds}}) {{ ... on RevalidationsClaimed {{ tasks {{ {TASK} }} }}
        ... on UserError {{ code message path }} }} }}"""
COMPLETE = """mutation ($input: CompleteRevalidationInput!) { completeRevalidation(input: $input) {
    __typename ... on RevalidationCompleted { instant restoredCount restored { key }
        task { id status attempt notBefore } node { key validity confidence }
        run { reason impactCount decision { by note evidence task { id } } } }
    ... on UserError { code message path } } }"""
EXTEND = """mutation ($input: ExtendLeaseInput!) { extendLease(input: $input) {
    ... on LeaseExtended { task { leaseExpiresAt leaseToken } }
    ... on UserError { code path } } }"""
REQUEUE = """mutation ($id: ID!) { requeueRevalidation(input: {fleetId: 1, taskId: $id}) {
    ... on RevalidationRequeued { task { status attempt } } ... on UserError { code path } } }"""
REPAIR = """mutation ($key: String!, $unchanged: Boolean! = false) { repairNode(input: {
        fleetId: 1, node: {key: $key}, reason: "put right", unchanged: $unchanged}) {
    ... on NodeRepaired { taskCount restoredCount tasks { status node { key } } restored { key }
        node { validity } } ... on UserError { code path } } }"""
TASKS = f"""query ($filter: TaskFilter, $asOf: DateTime, $after: String, $first: Int! = 50) {{
    revalidationTasks(fleetId: 1, filter: $filter, asOf: $asOf, after: $after, first: $first) {{
        nodes {{ {TASK} }} pageInfo {{ endCursor hasNextPage }} }} }}"""
DECISIONS = """query ($node: NodeRef, $asOf: DateTime) { decisions(
        fleetId: 1, node: $node, asOf: $asOf) { nodes { kind unchanged confidence evidence note by
    worker attempt at node { key } task { id } run { reason } } } }"""
EVENTS = "{ events(fleetId: 1) { nodes { type detail task { id status leaseToken } } } }"
CASES = json.loads(shared("cases/revalidation.json").read_text())


def only(answer: Any) -> Any:
    (found,) = answer.data.values()
    return found


def claim(served: Served, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = only(served.ask(CLAIM, **more))["tasks"]
    return found


def complete(served: Served, task: Any, outcome: str = "VERIFIED", **more: Any) -> Any:
    given = {"fleetId": more.pop("fleet", "1"), "taskId": task["id"]}
    given |= {"leaseToken": task["leaseToken"], "outcome": outcome}
    return only(served.ask(COMPLETE, input=given | more))


def listed(served: Served, **more: Any) -> dict[str, dict[str, Any]]:
    """Tasks by the key of their node; later ones in the place of earlier ones."""
    return {each["node"]["key"]: each for each in only(served.ask(TASKS, **more))["nodes"]}


@pytest.fixture
def doubt(memory: Memory) -> Memory:
    """A -> b -> c and a -> d; then a falls, and all that was derived from it is to be judged."""
    memory.plant("a", "b", "c", "d")
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM c", "a DERIVED_FROM d")
    memory.fell("a", reason="a slip")
    return memory


def test_tasks_tell_why_and_what_they_wait_for(served: Served, doubt: Memory) -> None:
    tasks = listed(served)
    assert {key: each["status"] for key, each in tasks.items()} == {
        "b": "READY",
        "c": "WAITING",
        "d": "READY",
    }
    assert [each["key"] for each in tasks["c"]["path"]] == ["a", "b", "c"]
    assert tasks["c"]["run"]["reason"] == "a slip"
    assert [each["node"]["key"] for each in tasks["c"]["blockedBy"]] == ["b"]
    assert tasks["b"]["blockedBy"] == []
    assert (tasks["b"]["priority"], tasks["c"]["priority"]) == (1, 0)
    asked = """{ node(fleetId: 1, by: {key: "c"}) { task { status }
        staleness { blockedBy { node { key } } run { decision { by } } } } }"""
    node = served.ask(asked).data["node"]
    assert node["task"] == {"status": "WAITING"}
    assert node["staleness"] == {"blockedBy": [{"node": {"key": "b"}}], "run": {"decision": None}}


def test_a_token_is_for_the_holder_alone(served: Served, doubt: Memory) -> None:
    (held,) = claim(served, limit=1)
    assert held["node"]["key"] == "b", "what most others wait for comes first"
    assert (held["status"], held["leasedBy"]) == ("LEASED", "w")
    shown = listed(served)["b"]
    assert shown == {**held, "leaseToken": None, "asOf": shown["asOf"]}
    told = json.dumps(served.ask(EVENTS).data)
    assert held["leaseToken"] not in told
    given = {"fleetId": "1", "taskId": held["id"], "leaseToken": held["leaseToken"]}
    longer = only(served.ask(EXTEND, input={**given, "leaseSeconds": 3600}))["task"]
    assert longer["leaseExpiresAt"] > held["leaseExpiresAt"]
    assert longer["leaseToken"] == held["leaseToken"]
    assert only(served.ask(EXTEND, input={**given, "leaseToken": "é"}))["code"] == "LEASE_LOST"


def test_a_verified_node_frees_what_waits_and_is_told(served: Served, doubt: Memory) -> None:
    held, other = claim(served)
    done = complete(served, held, evidence=["urn:x"], note="looked", by="a model", confidence=0.5)
    assert done["node"] == {"key": "b", "validity": "REVALIDATED", "confidence": 0.5}
    assert done["task"]["status"] == "VERIFIED"
    assert [each["node"]["key"] for each in claim(served)] == ["c"]
    told = only(served.ask(DECISIONS, node={"key": "b"}))["nodes"]
    assert len(told) == 1
    assert told[0] == {
        "kind": "VERIFIED", "unchanged": False, "confidence": 0.5, "evidence": ["urn:x"],
        "note": "looked", "by": "a model", "worker": "w", "attempt": 0, "at": done["instant"],
        "node": {"key": "b"}, "task": {"id": held["id"]}, "run": None,
    }  # fmt: skip
    assert complete(served, other)["task"]["status"] == "VERIFIED"
    again = complete(served, held)
    assert (again["code"], again["path"]) == ("TASK_CLOSED", ["input", "taskId"])
    assert "VERIFIED" in again["message"]
    events = [e for e in served.ask(EVENTS).data["events"]["nodes"] if e["task"]]
    assert ("NODE_REVALIDATED", held["id"]) in [(e["type"], e["task"]["id"]) for e in events]


def test_an_unchanged_node_restores_what_fell_because_of_it(served: Served, memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM c")
    memory.fell("a", Validity.POTENTIALLY_STALE)
    (held,) = claim(served)
    done = complete(served, held, unchanged=True)
    assert (done["restoredCount"], done["restored"]) == (2, [{"key": "b"}, {"key": "c"}])
    kinds = [each["kind"] for each in only(served.ask(DECISIONS))["nodes"]]
    assert sorted(kinds) == ["RESTORED_BY_CUTOFF", "RESTORED_BY_CUTOFF", "VERIFIED"]


def test_a_refuted_node_falls_and_tells_who_judged(served: Served, doubt: Memory) -> None:
    held = next(each for each in claim(served) if each["node"]["key"] == "b")
    done = complete(served, held, "REFUTED", note="no such thing", by="me", evidence=["urn:y"])
    assert (done["node"]["validity"], done["task"]["status"]) == ("INVALID", "REFUTED")
    judged = {"by": "me", "note": "no such thing", "evidence": ["urn:y"]}
    assert done["run"]["decision"] == {**judged, "task": {"id": held["id"]}}
    asked = """{ node(fleetId: 1, by: {key: "b"}) { task { id }
        staleness { run { decision { by } } } } }"""
    assert served.ask(asked).data["node"] == {
        "task": None,
        "staleness": {"run": {"decision": {"by": "me"}}},
    }


def test_errors_back_off_until_somebody_has_to_look(
    served: Served, doubt: Memory, clock: ManualClock
) -> None:
    for attempt in range(1, 6):
        held = next(each for each in claim(served) if each["node"]["key"] == "b")
        done = complete(served, held, "ERROR", note="the model is down")
        assert done["task"]["attempt"] == attempt
        assert (done["task"]["notBefore"] is None) == (attempt == 5)
        clock.advance(300_000_000)
    tasks = listed(served)
    assert tasks["b"]["status"] == "DEAD_LETTER"
    blocked = tasks["c"]["blockedBy"]
    assert [(each["status"], each["node"]["key"]) for each in blocked] == [("DEAD_LETTER", "b")]
    assert only(served.ask(REQUEUE, id=tasks["c"]["id"]))["code"] == "NOT_DEAD_LETTERED"
    again = only(served.ask(REQUEUE, id=tasks["b"]["id"]))
    assert again == {"task": {"status": "READY", "attempt": 0}}


def test_late_and_overtaken_judgements_change_nothing(
    served: Served, doubt: Memory, clock: ManualClock
) -> None:
    first, second = claim(served, seconds=1)
    clock.advance(2_000_000)
    assert complete(served, first)["code"] == "LEASE_LOST"
    assert [each["node"]["key"] for each in claim(served)] == ["b", "d"]
    assert complete(served, second)["code"] == "LEASE_LOST"
    doubt.fell("b", Validity.INVALID)
    assert complete(served, first)["code"] == "TASK_CANCELLED"
    again = next(each for each in claim(served, limit=1))
    assert again["node"]["key"] == "c"
    only(served.ask(REPAIR, key="b"))
    assert complete(served, again)["code"] == "OVERTAKEN"
    assert [each["node"]["key"] for each in claim(served)] == ["c"], "it was given back"


def test_what_requires_something_dead_is_not_verified(served: Served, memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES c", "b REQUIRES c")
    for key in ("a", "b"):
        memory.fell(key)
    only(served.ask(REPAIR, key="a"))
    (held,) = claim(served)
    refused = complete(served, held)
    assert (refused["code"], refused["path"]) == ("REQUIREMENT_DEAD", ["input", "outcome"])
    assert complete(served, held, "REFUTED")["run"]["impactCount"] == 0


def test_a_repair_lets_all_that_rests_on_it_be_judged(served: Served, chain: Memory) -> None:
    chain.fell("a")
    done = only(served.ask(REPAIR, key="a"))
    assert (done["node"]["validity"], done["taskCount"]) == ("REVALIDATED", 4)
    assert [each["status"] for each in done["tasks"]] == ["READY", "WAITING", "WAITING", "READY"]
    held = claim(served)
    assert [each["node"]["key"] for each in held] == ["b", "e"]
    assert only(served.ask(REPAIR, key="nobody"))["code"] == "NOT_FOUND"


def test_tasks_and_decisions_are_read_as_of_an_instant(served: Served, doubt: Memory) -> None:
    before = only(served.ask(TASKS))["nodes"]
    at = before[0]["asOf"]
    held, _ = claim(served)
    complete(served, held)
    assert only(served.ask(TASKS, asOf=at))["nodes"] == before
    assert only(served.ask(DECISIONS, asOf=at))["nodes"] == []
    assert len(only(served.ask(DECISIONS))["nodes"]) == 1
    long_ago = format_instant(1)
    assert only(served.ask(TASKS, asOf=long_ago, filter={"node": {"key": "b"}}))["nodes"] == []


def test_tasks_come_by_page_and_by_filter(served: Served, doubt: Memory) -> None:
    page = only(served.ask(TASKS, first=2))
    rest = only(served.ask(TASKS, first=2, after=page["pageInfo"]["endCursor"]))
    keys = [each["node"]["key"] for each in (*page["nodes"], *rest["nodes"])]
    assert (keys, rest["pageInfo"]["hasNextPage"]) == (["b", "c", "d"], False)
    assert listed(served, filter={"status": ["WAITING"]}).keys() == {"c"}
    assert listed(served, filter={"node": {"key": "d"}}).keys() == {"d"}
    assert served.ask(TASKS, filter={"node": {"key": "x"}}).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "fields", "code", "path"),
    [
        ("limit", {"limit": 101}, "BAD_USER_INPUT", ["limit"]),
        ("limit", {"limit": 0}, "BAD_USER_INPUT", ["limit"]),
        ("seconds", {"seconds": 3601}, "BAD_USER_INPUT", ["leaseSeconds"]),
        ("fleet", {"fleet": "9"}, "NOT_FOUND", ["fleetId"]),
    ],
)
def test_bad_claims_are_refused(
    served: Served, doubt: Memory, name: str, fields: Any, code: str, path: list[str]
) -> None:
    refused = only(served.ask(CLAIM, **fields))
    assert (refused["code"], refused["path"]) == (code, ["input", *path]), name


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"taskId": "99"}, "NOT_FOUND", ["taskId"]),
        ({"taskId": "x"}, "BAD_USER_INPUT", ["taskId"]),
        ({"leaseToken": "other"}, "LEASE_LOST", ["leaseToken"]),
        ({"leaseToken": ""}, "LEASE_LOST", ["leaseToken"]),
        ({"confidence": 1.5}, "BAD_USER_INPUT", ["confidence"]),
        ({"evidence": ["x"] * 1001}, "BAD_USER_INPUT", ["evidence"]),
        ({"evidence": ["ok", "\0"]}, "BAD_USER_INPUT", ["evidence", "1"]),
        ({"note": "x" * 10_001}, "BAD_USER_INPUT", ["note"]),
        ({"by": " "}, "BAD_USER_INPUT", ["by"]),
    ],
    ids=range(9),
)
def test_bad_completions_are_refused(
    served: Served, doubt: Memory, fields: Any, code: str, path: list[str]
) -> None:
    held, _ = claim(served)
    refused = complete(served, held, **fields)
    assert (refused["code"], refused["path"]) == (code, ["input", *path])
    assert complete(served, held)["task"]["status"] == "VERIFIED", "nothing was changed"


@pytest.mark.parametrize("role", ["AUDITOR", "CONTROLLER", "WORKER", "ADMIN"])
def test_workers_judge_and_controllers_repair(store: Store, doubt: Memory, role: str) -> None:
    with serving(create_app(store, identify=tokens())) as served:
        served.client.headers.update(bearer(roles=[role]))
        asked = {"claim": CLAIM, "repair": REPAIR.replace("$key: String!", '$key: String! = "a"')}
        told = {name: "errors" not in served.ask(document).body for name, document in asked.items()}
        assert told == {
            "claim": role in {"WORKER", "ADMIN"},
            "repair": role in {"CONTROLLER", "ADMIN"},
        }
        assert listed(served).keys() >= {"b", "c", "d"}


DEAD = {"INVALID", "SUPERSEDED"}
"""What requires such a node can't be verified; the exam of the use cases goes around that."""
ALIVE = [case for case in CASES if DEAD.isdisjoint(n["validity"] for n in case["nodes"])]
CHOSEN = sorted(ALIVE, key=lambda case: len(case["expect"]["waves"]))[-6:]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case["name"])
def test_waves_through_claims(store: Store, case: dict[str, Any]) -> None:
    ids = plant_case(store, case)
    tenant, fleet = fleet_of(case)
    back = {str(stored): given for given, stored in ids.items()}
    root = case["invalidate"]
    asked = """mutation ($input: InvalidateInput!) { invalidate(input: $input) {
        ... on InvalidationRun { id } } }"""
    with serving(create_app(store, tenant_id=tenant)) as served:
        felled = {"root": {"id": str(ids[root["root"]])}, "effect": root["effect"], "reason": "r"}
        only(served.ask(asked, input={"fleetId": str(fleet), **felled}))
        found, tasks = [], claim(served, fleet=str(fleet))
        while tasks:
            found.append(sorted(back[each["node"]["id"]] for each in tasks))
            tasks = verify_all(served, str(fleet), tasks)
        assert_consistent(store, tenant, fleet)
    assert found == [sorted(wave) for wave in case["expect"]["waves"]]


def verify_all(served: Served, fleet: str, tasks: list[Any]) -> list[Any]:
    """Verifies a wave; what was overtaken in a circle is claimed again. Returns the next one."""
    wave, ahead = {each["id"] for each in tasks}, []
    while tasks:
        for each in tasks:
            done = complete(served, each, fleet=fleet)
            assert done.get("code") in {None, "OVERTAKEN"}, done
        found = claim(served, fleet=fleet)
        tasks = [each for each in found if each["id"] in wave]
        ahead += [each for each in found if each["id"] not in wave]
    return ahead

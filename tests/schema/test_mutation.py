"""Mutations: what they do, what they answer, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.rules.limits import MAX_PAYLOAD_BYTES
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Answer, Served

PUT = """mutation ($nodes: [NodeInput!]!, $onChange: OnChange! = PROPAGATE, $fleet: ID! = 1) {
    putNodes(input: {fleetId: $fleet, nodes: $nodes, onChange: $onChange}) { __typename
        ... on NodesPut { instant nodes { id key payload confidence versionId asOf }
            runs { reason root { key } impactCount } }
        ... on UserError { code message path }
        ... on VersionConflict { current { key versionId } } } }"""
LINK = """mutation ($edges: [EdgeInput!]!) { linkNodes(input: {fleetId: 1, edges: $edges}) {
    __typename
    ... on NodesLinked { instant edges { id source { key } target { key validity } }
        run { reason root { key } } }
    ... on UserError { code path } } }"""
UNLINK = """mutation ($edges: [ID!]!) { unlinkNodes(input: {fleetId: 1, edges: $edges}) {
    __typename ... on NodesUnlinked { edgeIds } ... on UserError { code path } } }"""
PIN = """mutation ($pinned: Boolean!, $version: ID) { pinNode(input: {fleetId: 1,
    node: {key: "b"}, pinned: $pinned, reason: "why", expectedVersion: $version}) { __typename
    ... on NodePinned { node { pinned pinReason validity projectedValidity } run { reason } }
    ... on UserError { code path } ... on VersionConflict { current { key } } } }"""
FELL = """mutation ($input: InvalidateInput!) { invalidate(input: $input) { __typename
    ... on InvalidationRun { id status effect effectiveAt executedAt asOf impactCount root { key } }
    ... on UserError { code path message } ... on PlanChanged { planHash }
    ... on VersionConflict { current { key validity versionId } } } }"""
REPLACE = """mutation ($by: NodeInput!, $key: String) { supersede(input: {fleetId: 1,
    old: {key: "a"}, by: $by, reason: "newer", idempotencyKey: $key}) { __typename
    ... on InvalidationRun { id status effect root { key validity incoming {
        nodes { type source { key } } } } }
    ... on UserError { code path } } }"""
REVERT = """mutation ($id: ID!) { revertRun(input: {fleetId: 1, runId: $id}) { __typename
    ... on RunReverted { run { id reverts { id status revertedAt revertedBy { id } } }
        restored { key } restoredIds leftAlone { key } leftAloneIds }
    ... on UserError { code path } } }"""


def only(answer: Answer) -> Any:
    """The payload of the one mutation of an operation."""
    (payload,) = answer.data.values()
    return payload


def test_put_nodes(served: Served, chain: Memory, clock: ManualClock) -> None:
    clock.advance()
    nodes = [{"key": "a", "payload": {"x": 1}}, {"kind": "RULE", "confidence": 0.5}]
    answer = served.ask(PUT, nodes=nodes)
    put = only(answer)
    assert [each["key"] for each in put["nodes"]] == ["a", None]
    assert put["nodes"][0]["payload"] == {"x": 1}
    assert put["runs"] == [{"reason": "CONTENT_CHANGED", "root": {"key": "a"}, "impactCount": 4}]
    assert answer.as_of == {"1": put["instant"]} == {"1": put["nodes"][0]["asOf"]}


def test_what_is_not_given_stays_and_null_clears(served: Served) -> None:
    node: dict[str, Any] = {"key": "n", "kind": "RULE", "payload": [1], "confidence": 0.5}
    only(served.ask(PUT, nodes=[node]))
    kept = only(served.ask(PUT, nodes=[{"key": "n", "confidence": 0.25}]))["nodes"][0]
    assert (kept["payload"], kept["confidence"]) == ([1], 0.25)
    cleared = only(served.ask(PUT, nodes=[{"key": "n", "payload": None}]))["nodes"][0]
    assert (cleared["payload"], cleared["confidence"]) == (None, 0.25)


def test_a_cosmetic_edit_starts_no_run(served: Served, chain: Memory) -> None:
    nodes = [{"key": "a", "payload": "x"}]
    assert only(served.ask(PUT, nodes=nodes, onChange="KEEP"))["runs"] == []


def test_payloads_are_written_as_literals_too(served: Served) -> None:
    asked = """mutation ($v: JSON) { putNodes(input: {fleetId: 1, nodes: [{kind: RULE,
        payload: {a: [1, 2.5, true, null, "x", $v], b: {c: "RED"}}}]}) {
        ... on NodesPut { nodes { payload } } } }"""
    payload = only(served.ask(asked, v={"z": [9007199254740991]}))["nodes"][0]["payload"]
    assert payload == {
        "a": [1, 2.5, True, None, "x", {"z": [9007199254740991]}],
        "b": {"c": "RED"},
    }


def test_link_nodes(served: Served, chain: Memory) -> None:
    chain.plant("x")
    chain.fell("e")
    edge = {"source": {"key": "e"}, "target": {"key": "x"}, "type": "DERIVED_FROM"}
    linked = only(served.ask(LINK, edges=[edge]))
    assert linked["run"] == {"reason": "LINKED", "root": {"key": "e"}}
    assert linked["edges"][0]["target"] == {"key": "x", "validity": "DEFINITELY_STALE"}
    again = only(served.ask(LINK, edges=[edge]))
    assert (again["edges"], again["run"]) == (linked["edges"], None)


def test_unlink_nodes(served: Served, chain: Memory) -> None:
    assert only(served.ask(UNLINK, edges=["1", "2"]))["edgeIds"] == ["1", "2"]
    left = served.ask("{ edges(fleetId: 1) { nodes { id } } }").data["edges"]["nodes"]
    assert left == [{"id": "3"}, {"id": "4"}]


def test_pin_node(served: Served, chain: Memory) -> None:
    assert only(served.ask(PIN, pinned=True))["node"]["pinReason"] == "why"
    chain.fell("a")
    released = only(served.ask(PIN, pinned=False))
    assert released["node"] == {
        "pinned": False, "pinReason": None, "validity": "INVALID", "projectedValidity": "INVALID",
    }  # fmt: skip
    assert released["run"] == {"reason": "why"}


def test_add_evidence(served: Served, chain: Memory) -> None:
    asked = """mutation { addEvidence(input: {fleetId: 1, node: {key: "a"}, uri: "urn:x",
        note: "seen"}) { ... on EvidenceAdded {
            evidence { uri note } node { evidence { uri } } } } }"""
    assert only(served.ask(asked)) == {
        "evidence": {"uri": "urn:x", "note": "seen"},
        "node": {"evidence": [{"uri": "urn:x"}]},
    }


def fell(served: Served, key: str = "a", **more: Any) -> Any:
    request = {"fleetId": "1", "root": {"key": key}, "reason": "wrong", **more}
    return only(served.ask(FELL, input=request))


def test_invalidate(served: Served, chain: Memory) -> None:
    run = fell(served, effect="POTENTIALLY_STALE", effectiveAt="2026-01-01T00:00:00Z")
    assert (run["status"], run["effect"], run["impactCount"]) == ("APPLIED", "POTENTIALLY_STALE", 5)
    assert run["effectiveAt"] == "2026-01-01T00:00:00.000000Z"
    assert run["executedAt"] == run["asOf"]
    assert fell(served, effect="POTENTIALLY_STALE")["status"] == "NO_CHANGE"


def test_a_request_with_a_key_is_run_once(served: Served, chain: Memory) -> None:
    once = fell(served, idempotencyKey="k")
    again = fell(served, idempotencyKey="k")
    assert (again["id"], again["impactCount"]) == (once["id"], once["impactCount"])
    other = fell(served, "b", idempotencyKey="k")
    assert (other["__typename"], other["code"]) == (
        "IdempotencyKeyReused",
        "IDEMPOTENCY_KEY_REUSED",
    )


def test_a_changed_plan_is_refused_with_the_present_one(served: Served, chain: Memory) -> None:
    asked = '{ previewInvalidation(fleetId: 1, root: {key: "a"}) { planHash } }'
    plan = served.ask(asked).data["previewInvalidation"]["planHash"]
    refused = fell(served, expectedPlan="0" * 64)
    assert (refused["__typename"], refused["planHash"]) == ("PlanChanged", plan)
    assert refused["path"] == ["input", "expectedPlan"]
    assert fell(served, expectedPlan=plan)["status"] == "APPLIED"


def test_a_version_conflict_carries_the_present_node(served: Served, chain: Memory) -> None:
    refused = fell(served, expectedVersion="1@1")
    assert (refused["__typename"], refused["code"]) == ("VersionConflict", "VERSION_CONFLICT")
    assert refused["path"] == ["input", "expectedVersion"]
    assert (refused["current"]["key"], refused["current"]["validity"]) == ("a", "CURRENTLY_VALID")
    version = refused["current"]["versionId"]
    assert fell(served, expectedVersion=version)["status"] == "APPLIED"
    put = only(served.ask(PUT, nodes=[{"key": "a", "expectedVersion": version}]))
    assert put["path"] == ["input", "nodes", "0", "expectedVersion"]
    assert put["current"]["versionId"] != version
    assert only(served.ask(PIN, pinned=True, version=version))["current"] == {"key": "b"}


def test_supersede(served: Served, chain: Memory) -> None:
    run = only(served.ask(REPLACE, by={"key": "a2", "kind": "ASSERTION"}, key="once"))
    assert (run["status"], run["effect"]) == ("APPLIED", "SUPERSEDED")
    assert run["root"] == {
        "key": "a", "validity": "SUPERSEDED",
        "incoming": {"nodes": [{"type": "SUPERSEDES", "source": {"key": "a2"}}]},
    }  # fmt: skip
    again = only(served.ask(REPLACE, by={"key": "a2", "kind": "ASSERTION"}, key="once"))
    assert again["id"] == run["id"]


def test_revert_run(served: Served, chain: Memory, clock: ManualClock) -> None:
    run = chain.fell("b")
    clock.advance()
    only(served.ask(PUT, nodes=[{"key": "x", "kind": "RULE"}]))
    chain.fell("d", reason="nothing more")
    reverted = only(served.ask(REVERT, id=str(run.id)))
    old = reverted["run"]["reverts"]
    assert (old["id"], old["status"], old["revertedBy"]) == (
        str(run.id), "REVERTED", {"id": reverted["run"]["id"]},
    )  # fmt: skip
    assert [each["key"] for each in reverted["restored"]] == ["b", "c", "d"]
    assert (reverted["restoredIds"], reverted["leftAloneIds"]) == (["2", "3", "4"], [])
    again = only(served.ask(REVERT, id=str(run.id)))
    assert (again["__typename"], again["code"]) == ("RunNotRevertible", "RUN_NOT_REVERTIBLE")


def test_several_mutations_run_one_after_another(served: Served) -> None:
    one = "putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { ... on NodesPut { instant } }"
    answer = served.ask(f"mutation {{ a: {one} b: {one} }}")
    assert answer.data["a"]["instant"] < answer.data["b"]["instant"]
    assert answer.as_of == {"1": answer.data["b"]["instant"]}


@pytest.fixture
def unchanged(memory: Memory) -> Iterator[None]:
    """The fleet's clock stands still: nothing was written."""
    memory.plant("a", "b")
    memory.link("a REQUIRES b")
    before = memory.scope.clock(1)
    yield
    assert memory.scope.clock(1) == before


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


BAD_NODES: list[tuple[Any, str, list[str]]] = [
    ([], "BAD_USER_INPUT", []),
    ([{"kind": "RULE"}] * 1001, "BAD_USER_INPUT", []),
    ([{"key": "a", "id": "1"}], "BAD_USER_INPUT", ["0"]),
    ([{"key": "new"}], "BAD_USER_INPUT", ["0", "kind"]),
    ([{"id": "99", "kind": "RULE"}], "NOT_FOUND", ["0", "id"]),
    ([{"id": str(2**63)}], "BAD_USER_INPUT", ["0", "id"]),
    ([{"id": "01"}], "BAD_USER_INPUT", ["0", "id"]),
    ([{"key": ""}], "BAD_USER_INPUT", ["0", "key"]),
    ([{"key": "x" * 1001}], "BAD_USER_INPUT", ["0", "key"]),
    ([{"key": "x\0"}], "BAD_USER_INPUT", ["0", "key"]),
    ([{"key": "x", "kind": "RULE"}] * 2, "BAD_USER_INPUT", ["1"]),
    ([{"key": "a", "confidence": 1.5}], "BAD_USER_INPUT", ["0", "confidence"]),
    ([{"key": "a", "confidence": -0.1}], "BAD_USER_INPUT", ["0", "confidence"]),
    ([{"key": "a", "kind": "RULE"}], "BAD_USER_INPUT", ["0", "kind"]),
    ([{"key": "a", "payload": "x\0"}], "BAD_USER_INPUT", ["0", "payload"]),
    ([{"key": "a", "payload": {"x": 2**53}}], "BAD_USER_INPUT", ["0", "payload"]),
    ([{"key": "a", "payload": 1e300}], "BAD_USER_INPUT", ["0", "payload"]),
    ([{"key": "a", "payload": nested(300)}], "BAD_USER_INPUT", ["0", "payload"]),
    ([{"key": "a", "payload": "x" * MAX_PAYLOAD_BYTES}], "PAYLOAD_TOO_LARGE", ["0", "payload"]),
    ([{"key": "a", "expectedVersion": "x"}], "VERSION_CONFLICT", ["0", "expectedVersion"]),
]


@pytest.mark.parametrize(("nodes", "code", "path"), BAD_NODES, ids=range(len(BAD_NODES)))
def test_bad_nodes_are_refused(
    served: Served, unchanged: None, nodes: Any, code: str, path: list[str]
) -> None:
    refused = only(served.ask(PUT, nodes=nodes))
    assert (refused["code"], refused["path"]) == (code, ["input", "nodes", *path])
    assert refused["message"]


@pytest.mark.parametrize(
    "value", ["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.1234567Z", "now", 5, True]
)
def test_a_bad_instant_is_refused(served: Served, unchanged: None, value: Any) -> None:
    assert served.ask(PUT, nodes=[{"key": "a", "expiresAt": value}]).code == "BAD_USER_INPUT"


def ends(source: str, target: str, kind: str = "REQUIRES") -> dict[str, Any]:
    return {"source": {"key": source}, "target": {"key": target}, "type": kind}


@pytest.mark.parametrize(
    ("edges", "code", "path"),
    [
        ([], "BAD_USER_INPUT", []),
        ([ends("a", "b")] * 1001, "BAD_USER_INPUT", []),
        ([ends("a", "x")], "NOT_FOUND", ["0", "target", "key"]),
        ([ends("a", "a")], "SELF_LOOP", ["0"]),
        ([ends("b", "a"), ends("b", "a")], "DUPLICATE_EDGE", ["1"]),
        ([ends("a", "\0")], "BAD_USER_INPUT", ["0", "target", "key"]),
    ],
    ids=range(6),
)
def test_bad_edges_are_refused(
    served: Served, unchanged: None, edges: Any, code: str, path: list[str]
) -> None:
    refused = only(served.ask(LINK, edges=edges))
    assert (refused["code"], refused["path"]) == (code, ["input", "edges", *path])


@pytest.mark.parametrize(
    ("edges", "code", "path"),
    [
        ([], "BAD_USER_INPUT", []),
        (["1"] * 1001, "BAD_USER_INPUT", []),
        (["1", "9"], "NOT_FOUND", ["1"]),
        (["1", "x"], "BAD_USER_INPUT", ["1"]),
    ],
    ids=range(4),
)
def test_bad_edge_ids_are_refused(
    served: Served, unchanged: None, edges: Any, code: str, path: list[str]
) -> None:
    refused = only(served.ask(UNLINK, edges=edges))
    assert (refused["code"], refused["path"]) == (code, ["input", "edges", *path])


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"fleetId": "9"}, "NOT_FOUND", ["fleetId"]),
        ({"fleetId": "x"}, "BAD_USER_INPUT", ["fleetId"]),
        ({"root": {"key": "x"}}, "NOT_FOUND", ["root", "key"]),
        ({"root": {"id": "9"}}, "NOT_FOUND", ["root", "id"]),
        ({"root": {"id": str(-(2**63) - 1)}}, "BAD_USER_INPUT", ["root", "id"]),
        ({"reason": ""}, "BAD_USER_INPUT", ["reason"]),
        ({"reason": "\0"}, "BAD_USER_INPUT", ["reason"]),
        ({"reason": "x" * 10_001}, "BAD_USER_INPUT", ["reason"]),
        ({"effect": "REVALIDATED"}, "BAD_USER_INPUT", ["effect"]),
        ({"idempotencyKey": ""}, "BAD_USER_INPUT", ["idempotencyKey"]),
        ({"idempotencyKey": "x" * 1001}, "BAD_USER_INPUT", ["idempotencyKey"]),
        ({"expectedVersion": "old"}, "VERSION_CONFLICT", ["expectedVersion"]),
        ({"expectedPlan": "other"}, "PLAN_CHANGED", ["expectedPlan"]),
    ],
    ids=range(13),
)
def test_a_bad_request_is_refused(
    served: Served, unchanged: None, fields: Any, code: str, path: list[str]
) -> None:
    refused = fell(served, **fields)
    assert (refused["code"], refused["path"]) == (code, ["input", *path])


@pytest.mark.parametrize("root", [{}, {"id": "1", "key": "a"}, {"id": None}, {"key": 5}, None])
def test_a_node_is_named_by_exactly_one(served: Served, unchanged: None, root: Any) -> None:
    request = {"fleetId": "1", "root": root, "reason": "r"}
    assert served.ask(FELL, input=request).code == "BAD_USER_INPUT"


@pytest.mark.parametrize("id", ["9", "x", ""])
def test_a_bad_run_is_refused(served: Served, unchanged: None, id: str) -> None:
    refused = only(served.ask(REVERT, id=id))
    assert refused["code"] == ("NOT_FOUND" if id == "9" else "BAD_USER_INPUT")
    assert refused["path"] == ["input", "runId"]

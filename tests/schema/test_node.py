"""What hangs on a node, and that a page of any size costs a constant number of calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.scope import Scope
from retrograph.rules.instant import format_instant
from retrograph.storage.records import NodeKind, NodeRef
from retrograph.storage.snapshot import Snapshot
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Served


def test_every_scalar_of_a_node(served: Served, memory: Memory, clock: ManualClock) -> None:
    expires = clock.now + 1_000
    given = NodeInput(
        key="n",
        kind=NodeKind.RULE,
        payload={"b": [1, 2.5, None], "a": "ü"},
        contract_hash="c",
        confidence=0.5,
        expires_at=expires,
    )
    put = memory.put(given)
    made = format_instant(put.instant)
    node = served.ask(
        """{ node(fleetId: 1, by: {key: "n"}) {
            id key kind validity projectedValidity confidence baseConfidence pinned pinReason
            payload contractHash expiresAt createdAt validFrom validTo asOf versionId } }"""
    ).data["node"]
    assert node == {
        "id": "1", "key": "n", "kind": "RULE",
        "validity": "CURRENTLY_VALID", "projectedValidity": "CURRENTLY_VALID",
        "confidence": 0.5, "baseConfidence": 0.5, "pinned": False, "pinReason": None,
        "payload": {"a": "ü", "b": [1, 2.5, None]}, "contractHash": "c",
        "expiresAt": format_instant(expires), "createdAt": made, "validFrom": made,
        "validTo": None, "asOf": made, "versionId": f"1@{put.instant}",
    }  # fmt: skip


def test_a_node_that_is_not_there_is_null(served: Served) -> None:
    assert served.ask('{ node(fleetId: 1, by: {key: "x"}) { id } }').data == {"node": None}


def test_edges_and_walks(served: Served, chain: Memory) -> None:
    node = served.ask(
        """{ node(fleetId: 1, by: {key: "b"}) {
            outgoing { nodes { type source { key } target { key } } }
            incoming(types: [REQUIRES]) { nodes { source { key } } }
            none: incoming(types: [SUPPORTED_BY]) { nodes { id } }
            dependents { truncated nodes { depth path node { key } } }
            dependencies { nodes { depth node { key } } } } }"""
    ).data["node"]
    assert node == {
        "outgoing": {
            "nodes": [{"type": "REQUIRES", "source": {"key": "b"}, "target": {"key": "c"}}]
        },
        "incoming": {"nodes": [{"source": {"key": "a"}}]},
        "none": {"nodes": []},
        "dependents": {
            "truncated": False,
            "nodes": [
                {"depth": 1, "path": ["2", "3"], "node": {"key": "c"}},
                {"depth": 2, "path": ["2", "3", "4"], "node": {"key": "d"}},
            ],
        },
        "dependencies": {"nodes": [{"depth": 1, "node": {"key": "a"}}]},
    }


def test_a_walk_stops_at_its_depth(served: Served, chain: Memory) -> None:
    asked = '{ node(fleetId: 1, by: {key: "a"}) { dependents(maxDepth: 1) { nodes { depth } } } }'
    assert served.ask(asked).data["node"]["dependents"]["nodes"] == [{"depth": 1}, {"depth": 1}]


def test_staleness_names_the_run_and_the_chain(served: Served, chain: Memory) -> None:
    run = chain.fell("a", reason="meter broken")
    asked = """{ nodes(fleetId: 1, filter: {keys: ["c"]}) { nodes { staleness {
        depth path { key } short: path(limit: 1) { key } run { id reason status } } } } }"""
    (node,) = served.ask(asked).data["nodes"]["nodes"]
    assert node["staleness"] == {
        "depth": 2,
        "path": [{"key": "a"}, {"key": "b"}, {"key": "c"}],
        "short": [{"key": "a"}],
        "run": {"id": str(run.id), "reason": "meter broken", "status": "APPLIED"},
    }


def test_history_tells_each_version_as_it_was(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    clock.advance()
    felled = chain.fell("a")
    clock.advance()
    revert_run(chain.scope, 1, felled.id)
    asked = """{ node(fleetId: 1, by: {key: "b"}) { asOf history {
        nodes { validity validFrom validTo asOf staleness { run { id } } } } } }"""
    node = served.ask(asked).data["node"]
    versions = node["history"]["nodes"]
    assert [each["validity"] for each in versions] == [
        "CURRENTLY_VALID", "INVALID", "CURRENTLY_VALID",
    ]  # fmt: skip
    assert [each["staleness"] for each in versions] == [
        None, {"run": {"id": str(felled.id)}}, None,
    ]  # fmt: skip
    assert versions[0]["validTo"] is None
    assert versions[1]["validTo"] == versions[0]["validFrom"]
    assert {each["asOf"] for each in versions} == {node["asOf"]}


def test_evidence(served: Served, chain: Memory) -> None:
    add_evidence(chain.scope, 1, NodeRef(key="a"), "urn:x", "a note")
    asked = '{ node(fleetId: 1, by: {key: "a"}) { evidence { id uri note } } }'
    assert served.ask(asked).data["node"]["evidence"] == [
        {"id": "1", "uri": "urn:x", "note": "a note"}
    ]


class Counter:
    """Counts the snapshots that are opened, whichever thread opens them."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.count += 1


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter:
    counter = Counter()
    opened = Scope.snapshot

    @contextmanager
    def counted(self: Scope, fleet_id: int, at: int | None = None) -> Iterator[Snapshot]:
        counter.add()
        with opened(self, fleet_id, at) as snapshot:
            yield snapshot

    monkeypatch.setattr(Scope, "snapshot", counted)
    return counter


MOST_CALLS = 20
"""Of the query below: its fields that call storage, some of which may not meet in one batch."""

EVERYTHING = """query ($keys: [String!]!) { nodes(fleetId: 1, filter: {keys: $keys}) { nodes {
    outgoing { nodes { source { key } target { key evidence { id } } } }
    incoming { nodes { source { key } target { key } } }
    dependents { nodes { node { key validity } } }
    dependencies { nodes { node { key } } }
    evidence { id } history { nodes { key staleness { depth } } }
    staleness { depth run { id root { key } impacts { nodes { node { key } path } } }
                path { key } } } } }"""


def test_a_page_costs_a_constant_number_of_calls(
    served: Served, chain: Memory, calls: Counter
) -> None:
    many = [f"n{number}" for number in range(50)]
    chain.plant(*many)
    chain.link(*(f"a REQUIRES {key}" for key in many))
    chain.fell("a")
    for keys in (["a"], list("abcde"), many):
        calls.count = 0
        page: Any = served.ask(EVERYTHING, keys=keys).data["nodes"]["nodes"]
        assert len(page) == len(keys)
        assert calls.count <= MOST_CALLS


def test_a_page_of_runs_costs_a_constant_number_of_calls(
    served: Served, chain: Memory, calls: Counter
) -> None:
    asked = """{ invalidationRuns(fleetId: 1) { nodes {
        root { key } reverts { id } revertedBy { id }
        impacts { nodes { kind node { key } path } } } } }"""
    for key in "dcbaedcba":
        revert_run(chain.scope, 1, chain.fell(key).id)
        calls.count = 0
        assert served.ask(asked).data
        assert calls.count <= 9

"""The root queries, their instants, and what `extensions.asOf` says of them."""

from __future__ import annotations

from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.rules.instant import format_instant
from retrograph.storage.records import NodeKind, NodeRef
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Served


def test_viewer(served: Served, store: Store) -> None:
    store.write_all(1, [7], lambda _: None)
    store.write_all(2, [8], lambda _: None)
    assert served.ask("{ viewer { tenantId fleetIds roles } }").data["viewer"] == {
        "tenantId": "1",
        "fleetIds": ["1", "7"],
        "roles": ["AUDITOR", "CONTROLLER", "WORKER", "ADMIN"],
    }


def test_nodes_are_filtered(served: Served, memory: Memory) -> None:
    memory.put(NodeInput(key="rule", kind=NodeKind.RULE), NodeInput(key="räum", kind=NodeKind.RULE))
    memory.plant("x", "y")
    memory.fell("x")
    pin_node(memory.scope, 1, NodeRef(key="y"), pinned=True)
    asked = "query ($f: NodeFilter) { nodes(fleetId: 1, filter: $f) { nodes { key } } }"
    wanted = {
        "rule räum": {"kind": "RULE"},
        "x": {"validity": ["INVALID", "SUPERSEDED"]},
        "y": {"pinned": True},
        "rule": {"ids": ["1"]},
        "räum x": {"keys": ["x", "räum", "z"]},
        "räum": {"keyPrefix": "rä"},
        "": {"ids": []},
        "x y": {"kind": "ASSERTION"},
        "rule räum x y": {},
    }
    for keys, given in wanted.items():
        page = served.ask(asked, f=given).data["nodes"]
        assert [each["key"] for each in page["nodes"]] == keys.split()


def test_edges_are_filtered(served: Served, chain: Memory) -> None:
    chain.link("a SUPPORTED_BY d")
    asked = "query ($f: EdgeFilter) { edges(fleetId: 1, filter: $f) { nodes { id } } }"
    wanted = {
        "1 4 5": {"source": {"key": "a"}},
        "3 5": {"target": {"id": "4"}},
        "5": {"source": {"key": "a"}, "target": {"key": "d"}},
        "1 2 3 4": {"type": ["REQUIRES", "CONTRADICTS"]},
        "": {"type": []},
    }
    for ids, given in wanted.items():
        page = served.ask(asked, f=given).data["edges"]
        assert [each["id"] for each in page["nodes"]] == ids.split()


def test_paths(served: Served, chain: Memory) -> None:
    chain.link("a DERIVED_FROM c", "d CONTRADICTS a")
    asked = """{ paths(fleetId: 1, from: {key: "a"}, to: {key: "d"}) { truncated nodes {
        length nodes { key } edges { type source { key } } } } }"""
    assert served.ask(asked).data["paths"] == {
        "truncated": False,
        "nodes": [
            {
                "length": 2,
                "nodes": [{"key": "a"}, {"key": "c"}, {"key": "d"}],
                "edges": [
                    {"type": "DERIVED_FROM", "source": {"key": "a"}},
                    {"type": "REQUIRES", "source": {"key": "c"}},
                ],
            },
            {
                "length": 3,
                "nodes": [{"key": "a"}, {"key": "b"}, {"key": "c"}, {"key": "d"}],
                "edges": [{"type": "REQUIRES", "source": {"key": key}} for key in "abc"],
            },
        ],
    }
    other = """{ paths(fleetId: 1, from: {key: "d"}, to: {key: "a"}, types: [CONTRADICTS]) {
        nodes { length } } }"""
    assert served.ask(other).data["paths"]["nodes"] == [{"length": 1}]


def test_the_neighbourhood_says_when_it_is_cut(served: Served, chain: Memory) -> None:
    asked = """query ($first: Int!) { neighbourhood(fleetId: 1, roots: [{key: "b"}],
        first: $first) { truncated nodes { key } edges { source { key } target { key } } } }"""
    whole = served.ask(asked, first=5).data["neighbourhood"]
    assert [each["key"] for each in whole["nodes"]] == ["b", "a", "c", "d", "e"]
    assert (whole["truncated"], len(whole["edges"])) == (False, 4)
    cut = served.ask(asked, first=2).data["neighbourhood"]
    assert cut == {
        "truncated": True,
        "nodes": [{"key": "b"}, {"key": "a"}],
        "edges": [{"source": {"key": "a"}, "target": {"key": "b"}}],
    }


def test_changes(served: Served, chain: Memory, clock: ManualClock) -> None:
    since = format_instant(chain.scope.clock(1))
    clock.advance()
    at = chain.fell("d").as_of
    chain.plant("new")
    chain.link("d REQUIRES new")
    asked = """query ($from: DateTime!, $to: DateTime) { changes(fleetId: 1, from: $from, to: $to) {
        asOf nodes { at kind node { key validity } edge { source { key } } } } }"""
    found = served.ask(asked, **{"from": since, "to": format_instant(at)}).data["changes"]
    felled = {"at": format_instant(at), "kind": "CHANGED", "edge": None}
    assert found["nodes"] == [felled | {"node": {"key": "d", "validity": "INVALID"}}]
    rest = served.ask(asked, **{"from": format_instant(at)})
    kinds = [(row["kind"], row["node"], row["edge"]) for row in rest.data["changes"]["nodes"]]
    assert ("CREATED", None, {"source": {"key": "d"}}) in kinds
    assert rest.as_of["1"] == rest.data["changes"]["asOf"]


def test_nothing_has_changed_since_the_last_write(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    clock.advance()
    asked = "query ($from: DateTime!) { changes(fleetId: 1, from: $from) { nodes { at } } }"
    assert served.ask(asked, **{"from": format_instant(clock.now)}).data["changes"]["nodes"] == []


def test_events(served: Served, chain: Memory) -> None:
    pin_node(chain.scope, 1, NodeRef(key="e"), pinned=True)
    run = chain.fell("c")
    asked = """query ($types: [EventType!], $after: String) {
        events(fleetId: 1, types: $types, after: $after) { asOf
            nodes { cursor type at fleetId detail node { key validity } run { id impactCount } }
            pageInfo { hasNextPage endCursor } } }"""
    page = served.ask(asked)
    first, second = page.data["events"]["nodes"]
    assert first == {
        "cursor": f"{run.as_of}-0",
        "type": "NODE_STALE",
        "at": format_instant(run.as_of),
        "fleetId": "1",
        "detail": {"from": "CURRENTLY_VALID", "to": "INVALID", "depth": 0},
        "node": {"key": "c", "validity": "INVALID"},
        "run": {"id": "1", "impactCount": 2},
    }
    assert page.as_of == {"1": page.data["events"]["asOf"]}
    assert served.ask(asked, after=first["cursor"]).data["events"]["nodes"] == [second]
    assert served.ask(asked, types=["RUN_REVERTED"]).data["events"]["nodes"] == []
    assert served.ask(asked, types=[]).data["events"]["nodes"] == []


def test_an_event_is_read_as_of_its_instant(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    run = chain.fell("d")
    clock.advance()
    revert_run(chain.scope, 1, run.id)
    asked = (
        "{ events(fleetId: 1, types: [NODE_STALE]) { nodes { node { validity } run { status } } } }"
    )
    assert served.ask(asked).data["events"]["nodes"] == [
        {"node": {"validity": "INVALID"}, "run": {"status": "APPLIED"}}
    ]


def test_runs(served: Served, chain: Memory) -> None:
    chain.fell("d", reason="one")
    chain.fell("d", reason="two")
    asked = "query ($f: RunFilter) { invalidationRuns(fleetId: 1, filter: $f) { nodes { id } } }"
    wanted = {
        "2 1": {},
        "2": {"status": ["NO_CHANGE"]},
        "1": {"reason": "one"},
        "": {"root": "1"},
    }
    for ids, given in wanted.items():
        page = served.ask(asked, f=given).data["invalidationRuns"]
        assert [each["id"] for each in page["nodes"]] == ids.split()
    assert served.ask("{ invalidationRun(fleetId: 1, id: 3) { id } }").data == {
        "invalidationRun": None
    }


def test_impacts_are_filtered(served: Served, chain: Memory) -> None:
    pin_node(chain.scope, 1, NodeRef(key="b"), pinned=True)
    run = chain.fell("a")
    asked = """query ($id: ID!, $kind: ImpactKind) { invalidationRun(fleetId: 1, id: $id) {
        impacts(kind: $kind) { nodes { node { key } kind from to depth path(limit: 2) } } } }"""
    found = served.ask(asked, id=str(run.id), kind="PINNED").data["invalidationRun"]["impacts"]
    assert found["nodes"] == [
        {
            "node": {"key": "b"}, "kind": "PINNED", "from": "CURRENTLY_VALID", "to": "INVALID",
            "depth": 1, "path": ["1", "2"],
        }
    ]  # fmt: skip
    everything = served.ask(asked, id=str(run.id)).data["invalidationRun"]["impacts"]["nodes"]
    assert [(each["depth"], each["path"]) for each in everything][-1] == (3, ["1", "2"])


def test_a_preview_is_what_the_run_then_does(served: Served, chain: Memory) -> None:
    impacts = "impacts { nodes { node { key } kind from to depth path } }"
    preview = served.ask(
        f'{{ previewInvalidation(fleetId: 1, root: {{key: "a"}}, effect: DEFINITELY_STALE) {{ '
        f"planHash impactCount {impacts} }} }}"
    ).data["previewInvalidation"]
    assert served.ask("{ invalidationRuns(fleetId: 1) { nodes { id } } }").data == {
        "invalidationRuns": {"nodes": []}
    }
    run = served.ask(
        """mutation ($plan: String) { invalidate(input: {fleetId: 1, root: {key: "a"},
            reason: "r", effect: DEFINITELY_STALE, expectedPlan: $plan}) {
            ... on InvalidationRun { impactCount impacts { nodes {
                node { key } kind from to depth path } } } } }""",
        plan=preview["planHash"],
    ).data["invalidate"]
    assert run["impacts"] == preview["impacts"]
    assert run["impactCount"] == preview["impactCount"] == 5


def test_aliases_may_ask_for_different_instants(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    before = served.ask("{ nodes(fleetId: 1) { asOf } }").as_of["1"]
    clock.advance()
    chain.fell("a")
    asked = """query ($before: DateTime!) {
        then: node(fleetId: 1, by: {key: "b"}, asOf: $before) { validity asOf
            incoming { nodes { source { validity asOf } } } }
        now: node(fleetId: 1, by: {key: "b"}) { validity asOf
            incoming { nodes { source { validity asOf } } } } }"""
    answer = served.ask(asked, before=before)
    healthy, felled = answer.data["then"], answer.data["now"]
    assert (healthy["validity"], healthy["asOf"]) == ("CURRENTLY_VALID", before)
    assert healthy["incoming"]["nodes"][0]["source"]["validity"] == "CURRENTLY_VALID"
    assert felled["validity"] == felled["incoming"]["nodes"][0]["source"]["validity"] == "INVALID"
    assert answer.as_of == {"1": felled["asOf"]}


def test_every_fleet_has_an_instant_of_its_own(
    served: Served, store: Store, clock: ManualClock
) -> None:
    clock.advance()
    store.write_all(1, [2], lambda _: None)
    asked = "{ a: nodes(fleetId: 1) { asOf } b: nodes(fleetId: 2) { asOf } }"
    answer = served.ask(asked)
    assert answer.as_of == {"1": answer.data["a"]["asOf"], "2": answer.data["b"]["asOf"]}
    assert answer.as_of["1"] < answer.as_of["2"]


def test_before_all_history_the_graph_is_empty(served: Served, chain: Memory) -> None:
    asked = """{ node(fleetId: 1, by: {key: "a"}, asOf: "1970-01-01T00:00:00Z") { id }
        nodes(fleetId: 1, asOf: "0001-01-01T00:00:00Z") { asOf nodes { id } } }"""
    assert served.ask(asked).data == {
        "node": None,
        "nodes": {"asOf": "0001-01-01T00:00:00.000000Z", "nodes": []},
    }

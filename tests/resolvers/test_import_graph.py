"""A file is taken whole or not at all, and taken again it changes nothing."""

from __future__ import annotations

import io

import pytest

from retrograph.resolvers.importing.graph import import_graph
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate as invalidate_node
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import ImportRejected, ImportStopped, NotFound, RunTooLarge
from retrograph.rules.instant import parse_instant
from retrograph.rules.validity import Validity
from retrograph.storage.edges import page_edges
from retrograph.storage.evidence import evidence_of
from retrograph.storage.filters import EdgeFilter, NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import EdgeRecord, NodeKind, NodeRef, RunStatus
from retrograph.storage.store import Store
from tests import debian
from tests.clock import START, ManualClock
from tests.resolvers.files import (
    Line,
    contents,
    edge,
    evidence,
    exported,
    invalidate,
    load,
    node,
    nodes,
    supersede,
    text,
)
from tests.shared import shared


def edges(scope: Scope, fleet: int = 1) -> list[EdgeRecord]:
    with scope.snapshot(fleet) as s:
        return page_edges(s, EdgeFilter(), 1000, None).rows


EVERYTHING: tuple[Line, ...] = (
    edge("rule", "claim", "VALID_ONLY_WHEN"),
    evidence("claim", "https://example.com/1", note="seen"),
    node("rule", kind="RULE", contractHash="abc", payload={"b": 1.5, "a": [None, "ä"]}),
    node("claim", confidence=0.25, expiresAt="2027-01-01T00:00:00Z", payload="text"),
    node("kept", pinned=True, pinReason="told so", validity="POTENTIALLY_STALE"),
    node("stale", validity="DEFINITELY_STALE"),
    edge("claim", "kept"),
    edge("claim", "stale", "SUPPORTED_BY"),
    node("elsewhere", fleet="2"),
    node("there", fleet=2),
    edge("there", "elsewhere", fleet=2),
    supersede("rule", {"key": "rule/2", "kind": "RULE", "payload": {"v": 2}}),
    supersede("rule/2", {"key": "rule/3", "kind": "RULE", "confidence": 0.5}, reason="newer"),
    invalidate("rule/3", "no good", effect="DEFINITELY_STALE"),
    invalidate("there", fleet=2),
)


def test_all_that_a_file_says_is_stored(scope: Scope) -> None:
    load(scope, *EVERYTHING[:11])
    found = nodes(scope)
    rule, claim, kept = found["rule"], found["claim"], found["kept"]
    assert (rule.kind, rule.contract_hash) == (NodeKind.RULE, "abc")
    assert rule.payload == '{"a":[null,"ä"],"b":1.5}'
    assert (claim.base_confidence, claim.confidence, claim.payload) == (0.25, 0.25, '"text"')
    assert claim.expires_at == parse_instant("2027-01-01T00:00:00Z")
    assert (kept.pinned, kept.pin_reason) == (True, "told so")
    assert kept.validity == kept.projected == Validity.POTENTIALLY_STALE
    assert found["stale"].validity == Validity.DEFINITELY_STALE
    assert found["stale"].run_id is None
    with scope.snapshot(1) as s:
        (proof,) = evidence_of(s, [claim.id])[claim.id]
    assert (proof.uri, proof.note) == ("https://example.com/1", "seen")
    assert nodes(scope, 2).keys() == {"elsewhere", "there"}


def test_a_load_is_one_instant_whatever_the_number_of_fleets(
    scope: Scope, clock: ManualClock
) -> None:
    load(scope, node("a"), fleet=3)
    clock.now -= 1_000_000
    load(scope, node("b", fleet=3), node("c"), edge("a", "b", fleet=3))
    assert scope.clock(1) == scope.clock(3) == START + 1
    assert nodes(scope)["c"].valid_from == nodes(scope, 3)["b"].valid_from == START + 1
    assert edges(scope, 3)[0].valid_from == START + 1


def test_ids_ascend_in_the_order_of_the_file_over_all_fleets(scope: Scope) -> None:
    load(scope, node("old"))
    load(
        scope,
        edge("c", "b", fleet=2),
        edge("a", "old"),
        node("c", fleet=2),
        node("a"),
        node("old"),
        node("b", fleet=2),
        edge("b", "c", fleet=2),
    )
    here, there = nodes(scope), nodes(scope, 2)
    assert there["c"].id < here["a"].id < there["b"].id
    first, last = edges(scope, 2)
    assert first.id < edges(scope)[0].id < last.id


def test_a_load_starts_no_run(scope: Scope, store: Store) -> None:
    load(scope, node("a", validity="INVALID"), node("b"), edge("a", "b"))
    load(scope, node("b", payload=1), node("c"), edge("b", "c"), edge("c", "a", "SUPERSEDES"))
    rows = contents(store)
    assert rows["outbox"] == rows["impact"] == []
    assert nodes(scope)["b"].validity == Validity.CURRENTLY_VALID


def test_runs_follow_in_order_each_its_own_instant(scope: Scope) -> None:
    done = load(scope, *EVERYTHING)
    assert [run.status for run in done.runs] == [RunStatus.APPLIED] * 4
    assert [run.reason for run in done.runs] == ["SUPERSEDED", "newer", "no good", "wrong"]
    instants = [run.executed_at for run in done.runs[:3]]
    assert instants == sorted(set(instants))
    found = nodes(scope)
    assert found["rule"].validity == Validity.SUPERSEDED
    assert found["claim"].validity == Validity.INVALID
    assert found["rule/3"].validity == Validity.DEFINITELY_STALE
    assert (found["kept"].validity, found["kept"].projected) == (
        Validity.POTENTIALLY_STALE,
        Validity.INVALID,
    )
    assert nodes(scope, 2)["elsewhere"].validity == Validity.INVALID


def test_the_same_file_again_changes_nothing(scope: Scope, store: Store) -> None:
    load(scope, *EVERYTHING)
    before = contents(store)
    again = load(scope, *EVERYTHING)
    assert contents(store) == before
    assert [run.status for run in again.runs] == [RunStatus.NO_CHANGE] * 4
    loaded = again.loaded
    assert not any((loaded.nodes, loaded.nodes_changed, loaded.edges, loaded.evidence))


def test_what_is_not_given_stays_and_null_clears(scope: Scope) -> None:
    load(scope, node("a", payload=1, contractHash="h", confidence=0.5, pinned=True))
    invalidate_node(scope, 1, Invalidation(NodeRef(key="a"), "wrong"))
    load(scope, ("node", {"key": "a", "payload": 2}))
    a = nodes(scope)["a"]
    assert (a.payload, a.contract_hash, a.base_confidence, a.pinned) == ("2", "h", 0.5, True)
    assert (a.validity, a.projected) == (Validity.CURRENTLY_VALID, Validity.INVALID)
    load(scope, node("a", payload=None, contractHash=None, confidence=None, expiresAt=None))
    a = nodes(scope)["a"]
    assert (a.payload, a.contract_hash, a.base_confidence, a.expires_at) == (None, None, 1.0, None)


def test_a_node_given_twice_takes_what_the_later_line_gives(scope: Scope) -> None:
    done = load(scope, node("a", payload=1, confidence=0.5), node("b"), node("a", payload=2))
    assert done.loaded.nodes == 2
    assert (nodes(scope)["a"].payload, nodes(scope)["a"].base_confidence) == ("2", 0.5)
    assert nodes(scope)["a"].id < nodes(scope)["b"].id


def test_unpinned_by_a_file_a_node_takes_what_was_left_on_it(scope: Scope) -> None:
    load(scope, node("a", pinned=True, pinReason="r"))
    invalidate_node(scope, 1, Invalidation(NodeRef(key="a"), "wrong"))
    load(scope, node("a", pinned=False))
    a = nodes(scope)["a"]
    assert (a.validity, a.projected, a.pin_reason) == (Validity.INVALID, Validity.INVALID, None)


def test_duplicate_edges_and_evidence_are_no_error(scope: Scope) -> None:
    lines = (
        node("a"),
        node("b"),
        edge("a", "b"),
        edge("a", "b"),
        edge("a", "b", "DERIVED_FROM"),
        evidence("a", "u", note="1"),
        evidence("a", "u"),
        evidence("a", "u", note="2"),
    )
    first = load(scope, *lines).loaded
    assert (first.edges, first.evidence) == (2, 1)
    assert load(scope, *lines[:-1]).loaded.evidence_changed == 1
    again = load(scope, edge("a", "b"), edge("b", "a"), evidence("a", "u"), evidence("a", "v"))
    assert (again.loaded.edges, again.loaded.evidence, again.loaded.evidence_changed) == (1, 1, 0)
    assert exported(scope)[-2] == evidence("a", "u", note="1")


BAD_FILES: dict[str, tuple[int, str, tuple[Line, ...]]] = {
    "edge to nowhere": (2, "no node 'x'", (node("new"), edge("new", "x"))),
    "edge from another fleet": (2, "is in fleet 2", (node("x", fleet=2), edge("x", "old"))),
    "evidence on nothing": (1, "no node 'x'", (evidence("x", "u"), node("new"))),
    "invalidating nothing": (2, "no node 'x'", (node("new"), invalidate("x"))),
    "superseding nothing": (2, "no node 'x'", (node("new"), supersede("x", {"key": "old"}))),
    "invalidating too early": (
        2,
        "no node 'x'",
        (node("new"), invalidate("x"), supersede("old", {"key": "x", "kind": "RULE"})),
    ),
    "an edge to what a run will make": (
        1,
        "no node 'x'",
        (edge("old", "x"), supersede("old", {"key": "x", "kind": "RULE"})),
    ),
    "no kind": (1, "node.kind: A new node needs a kind", (("node", {"key": "new"}),)),
    "no kind in place of another": (1, "by.kind: A new", (supersede("old", {"key": "new"}),)),
    "another kind": (2, "for ever", (node("new"), node("old", kind="RULE"))),
    "another kind in place": (
        2,
        "by.kind: The node is of the kind ASSERTION",
        (node("new"), supersede("old", {"key": "new", "kind": "RULE"})),
    ),
    "projected without a pin": (
        2,
        "node.projected",
        (node("new"), node("old", projected="INVALID")),
    ),
    "in an unknown fleet": (1, "nor in fleet 9", (invalidate("old", fleet=9),)),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_does_not_fit_is_refused_whole(scope: Scope, store: Store, name: str) -> None:
    number, reason, lines = BAD_FILES[name]
    load(scope, node("old"))
    before, fleets, clock = contents(store), store.fleet_ids(1), scope.clock(1)
    with pytest.raises(ImportRejected, match=reason) as caught:
        load(scope, *lines)
    assert caught.value.line == number
    assert contents(store) == before
    assert (store.fleet_ids(1), scope.clock(1)) == (fleets, clock)


def test_a_file_that_breaks_off_changes_nothing(scope: Scope, store: Store) -> None:
    before = contents(store)
    with pytest.raises(ImportRejected):
        import_graph(scope, io.BytesIO(text(EVERYTHING) + b"{"), 1)
    assert contents(store) == before


def test_an_empty_file_makes_no_fleet(scope: Scope, store: Store) -> None:
    assert import_graph(scope, io.BytesIO(b"\n"), 5).lines == 1
    assert store.fleet_ids(1) == [1]


def test_a_fleet_that_the_caller_does_not_hold_is_none(store: Store) -> None:
    narrow = Scope(store, 1, frozenset({1}), frozenset())
    with pytest.raises(NotFound):
        load(narrow, node("a", fleet=2))
    assert store.fleet_ids(1) == [1]


def test_a_run_that_fails_stops_the_import_and_says_where(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RunTooLarge(1)

    monkeypatch.setattr("retrograph.resolvers.importing.runs.invalidate", refuse)
    lines = (node("a"), supersede("a", {"key": "b", "kind": "RULE"}), invalidate("b"), node("c"))
    with pytest.raises(ImportStopped) as caught:
        load(scope, *lines)
    assert caught.value.line == 3
    assert set(nodes(scope)) == {"a", "b", "c"}
    assert nodes(scope)["a"].validity == Validity.SUPERSEDED


def test_a_cascade_after_an_import_sees_what_was_loaded(scope: Scope) -> None:
    load(scope, node("a"), node("b"), edge("a", "b"))
    pin_node(scope, 1, NodeRef(key="b"), pinned=True)
    load(scope, node("c"), edge("b", "c"), node("b", pinned=False))
    run = invalidate_node(scope, 1, Invalidation(NodeRef(key="a"), "wrong"))
    assert run.impact_count == 3
    assert {n.validity for n in nodes(scope).values()} == {Validity.INVALID}


def test_an_import_that_is_stopped_while_it_writes_changes_nothing(
    scope: Scope, store: Store
) -> None:
    def stop(stage: str, *_: object) -> None:
        if stage == "Writing":
            raise TimeoutError

    before = contents(store)
    with pytest.raises(TimeoutError):
        import_graph(scope, io.BytesIO(text(EVERYTHING)), 1, progress=stop)
    assert contents(store) == before


def test_progress_is_told_for_each_stage(scope: Scope) -> None:
    told: list[tuple[str, int, int | None]] = []
    data = text(EVERYTHING)
    import_graph(
        scope, io.BytesIO(data), 1, size=len(data), progress=lambda *each: told.append(each)
    )
    assert ("Reading", len(data), len(data)) in told
    assert ("Writing", 0, 11) in told
    assert ("Running", 3, 4) in told


WHOLE = pytest.param(False, marks=[pytest.mark.long, pytest.mark.needs("large_graphs")])


@pytest.mark.parametrize("sampled", [True, WHOLE], ids=["sample", "all"])
def test_the_graph_of_debian_is_loaded_in_one_instant(scope: Scope, sampled: bool) -> None:
    if not shared("data/debian-bookworm.jsonl.gz").exists():
        pytest.skip("the shared data is not beside this checkout")
    lines = debian.graph(sampled)
    done = import_graph(scope, debian.as_file(lines), 1)
    loaded = done.loaded.nodes, done.loaded.edges
    assert loaded == tuple(sum(kind in line for line in lines) for kind in ("node", "edge"))
    assert sampled or loaded == (97_605, 376_992)
    with scope.snapshot(1) as s:
        assert {n.valid_from for n in page_nodes(s, NodeFilter(), 1000, None).rows} == {s.instant}

"""`putNodes`: upserts, what counts as a change, and the runs that changed content starts."""

from __future__ import annotations

import orjson
import pytest

from retrograph.resolvers.inputs import UNSET, NodeInput, OnChange
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import InvalidInput, NotFound, VersionConflict
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeKind, RunStatus
from retrograph.storage.tables import node_state
from retrograph.storage.versions import open_next
from tests.dump import dump
from tests.memory import NEW, Memory
from tests.planting import plant_edges


def test_what_is_not_given_takes_its_default(memory: Memory) -> None:
    done = memory.put(NodeInput("a", kind=NodeKind.ASSERTION), NodeInput(kind=NodeKind.RULE))
    keyed, nameless = done.nodes
    assert (keyed.key, nameless.key) == ("a", None)
    assert (keyed.kind, nameless.kind) == (NodeKind.ASSERTION, NodeKind.RULE)
    for node in done.nodes:
        assert (node.payload, node.contract_hash, node.expires_at) == (None, None, None)
        assert (node.confidence, node.base_confidence, node.pinned) == (1.0, 1.0, False)
        assert node.validity is node.projected is Validity.CURRENTLY_VALID
        assert node.created_at == node.valid_from == node.as_of == done.instant
        assert node.valid_to is None
    assert done.runs == []


def test_nodes_come_in_the_order_of_the_input_with_ascending_ids(memory: Memory) -> None:
    memory.put(NodeInput("b", kind=NEW))
    done = memory.put(*(NodeInput(key, kind=NEW) for key in "cbad"))
    assert [node.key for node in done.nodes] == ["c", "b", "a", "d"]
    made = [node.id for node in done.nodes if node.key != "b"]
    assert made == sorted(made)


def test_an_update_by_key_or_id_keeps_what_is_not_given(memory: Memory) -> None:
    full = NodeInput(
        "a", kind=NEW, payload={"x": 1}, contract_hash="h", confidence=0.5, expires_at=7
    )
    (made,) = memory.put(full).nodes
    (by_key,) = memory.put(NodeInput("a", confidence=0.25)).nodes
    (by_id,) = memory.put(NodeInput(id=made.id, contract_hash="i")).nodes
    assert (by_key.base_confidence, by_key.contract_hash) == (0.25, "h")
    assert (by_id.base_confidence, by_id.contract_hash) == (0.25, "i")
    assert (by_id.payload, by_id.expires_at, by_id.id) == ('{"x":1}', 7, made.id)
    assert by_id.created_at == made.created_at


def test_null_clears(memory: Memory) -> None:
    memory.put(
        NodeInput("a", kind=NEW, payload=[1], contract_hash="h", confidence=0.5, expires_at=7)
    )
    cleared = NodeInput("a", payload=None, contract_hash=None, confidence=None, expires_at=None)
    (node,) = memory.put(cleared).nodes
    assert (node.payload, node.contract_hash, node.base_confidence, node.expires_at) == (
        None,
        None,
        1.0,
        None,
    )


def test_the_payload_is_stored_as_canonical_json(memory: Memory) -> None:
    payload = {"b": 1.0, "a": ["é", None, True]}
    (node,) = memory.put(NodeInput("a", kind=NEW, payload=payload)).nodes
    assert node.payload == canonical_json(payload)
    assert orjson.loads(node.payload) == payload


@pytest.mark.parametrize(
    ("before", "after"),
    [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 1.0}), ([0], [-0.0]), (None, None)],
)
def test_the_same_content_is_no_change_at_all(
    memory: Memory, before: object, after: object
) -> None:
    memory.put(NodeInput("a", kind=NEW, payload=before), NodeInput("b", kind=NEW))
    memory.link("a REQUIRES b")
    first = memory.node("a")
    done = memory.put(NodeInput("a", payload=after, kind=NEW, confidence=1.0))
    assert done.runs == []
    assert done.nodes[0].version_id == first.version_id
    assert memory.sick() == {}
    assert memory.events() == []


@pytest.mark.parametrize(
    "change",
    [
        NodeInput("a", payload={"x": 2}),
        NodeInput("a", payload=None),
        NodeInput("a", contract_hash="other"),
        NodeInput("a", contract_hash=None),
    ],
)
def test_changed_content_makes_every_dependent_potentially_stale(
    memory: Memory, change: NodeInput
) -> None:
    memory.put(NodeInput("a", kind=NEW, payload={"x": 1}, contract_hash="h"))
    kinds = ("DERIVED_FROM", "REQUIRES", "VALID_ONLY_WHEN", "SUPPORTED_BY", "OBSERVED_FROM")
    memory.plant(*kinds, "further", "CONTRADICTS", "SUPERSEDES", "support")
    memory.link(*(f"a {kind} {kind}" for kind in kinds), "a CONTRADICTS CONTRADICTS")
    memory.link("REQUIRES REQUIRES further", "support SUPPORTED_BY SUPPORTED_BY")
    a = memory.node("a")

    done = memory.put(change)

    (run,) = done.runs
    assert (run.root_id, run.reason, run.status) == (a.id, "CONTENT_CHANGED", RunStatus.APPLIED)
    assert (run.executed_at, run.effect) == (done.instant, Validity.POTENTIALLY_STALE)
    assert memory.sick() == dict.fromkeys([*kinds, "further"], "POTENTIALLY_STALE")
    fallen = memory.fallen(run)
    assert "a" not in fallen
    assert fallen["REQUIRES"] == ("POTENTIALLY_STALE", ["a", "REQUIRES"])
    assert fallen["further"] == ("POTENTIALLY_STALE", ["a", "REQUIRES", "further"])
    assert len(memory.told(done.instant)) == len(fallen) == 6


def test_a_node_whose_content_changes_keeps_its_state_even_on_a_cycle(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c", "c REQUIRES a")
    (run,) = memory.put(NodeInput("a", payload=1)).runs
    assert memory.sick() == {"b": "POTENTIALLY_STALE", "c": "POTENTIALLY_STALE"}
    assert list(memory.fallen(run)) == ["b", "c"]


def test_a_dead_node_whose_content_changes_passes_severity_1(memory: Memory) -> None:
    memory.plant("a", validity=Validity.INVALID)
    memory.plant("b")
    memory.plant("c", validity=Validity.DEFINITELY_STALE)
    planted = memory.nodes()
    # edges that pass nothing when they are made, as an import makes them
    a, b, c = (planted[key].id for key in "abc")
    plant_edges(memory.store, [(a, b, EdgeType.REQUIRES), (a, c, EdgeType.REQUIRES)])
    memory.put(NodeInput("a", payload=1))
    assert memory.states() == {
        "a": "INVALID",
        "b": "POTENTIALLY_STALE",
        "c": "DEFINITELY_STALE",
    }


def test_keep_spares_a_cosmetic_edit(memory: Memory) -> None:
    memory.plant("a", "b")
    memory.link("a REQUIRES b")
    done = memory.put(NodeInput("a", payload={"new": True}), on_change=OnChange.KEEP)
    assert done.runs == []
    assert done.nodes[0].payload == '{"new":true}'
    assert memory.sick() == {}
    assert memory.events() == []


def test_a_judged_confidence_counts_until_the_base_changes(memory: Memory) -> None:
    (node,) = memory.put(NodeInput("a", kind=NEW, confidence=0.5)).nodes
    row = {"id": node.id, "confidence": 0.25}
    memory.store.write(1, 1, lambda write: open_next(write.snapshot, node_state, [row]))
    (kept,) = memory.put(NodeInput("a", payload={"x": 1})).nodes
    assert (kept.confidence, kept.base_confidence) == (0.25, 0.5)
    (changed,) = memory.put(NodeInput("a", confidence=0.75)).nodes
    assert (changed.confidence, changed.base_confidence) == (0.75, 0.75)


def test_confidence_and_expiry_are_no_content(memory: Memory) -> None:
    memory.plant("a", "b")
    memory.link("a REQUIRES b")
    done = memory.put(NodeInput("a", confidence=0.5, expires_at=9))
    assert (done.runs, memory.sick()) == ([], {})
    assert (done.nodes[0].confidence, done.nodes[0].expires_at) == (0.5, 9)
    assert done.nodes[0].valid_from == done.instant


def test_several_changes_of_one_call_are_a_run_each_at_one_instant(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c")
    done = memory.put(NodeInput("a", payload=1), NodeInput("b", payload=2))
    assert [run.root_id for run in done.runs] == [node.id for node in done.nodes]
    assert {run.executed_at for run in done.runs} == {done.instant}
    assert memory.sick() == {"b": "POTENTIALLY_STALE", "c": "POTENTIALLY_STALE"}
    assert [run.status for run in done.runs] == [RunStatus.APPLIED, RunStatus.NO_CHANGE]
    ordinals = [event.ordinal for event in memory.events()]
    assert ordinals == list(range(len(ordinals)))


def test_changed_content_nobody_rests_on_is_recorded_as_no_change(memory: Memory) -> None:
    memory.plant("a")
    (run,) = memory.put(NodeInput("a", payload=1)).runs
    assert (run.status, memory.events()) == (RunStatus.NO_CHANGE, [])


def test_the_former_content_stays_in_the_past(memory: Memory) -> None:
    first = memory.put(NodeInput("a", kind=NEW, payload=1))
    second = memory.put(NodeInput("a", payload=2))
    assert memory.node("a", first.instant).payload == "1"
    assert memory.node("a", second.instant - 1).payload == "1"
    assert memory.node("a", second.instant).payload == "2"


def test_the_expected_version_lets_the_update_through_once(memory: Memory) -> None:
    (made,) = memory.put(NodeInput("a", kind=NEW, payload=1)).nodes
    update = NodeInput("a", payload=2, expected_version=made.version_id)
    (updated,) = memory.put(update).nodes
    with pytest.raises(VersionConflict) as caught:
        memory.put(update)
    assert caught.value.current == updated.version_id
    assert caught.value.path == ("input", "nodes", "0", "expectedVersion")


def test_keys_are_compared_byte_by_byte(memory: Memory) -> None:
    keys = ["a", "A", "a ", "ä", "a\u0308"]
    done = memory.put(*(NodeInput(key, kind=NEW) for key in keys))
    assert len({node.id for node in done.nodes}) == len(keys)


def test_a_key_is_unique_in_its_fleet_only(memory: Memory) -> None:
    memory.store.write_all(1, [2], lambda _: None)
    (here,) = memory.put(NodeInput("a", kind=NEW)).nodes
    (there,) = Memory(memory.scope, 2).put(NodeInput("a", kind=NEW)).nodes
    assert here.id != there.id


BAD = [
    (NodeInput("a", id=1), InvalidInput, ()),
    (NodeInput("new"), InvalidInput, ("kind",)),
    (NodeInput(), InvalidInput, ("kind",)),
    (NodeInput("a", kind=NodeKind.RULE), InvalidInput, ("kind",)),
    (NodeInput(id=999, kind=NEW), NotFound, ("id",)),
    (NodeInput("new", kind=NEW, expected_version="1@1"), NotFound, ("key",)),
    (NodeInput("a", expected_version="1@1"), VersionConflict, ("expectedVersion",)),
    (NodeInput(""), InvalidInput, ("key",)),
    (NodeInput("a\0"), InvalidInput, ("key",)),
    (NodeInput("\ud800"), InvalidInput, ("key",)),
    (NodeInput("k" * 1001), InvalidInput, ("key",)),
    (NodeInput("a", payload=float("nan")), InvalidInput, ("payload",)),
    (NodeInput("a", payload={"x": "\0"}), InvalidInput, ("payload",)),
    (NodeInput("a", payload=["\ud800"]), InvalidInput, ("payload",)),
    (NodeInput("a", payload=2**53), InvalidInput, ("payload",)),
    (NodeInput("a", payload="x" * 1_048_576), InvalidInput, ("payload",)),
    (NodeInput("a", contract_hash=""), InvalidInput, ("contractHash",)),
    (NodeInput("a", confidence=1.1), InvalidInput, ("confidence",)),
    (NodeInput("a", confidence=float("nan")), InvalidInput, ("confidence",)),
]


@pytest.mark.parametrize(("bad", "kind", "path"), BAD)
def test_one_bad_node_refuses_the_whole_call(
    memory: Memory, bad: NodeInput, kind: type[NotFound], path: tuple[str, ...]
) -> None:
    memory.put(NodeInput("a", kind=NEW), NodeInput("b", kind=NEW))
    memory.link("a REQUIRES b")
    before = dump(memory.store)
    with pytest.raises(kind) as caught:
        memory.put(NodeInput("fine", kind=NEW), NodeInput("b", payload="changed"), bad)
    assert caught.value.path == ("input", "nodes", "2", *path)
    assert dump(memory.store) == before


@pytest.mark.parametrize("by", ["key and key", "id and id", "key and id"])
def test_a_node_named_twice_is_refused(memory: Memory, by: str) -> None:
    (made,) = memory.put(NodeInput("a", kind=NEW)).nodes
    named = {"key": NodeInput("a", payload=1), "id": NodeInput(id=made.id, payload=2)}
    one, other = by.split(" and ")
    before = dump(memory.store)
    with pytest.raises(InvalidInput, match="twice") as caught:
        memory.put(named[one], named[other])
    assert caught.value.path == ("input", "nodes", "1")
    assert dump(memory.store) == before


@pytest.mark.parametrize("size", [0, 1001])
def test_a_batch_out_of_bounds_is_refused(memory: Memory, size: int) -> None:
    before = dump(memory.store)
    with pytest.raises(InvalidInput, match="items"):
        memory.put(*(NodeInput(str(i), kind=NEW) for i in range(size)))
    assert dump(memory.store) == before


def test_a_batch_of_a_thousand_is_taken(memory: Memory) -> None:
    done = memory.put(*(NodeInput(str(i), kind=NEW, payload=UNSET) for i in range(1000)))
    assert len(done.nodes) == 1000

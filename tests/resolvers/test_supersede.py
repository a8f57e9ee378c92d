"""`supersede`: the new node, its edge, and the fall of what rested on the old one."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.resolvers.inputs import NodeInput, Supersession
from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.supersede import supersede
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NotFound,
    PlanChanged,
    RetrographError,
    VersionConflict,
)
from retrograph.rules.validity import Validity
from retrograph.storage.edges import page_edges
from retrograph.storage.filters import EdgeFilter
from retrograph.storage.records import NodeKind, RunRecord, RunStatus
from tests.dump import dump
from tests.memory import NEW, Memory, ref
from tests.planting import plant_edges


@pytest.fixture
def tariff(memory: Memory) -> Memory:
    """`old`, a node that needs it, one that only saw it."""
    memory.plant("old", "needs", "saw")
    memory.link("old REQUIRES needs", "old OBSERVED_FROM saw")
    return memory


def replace_by(memory: Memory, by: NodeInput, old: str = "old", **more: Any) -> RunRecord:
    return supersede(memory.scope, 1, Supersession(ref(old), by, "a new tariff", **more))


def supersessions(memory: Memory) -> list[tuple[int, int]]:
    with memory.scope.snapshot(1) as snapshot:
        types = frozenset({EdgeType.SUPERSEDES})
        page = page_edges(snapshot, EdgeFilter(types=types), 100, None)
    return [(edge.source_id, edge.target_id) for edge in page.rows]


def test_the_old_node_is_superseded_and_what_needs_it_dies(tariff: Memory) -> None:
    run = replace_by(tariff, NodeInput("new", kind=NodeKind.RULE, payload={"rate": 7}))
    nodes = tariff.nodes()
    assert tariff.states() == {
        "old": "SUPERSEDED",
        "needs": "INVALID",
        "saw": "POTENTIALLY_STALE",
        "new": "CURRENTLY_VALID",
    }
    assert nodes["new"].payload == '{"rate":7}'
    assert (run.root_id, run.effect) == (nodes["old"].id, Validity.SUPERSEDED)
    assert (run.reason, run.status) == ("a new tariff", RunStatus.APPLIED)
    assert supersessions(tariff) == [(nodes["new"].id, nodes["old"].id)]
    assert tariff.fallen(run)["old"] == ("SUPERSEDED", ["old"])
    assert nodes["new"].created_at == run.executed_at
    assert tariff.sick(run.executed_at - 1) == {}
    assert "new" not in tariff.nodes(run.executed_at - 1)


def test_the_new_node_may_exist_already(tariff: Memory) -> None:
    (new,) = tariff.plant("new")
    replace_by(tariff, NodeInput("new"))
    assert [source for source, _ in supersessions(tariff)] == [new]
    assert len(tariff.runs()) == 1


def test_the_new_node_may_be_named_by_id_and_be_linked_already(tariff: Memory) -> None:
    (new,) = tariff.plant("new")
    tariff.link("new SUPERSEDES old")
    run = replace_by(tariff, NodeInput(id=new))
    assert run.status is RunStatus.NO_CHANGE
    assert len(supersessions(tariff)) == 1


def test_changed_content_of_the_new_node_is_a_second_run_at_the_same_instant(
    tariff: Memory,
) -> None:
    tariff.plant("new", "rests")
    tariff.link("new REQUIRES rests")
    run = replace_by(tariff, NodeInput("new", payload=2))
    second, first = tariff.runs()
    assert first.id == run.id
    assert (second.reason, second.root_id) == ("CONTENT_CHANGED", tariff.node("new").id)
    assert second.executed_at == first.executed_at
    assert tariff.states()["rests"] == "POTENTIALLY_STALE"
    ordinals = [event.ordinal for event in tariff.events([run.executed_at])]
    assert ordinals == list(range(len(ordinals)))


def test_an_invalid_node_becomes_superseded_with_no_cascade(tariff: Memory) -> None:
    tariff.plant("lost", validity=Validity.INVALID)
    tariff.plant("rests")

    nodes = tariff.nodes()
    plant_edges(tariff.store, [(nodes["lost"].id, nodes["rests"].id, EdgeType.REQUIRES)])
    run = replace_by(tariff, NodeInput("new", kind=NEW), old="lost")
    assert tariff.sick() == {"lost": "SUPERSEDED"}
    assert tariff.fallen(run) == {"lost": ("SUPERSEDED", ["lost"])}


def test_a_superseded_node_is_superseded_no_further(tariff: Memory) -> None:
    replace_by(tariff, NodeInput("new", kind=NEW))
    run = replace_by(tariff, NodeInput("newer", kind=NEW))
    assert (run.status, run.impact_count) == (RunStatus.NO_CHANGE, 0)
    assert len(supersessions(tariff)) == 2


def test_a_pinned_old_node_keeps_its_state(memory: Memory) -> None:
    memory.plant("old", pinned=True)
    memory.plant("needs")
    memory.link("old REQUIRES needs")
    run = replace_by(memory, NodeInput("new", kind=NEW))
    assert memory.sick() == {"needs": "INVALID"}
    assert memory.node("old").projected is Validity.SUPERSEDED
    assert memory.impacts(run)[0]["kind"] == "PINNED"


def test_a_new_node_that_rests_on_the_old_one_falls_with_it(tariff: Memory) -> None:
    replace_by(tariff, NodeInput("needs"))
    assert tariff.sick() == {"old": "SUPERSEDED", "needs": "INVALID", "saw": "POTENTIALLY_STALE"}


def test_when_the_superseder_falls_the_superseded_is_reevaluated(tariff: Memory) -> None:
    replace_by(tariff, NodeInput("new", kind=NEW))
    run = tariff.fell("new")
    assert tariff.impacts(run)[1] == {
        "node": "old",
        "kind": "REEVALUATE",
        "from": "SUPERSEDED",
        "to": "SUPERSEDED",
        "depth": 1,
        "path": ["new", "old"],
    }
    assert ("REEVALUATION_TRIGGERED", "old") in tariff.told(run.executed_at)


def test_the_plan_is_that_of_a_preview_as_superseded(tariff: Memory) -> None:
    found = preview_invalidation(tariff.scope, 1, ref("old"), Validity.SUPERSEDED, None)
    by = NodeInput("new", kind=NEW)
    assert replace_by(tariff, by, expected_plan=found.plan_hash).status is RunStatus.APPLIED


def test_the_same_request_again_gets_the_first_run(tariff: Memory) -> None:
    by = NodeInput("new", kind=NEW, payload=1)
    first = replace_by(tariff, by, idempotency_key="k")
    assert replace_by(tariff, by, idempotency_key="k").id == first.id
    assert len(tariff.runs()) == 1


@pytest.mark.parametrize(
    "by",
    [
        NodeInput("other", kind=NEW),
        NodeInput("new", kind=NodeKind.RULE),
        NodeInput("new", kind=NEW, payload=1),
        NodeInput("new", kind=NEW, payload=None),
        NodeInput("new", kind=NEW, contract_hash="None"),
        NodeInput("new", kind=NEW, expires_at=4),
        NodeInput("new", kind=NEW, expected_version="1@1"),
    ],
)
def test_a_key_names_one_request_only(tariff: Memory, by: NodeInput) -> None:
    replace_by(tariff, NodeInput("new", kind=NEW), idempotency_key="k")
    before = dump(tariff.store)
    with pytest.raises(IdempotencyKeyReused):
        replace_by(tariff, by, idempotency_key="k")
    assert dump(tariff.store) == before


def test_a_cleared_field_and_the_text_none_are_two_requests(tariff: Memory) -> None:
    replace_by(tariff, NodeInput("new", kind=NEW, contract_hash=None), idempotency_key="k")
    other = NodeInput("new", kind=NEW, contract_hash="None")
    with pytest.raises(IdempotencyKeyReused):
        replace_by(tariff, other, idempotency_key="k")


@pytest.mark.parametrize(
    ("old", "by", "more", "kind", "path"),
    [
        ("nobody", NodeInput("new", kind=NEW), {}, NotFound, ("old", "key")),
        ("old", NodeInput("new"), {}, InvalidInput, ("by", "kind")),
        ("old", NodeInput("old"), {}, InvalidInput, ("by",)),
        ("old", NodeInput(id=1), {}, InvalidInput, ("by",)),
        ("old", NodeInput(id=99), {}, NotFound, ("by", "id")),
        ("old", NodeInput("new", id=1), {}, InvalidInput, ("by",)),
        ("old", NodeInput("new", kind=NEW, confidence=2), {}, InvalidInput, ("by", "confidence")),
        (
            "old",
            NodeInput("needs", expected_version="1@1"),
            {},
            VersionConflict,
            ("by", "expectedVersion"),
        ),
        (
            "old",
            NodeInput("new", kind=NEW),
            {"expected_plan": "0"},
            PlanChanged,
            ("expectedPlan",),
        ),
        (
            "old",
            NodeInput("new", kind=NEW),
            {"idempotency_key": "\0"},
            InvalidInput,
            ("idempotencyKey",),
        ),
    ],
)
def test_bad_input_changes_nothing(
    tariff: Memory,
    old: str,
    by: NodeInput,
    more: dict[str, str],
    kind: type[RetrographError],
    path: tuple[str, ...],
) -> None:
    before = dump(tariff.store)
    with pytest.raises(kind) as caught:
        replace_by(tariff, by, old=old, **more)
    assert caught.value.path == ("input", *path)
    assert dump(tariff.store) == before


def test_an_empty_reason_is_refused(tariff: Memory) -> None:
    with pytest.raises(InvalidInput) as caught:
        supersede(tariff.scope, 1, Supersession(ref("old"), NodeInput("new", kind=NEW), ""))
    assert caught.value.path == ("input", "reason")

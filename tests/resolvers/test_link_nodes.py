"""`linkNodes`: edges once each, and one run for all that their sources pass on."""

from __future__ import annotations

import pytest

from retrograph.resolvers.inputs import EdgeInput
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import InvalidInput, NotFound, RetrographError
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef, RunStatus
from tests.dump import dump
from tests.memory import Memory, edge, ref
from tests.planting import plant_edges


def test_healthy_sources_start_no_run(memory: Memory) -> None:
    a, b = memory.plant("a", "b")
    done = memory.link("b REQUIRES a", "a REQUIRES b", "a DERIVED_FROM b")
    assert [(e.source_id, e.target_id, e.type.name) for e in done.edges] == [
        (b, a, "REQUIRES"),
        (a, b, "REQUIRES"),
        (a, b, "DERIVED_FROM"),
    ]
    assert {(e.valid_from, e.valid_to, e.as_of) for e in done.edges} == {
        (done.instant, None, done.instant)
    }
    assert done.run is None
    assert memory.runs() == []


def test_an_edge_that_exists_is_returned_as_it_is(memory: Memory) -> None:
    memory.plant("a", "b")
    (first,) = memory.link("a REQUIRES b").edges
    done = memory.link("a DERIVED_FROM b", "a REQUIRES b")
    assert done.edges[1].id == first.id
    assert done.edges[1].valid_from == first.valid_from
    assert done.edges[0].id > first.id


def test_an_edge_that_exists_passes_nothing_again(memory: Memory) -> None:
    (a,) = memory.plant("a", validity=Validity.INVALID)
    (b,) = memory.plant("b")
    plant_edges(memory.store, [(a, b, EdgeType.REQUIRES)])
    assert memory.link("a REQUIRES b").run is None
    assert memory.sick() == {"a": "INVALID"}


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("REQUIRES", Validity.INVALID, "INVALID"),
        ("REQUIRES", Validity.SUPERSEDED, "INVALID"),
        ("VALID_ONLY_WHEN", Validity.DEFINITELY_STALE, "DEFINITELY_STALE"),
        ("DERIVED_FROM", Validity.INVALID, "DEFINITELY_STALE"),
        ("DERIVED_FROM", Validity.POTENTIALLY_STALE, "POTENTIALLY_STALE"),
        ("OBSERVED_FROM", Validity.INVALID, "POTENTIALLY_STALE"),
        ("SUPPORTED_BY", Validity.INVALID, "DEFINITELY_STALE"),
        ("SUPPORTED_BY", Validity.POTENTIALLY_STALE, "POTENTIALLY_STALE"),
    ],
)
def test_an_unhealthy_source_passes_its_severity_on(
    memory: Memory, kind: str, source: Validity, target: str
) -> None:
    (a,) = memory.plant("a", validity=source)
    memory.plant("b")
    done = memory.link(f"a {kind} b")
    run = done.run
    assert run is not None
    assert (run.root_id, run.reason, run.effect) == (a, "LINKED", source)
    assert (run.status, run.executed_at) == (RunStatus.APPLIED, done.instant)
    assert memory.states()["b"] == target
    assert memory.fallen(run) == {"b": (target, ["a", "b"])}
    assert memory.told(done.instant) == [("NODE_STALE", "b")]


def test_one_run_a_call_goes_on_from_all_new_edges(memory: Memory) -> None:
    memory.plant("a", "b")
    low, high = memory.plant("low", "high", validity=Validity.INVALID)
    memory.plant("c", "d", "e")
    memory.link("c REQUIRES d", "d DERIVED_FROM e")
    done = memory.link("high REQUIRES c", "low OBSERVED_FROM c", "low OBSERVED_FROM b")
    assert done.run is not None
    assert done.run.root_id == low < high
    assert memory.fallen(done.run) == {
        "b": ("POTENTIALLY_STALE", ["low", "b"]),
        "c": ("INVALID", ["high", "c"]),
        "d": ("INVALID", ["high", "c", "d"]),
        "e": ("DEFINITELY_STALE", ["high", "c", "d", "e"]),
    }
    assert len(memory.runs()) == 1


def test_only_new_edges_pass_what_was_there_before(memory: Memory) -> None:
    """An old edge out of an unhealthy source that a run did not raise stays silent."""
    (a,) = memory.plant("a", validity=Validity.INVALID)
    (b,) = memory.plant("b")
    memory.plant("c")
    plant_edges(memory.store, [(a, b, EdgeType.REQUIRES)])
    memory.link("a OBSERVED_FROM c")
    assert memory.sick() == {"a": "INVALID", "c": "POTENTIALLY_STALE"}


def test_a_pinned_source_passes_its_projected_severity(memory: Memory) -> None:
    memory.plant("a", pinned=True)
    memory.plant("b")
    memory.fell("a", Validity.DEFINITELY_STALE)
    assert memory.states() == {"a": "CURRENTLY_VALID", "b": "CURRENTLY_VALID"}
    done = memory.link("a REQUIRES b")
    assert memory.sick() == {"b": "DEFINITELY_STALE"}
    assert done.run is not None
    assert done.run.effect is Validity.DEFINITELY_STALE


def test_a_target_that_is_as_ill_already_is_no_change(memory: Memory) -> None:
    memory.plant("a", validity=Validity.POTENTIALLY_STALE)
    memory.plant("b", validity=Validity.INVALID)
    done = memory.link("a REQUIRES b")
    assert done.run is not None
    assert done.run.status is RunStatus.NO_CHANGE
    assert memory.events([done.instant]) == []


def test_a_contradiction_by_an_unhealthy_source_passes_nothing(memory: Memory) -> None:
    memory.plant("a", "b", validity=Validity.INVALID)
    assert memory.link("a CONTRADICTS b").run is None


def test_a_new_supersession_supersedes_its_target(memory: Memory) -> None:
    _, old, _, _ = memory.plant("new", "old", "needs", "sees")
    memory.link("old REQUIRES needs", "old OBSERVED_FROM sees")
    done = memory.link("new SUPERSEDES old")
    run = done.run
    assert run is not None
    assert (run.root_id, run.effect, run.reason) == (old, Validity.SUPERSEDED, "LINKED")
    assert memory.sick() == {"old": "SUPERSEDED", "needs": "INVALID", "sees": "POTENTIALLY_STALE"}
    assert memory.fallen(run)["old"] == ("SUPERSEDED", ["old"])


def test_superseding_an_invalid_node_only_changes_its_name(memory: Memory) -> None:
    _, dependent = memory.plant("new", "dependent")
    (old,) = memory.plant("old", validity=Validity.INVALID)
    plant_edges(memory.store, [(old, dependent, EdgeType.REQUIRES)])
    memory.link("new SUPERSEDES old")
    assert memory.states() == {
        "new": "CURRENTLY_VALID",
        "dependent": "CURRENTLY_VALID",
        "old": "SUPERSEDED",
    }


def test_supersessions_and_unhealthy_sources_of_one_call_are_one_run(memory: Memory) -> None:
    memory.plant("new", "old", "x")
    (ill,) = memory.plant("ill", validity=Validity.DEFINITELY_STALE)
    done = memory.link("new SUPERSEDES old", "ill REQUIRES x")
    assert done.run is not None
    assert done.run.root_id == ill
    assert memory.sick() == {"old": "SUPERSEDED", "x": "DEFINITELY_STALE"} | {
        "ill": "DEFINITELY_STALE"
    }
    assert len(memory.runs()) == 1


def test_edges_may_close_a_cycle(memory: Memory) -> None:
    memory.plant("a", "b")
    memory.link("a REQUIRES b", "b REQUIRES a")
    memory.fell("a")
    assert memory.sick() == {"a": "INVALID", "b": "INVALID"}


BAD: list[tuple[EdgeInput, type[RetrographError], str, tuple[str, ...]]] = [
    (edge("a REQUIRES a"), InvalidInput, "SELF_LOOP", ()),
    (edge("a REQUIRES b"), InvalidInput, "DUPLICATE_EDGE", ()),
    (edge("nobody REQUIRES a"), NotFound, "NOT_FOUND", ("source", "key")),
    (edge("a REQUIRES nobody"), NotFound, "NOT_FOUND", ("target", "key")),
    (edge("a REQUIRES elsewhere"), NotFound, "NOT_FOUND", ("target", "key")),
    (
        EdgeInput(ref("a"), NodeRef(id=3), EdgeType.REQUIRES),
        NotFound,
        "NOT_FOUND",
        ("target", "id"),
    ),
    (
        EdgeInput(NodeRef(id=99), ref("a"), EdgeType.REQUIRES),
        NotFound,
        "NOT_FOUND",
        ("source", "id"),
    ),
    (EdgeInput(NodeRef(id=1), ref("b"), EdgeType.REQUIRES), InvalidInput, "DUPLICATE_EDGE", ()),
]


@pytest.mark.parametrize(("bad", "kind", "code", "path"), BAD)
def test_one_bad_edge_refuses_the_whole_call(
    memory: Memory,
    bad: EdgeInput,
    kind: type[RetrographError],
    code: str,
    path: tuple[str, ...],
) -> None:
    assert memory.plant("a", "b") == [1, 2]
    assert Memory(memory.scope, 2).plant("elsewhere") == [3]
    before = dump(memory.store)
    with pytest.raises(kind) as caught:
        link_nodes(memory.scope, 1, [edge("a REQUIRES b"), bad])
    assert (caught.value.code, caught.value.path) == (code, ("input", "edges", "1", *path))
    assert dump(memory.store) == before


@pytest.mark.parametrize("size", [0, 1001])
def test_a_batch_out_of_bounds_is_refused(memory: Memory, size: int) -> None:
    memory.plant("a", "b")
    before = dump(memory.store)
    with pytest.raises(InvalidInput):
        memory.link(*["a REQUIRES b"] * size)
    assert dump(memory.store) == before

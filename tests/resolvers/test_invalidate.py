"""`invalidate`: the request around the cascade: effects, instants, plans, versions, keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.previews import preview_invalidation
from retrograph.rules.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NotFound,
    PlanChanged,
    RetrographError,
    RunTooLarge,
    VersionConflict,
)
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef, RunStatus
from tests.clock import START, ManualClock
from tests.dump import dump
from tests.memory import Memory, ref


@pytest.fixture
def chain(memory: Memory) -> Memory:
    """Three nodes a, b, c, each requiring the one before."""
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c")
    return memory


def plan_of(memory: Memory, key: str, at: int | None = None) -> str:
    return preview_invalidation(memory.scope, 1, ref(key), Validity.INVALID, at).plan_hash


def test_the_run_tells_what_was_asked_and_done(chain: Memory) -> None:
    run = chain.fell("a", reason="the meter was wrong")
    assert run.reason == "the meter was wrong"
    assert (run.status, run.effect) == (RunStatus.APPLIED, Validity.INVALID)
    assert run.executed_at == run.effective_at == run.as_of == chain.store.clock(1, 1)
    assert (run.impact_count, run.reverts_run_id, run.reverted_at) == (3, None, None)
    assert chain.runs() == [run]


def test_a_node_is_felled_by_id_too(chain: Memory) -> None:
    root = NodeRef(id=chain.node("b").id)
    invalidate(chain.scope, 1, Invalidation(root, "wrong"))
    assert chain.sick() == {"b": "INVALID", "c": "INVALID"}


@pytest.mark.parametrize(
    ("effect", "others"),
    [
        (Validity.POTENTIALLY_STALE, "POTENTIALLY_STALE"),
        (Validity.DEFINITELY_STALE, "DEFINITELY_STALE"),
        (Validity.INVALID, "INVALID"),
        (Validity.SUPERSEDED, "INVALID"),
    ],
)
def test_every_effect(chain: Memory, effect: Validity, others: str) -> None:
    chain.fell("a", effect)
    assert chain.sick() == {"a": effect.name, "b": others, "c": others}


def test_an_invalid_node_that_is_superseded_becomes_so_without_a_cascade(chain: Memory) -> None:
    chain.fell("a", Validity.INVALID)
    run = chain.fell("a", Validity.SUPERSEDED)
    assert chain.fallen(run) == {"a": ("SUPERSEDED", ["a"])}
    assert chain.told(run.executed_at) == [("NODE_STALE", "a")]


def test_a_node_knows_the_impact_that_gave_it_its_state(chain: Memory) -> None:
    soft = chain.fell("b", Validity.POTENTIALLY_STALE)
    hard = chain.fell("a")
    late = chain.fell("c")
    assert late.status is RunStatus.NO_CHANGE
    assert {key: (n.run_id, n.run_ordinal) for key, n in chain.nodes().items()} == {
        "a": (hard.id, 0),
        "b": (hard.id, 1),
        "c": (hard.id, 2),
    }
    assert chain.node("c", hard.executed_at - 1).run_id == soft.id


def test_two_invalidations_of_a_healthy_graph_commute(chain: Memory) -> None:
    chain.plant("x")
    chain.link("x DERIVED_FROM b")
    chain.fell("x")
    chain.fell("a", Validity.DEFINITELY_STALE)
    assert chain.sick() == dict.fromkeys("abc", "DEFINITELY_STALE") | {"x": "INVALID"}


def test_a_past_effective_at_is_recorded_and_changes_nothing_else(chain: Memory) -> None:
    run = chain.fell("a", effective_at=5)
    assert (run.effective_at, run.executed_at) == (5, chain.store.clock(1, 1))
    assert chain.sick(run.executed_at - 1) == {}


def test_now_is_no_future(chain: Memory) -> None:
    assert chain.fell("a", effective_at=START).effective_at == START


def test_another_fleet_is_neither_read_nor_written(chain: Memory) -> None:
    other = Memory(chain.scope, 2)
    other.plant("a", "b")
    other.link("a REQUIRES b")
    before = other.nodes()
    chain.fell("a")
    assert other.nodes() == before
    assert (other.runs(), other.events()) == ([], [])


def test_a_run_too_large_is_refused_whole(chain: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrograph.storage.write.MAX_IMPACTS", 2)
    before = dump(chain.store)
    with pytest.raises(RunTooLarge):
        chain.fell("a")
    assert dump(chain.store) == before
    assert chain.fell("b").impact_count == 2


def test_the_expected_plan_lets_the_very_cascade_through(chain: Memory) -> None:
    plan = plan_of(chain, "a")
    assert chain.fell("a", expected_plan=plan).status is RunStatus.APPLIED


def test_another_cascade_than_the_expected_one_is_refused(chain: Memory) -> None:
    plan = plan_of(chain, "a")
    chain.plant("d")
    chain.link("c REQUIRES d")
    before = dump(chain.store)
    with pytest.raises(PlanChanged) as caught:
        chain.fell("a", expected_plan=plan)
    assert caught.value.plan_hash == plan_of(chain, "a") != plan
    assert dump(chain.store) == before


def test_what_does_not_touch_the_cascade_leaves_the_plan(chain: Memory) -> None:
    plan = plan_of(chain, "b")
    chain.plant("d")
    chain.link("a REQUIRES d")
    assert plan_of(chain, "b") == plan


def test_a_preview_of_the_past_is_that_of_then(chain: Memory) -> None:
    at, plan = chain.store.clock(1, 1), plan_of(chain, "a")
    chain.plant("d")
    chain.link("c REQUIRES d")
    chain.fell("b")
    assert plan_of(chain, "a", at) == plan
    assert plan_of(chain, "a") != plan


def test_the_expected_version_lets_the_run_through_once(chain: Memory) -> None:
    version = chain.node("a").version_id
    chain.fell("a", Validity.POTENTIALLY_STALE, expected_version=version)
    with pytest.raises(VersionConflict) as caught:
        chain.fell("a", expected_version=version)
    assert caught.value.current == chain.node("a").version_id


def test_the_same_request_again_gets_the_first_run(chain: Memory) -> None:
    first = chain.fell("a", idempotency_key="k")
    versions, events = chain.states(), chain.events()
    again = chain.fell("a", idempotency_key="k")
    assert replace(again, as_of=first.as_of) == first
    assert (chain.states(), chain.events(), len(chain.runs())) == (versions, events, 1)


def test_a_replay_ignores_what_has_happened_since(chain: Memory) -> None:
    """The checks of the first time are not made again: it is the first answer."""
    version, plan = chain.node("a").version_id, plan_of(chain, "a")

    def ask() -> int:
        run = chain.fell("a", idempotency_key="k", expected_plan=plan, expected_version=version)
        return run.id

    first = ask()
    chain.plant("d")
    assert ask() == first


@pytest.mark.parametrize(
    "other",
    [
        {"key": "b"},
        {"reason": "other"},
        {"effect": Validity.DEFINITELY_STALE},
        {"effective_at": 5},
        {"expected_version": "1@1"},
        {"expected_plan": "0"},
    ],
)
def test_a_key_names_one_request_only(chain: Memory, other: dict[str, object]) -> None:
    chain.fell("a", idempotency_key="k")
    before = dump(chain.store)
    with pytest.raises(IdempotencyKeyReused):
        chain.fell(**({"key": "a", "idempotency_key": "k"} | other))  # type: ignore[arg-type]
    assert dump(chain.store) == before


def test_a_refused_request_does_not_use_its_key_up(chain: Memory) -> None:
    with pytest.raises(NotFound):
        chain.fell("nobody", idempotency_key="k")
    assert chain.fell("a", idempotency_key="k").status is RunStatus.APPLIED


def test_a_key_belongs_to_its_fleet(chain: Memory) -> None:
    other = Memory(chain.scope, 2)
    other.plant("a")
    first = chain.fell("a", idempotency_key="k")
    assert other.fell("a", idempotency_key="k").id != first.id


@pytest.mark.parametrize(
    ("request_", "kind", "path"),
    [
        (Invalidation(ref("nobody"), "r"), NotFound, ("root", "key")),
        (Invalidation(NodeRef(id=99), "r"), NotFound, ("root", "id")),
        (Invalidation(ref("elsewhere"), "r"), NotFound, ("root", "key")),
        (Invalidation(ref("a"), ""), InvalidInput, ("reason",)),
        (Invalidation(ref("a"), " \t\n"), InvalidInput, ("reason",)),
        (Invalidation(ref("a"), "\0"), InvalidInput, ("reason",)),
        (Invalidation(ref("a"), "r", Validity.REVALIDATED), InvalidInput, ("effect",)),
        (Invalidation(ref("a"), "r", Validity.CURRENTLY_VALID), InvalidInput, ("effect",)),
        (Invalidation(ref("a"), "r", effective_at=START + 1), InvalidInput, ("effectiveAt",)),
        (Invalidation(ref("a"), "r", idempotency_key=""), InvalidInput, ("idempotencyKey",)),
        (Invalidation(ref("a"), "r", expected_plan="0"), PlanChanged, ("expectedPlan",)),
        (
            Invalidation(ref("a"), "r", expected_version="1@1"),
            VersionConflict,
            ("expectedVersion",),
        ),
    ],
)
def test_bad_input_changes_nothing(
    chain: Memory, request_: Invalidation, kind: type[RetrographError], path: tuple[str, ...]
) -> None:
    Memory(chain.scope, 2).plant("elsewhere")
    before = dump(chain.store)
    with pytest.raises(kind) as caught:
        invalidate(chain.scope, 1, request_)
    assert caught.value.path == ("input", *path)
    assert dump(chain.store) == before


def test_the_machines_clock_may_step_back(chain: Memory, clock: ManualClock) -> None:
    last = chain.store.clock(1, 1)
    clock.now = last - 1_000_000
    assert chain.fell("a").executed_at == last + 1

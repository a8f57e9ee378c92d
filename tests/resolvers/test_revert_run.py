"""`revertRun`: former states, and runs, come back where nothing newer has touched them."""

from __future__ import annotations

import pytest

from retrograph.resolvers.inputs import NodeInput, Supersession
from retrograph.resolvers.outcomes import RunReverted
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.supersede import supersede
from retrograph.rules.cascade import Seeds, cascade
from retrograph.rules.errors import InvalidInput, NotFound, RunNotRevertible
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.records import NodeRecord, RunRecord, RunStatus
from retrograph.storage.verdicts import InMemory
from retrograph.storage.write import Write
from tests.dump import dump
from tests.memory import NEW, Memory, ref


@pytest.fixture
def chain(memory: Memory) -> Memory:
    """Three nodes a, b, c, each requiring the one before."""
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c")
    return memory


@pytest.fixture
def fork(memory: Memory) -> Memory:
    """A node n that requires both a and b, and that m requires."""
    memory.plant("a", "b", "n", "m")
    memory.link("a REQUIRES n", "b REQUIRES n", "n REQUIRES m")
    return memory


def revert(memory: Memory, run: RunRecord | None, reason: str | None = None) -> RunReverted:
    assert run is not None
    return revert_run(memory.scope, 1, run.id, reason)


def keys(memory: Memory, ids: list[int]) -> list[str]:
    names = {node.id: key for key, node in memory.nodes().items()}
    return [names[node_id] for node_id in ids]


def told(node: NodeRecord) -> tuple[object, ...]:
    """All of a node's state that a revert gives back."""
    return (
        node.validity,
        node.projected,
        node.pinned,
        node.confidence,
        node.run_id,
        node.run_ordinal,
    )


def test_everything_is_as_it_was(chain: Memory) -> None:
    before = {key: told(node) for key, node in chain.nodes().items()}
    felled = chain.fell("a")
    done = revert(chain, felled)
    assert {key: told(node) for key, node in chain.nodes().items()} == before
    assert keys(chain, done.restored) == ["a", "b", "c"]
    assert done.left_alone == []


def test_a_revert_is_itself_a_run(chain: Memory) -> None:
    felled = chain.fell("a")
    done = revert(chain, felled)
    run = done.run
    assert (run.reverts_run_id, run.root_id) == (felled.id, felled.root_id)
    assert (run.status, run.effect) == (RunStatus.APPLIED, Validity.CURRENTLY_VALID)
    assert (run.executed_at, run.impact_count) == (done.instant, 3)
    assert run.reason == f"REVERTED {felled.id}"
    assert [(i["node"], i["from"], i["to"], i["depth"]) for i in chain.impacts(run)] == [
        (key, "INVALID", "CURRENTLY_VALID", 0) for key in "abc"
    ]
    assert chain.told(done.instant) == [
        ("NODE_RESTORED", "a"),
        ("NODE_RESTORED", "b"),
        ("NODE_RESTORED", "c"),
        ("RUN_REVERTED", "a"),
    ]


def test_its_reason_may_be_given(chain: Memory) -> None:
    assert revert(chain, chain.fell("a"), "a slip").run.reason == "a slip"


def test_the_old_run_is_reverted_only_from_that_instant_on(chain: Memory) -> None:
    felled = chain.fell("a")
    done = revert(chain, felled)
    now, then = chain.run(felled), chain.run(felled, done.instant - 1)
    assert (now.status, now.reverted_at) == (RunStatus.REVERTED, done.instant)
    assert now.reverted_by_run_id == done.run.id
    assert (then.status, then.reverted_at, then.reverted_by_run_id) == (
        RunStatus.APPLIED,
        None,
        None,
    )
    assert chain.sick(done.instant - 1) == dict.fromkeys("abc", "INVALID")


def test_what_a_newer_run_touched_is_left_alone_and_named(chain: Memory) -> None:
    soft = chain.fell("b", Validity.POTENTIALLY_STALE)
    chain.fell("c", Validity.DEFINITELY_STALE)
    done = revert(chain, soft)
    assert (keys(chain, done.restored), keys(chain, done.left_alone)) == (["b"], ["c"])
    assert chain.sick() == {"c": "DEFINITELY_STALE"}


def test_when_the_newer_run_is_reverted_first_the_older_one_goes_whole(chain: Memory) -> None:
    soft = chain.fell("a", Validity.POTENTIALLY_STALE)
    hard = chain.fell("b")
    revert(chain, hard)
    assert chain.sick() == dict.fromkeys("abc", "POTENTIALLY_STALE")
    assert chain.node("c").run_id == soft.id
    assert revert(chain, soft).left_alone == []
    assert chain.sick() == {}


def test_a_former_ill_state_comes_back_with_its_run(chain: Memory) -> None:
    soft = chain.fell("a", Validity.POTENTIALLY_STALE)
    hard = chain.fell("a")
    done = revert(chain, hard)
    assert chain.node("b").run_id == soft.id
    assert done.run.effect is Validity.POTENTIALLY_STALE
    assert ("NODE_STALE", "b") in chain.told(done.instant)


def test_two_requirements_felled_in_turn_the_first_reverted(fork: Memory) -> None:
    first = fork.fell("a")
    second = fork.fell("b")
    assert fork.fallen(second) == {"b": ("INVALID", ["b"])}

    done = revert(fork, first)

    assert fork.sick() == {"b": "INVALID", "n": "INVALID", "m": "INVALID"}
    assert (keys(fork, done.restored), done.left_alone) == (["a"], [])
    fallen = fork.fallen(done.run)
    assert fallen["n"] == ("INVALID", ["b", "n"])
    assert fallen["m"] == ("INVALID", ["b", "n", "m"])
    assert fork.node("n").run_id == done.run.id


def test_a_milder_later_cause_leaves_a_milder_state(memory: Memory) -> None:
    memory.plant("a", "b", "n")
    memory.link("a REQUIRES n", "b OBSERVED_FROM n")
    first = memory.fell("a")
    memory.fell("b")
    done = revert(memory, first)
    assert memory.sick() == {"b": "INVALID", "n": "POTENTIALLY_STALE"}
    (impact,) = [each for each in memory.impacts(done.run) if each["node"] == "n"]
    assert (impact["from"], impact["to"]) == ("INVALID", "POTENTIALLY_STALE")


def test_a_reverted_later_cause_does_not_count(fork: Memory) -> None:
    first, second = fork.fell("a"), fork.fell("b")
    revert(fork, second)
    revert(fork, first)
    assert fork.sick() == {}


def test_both_reverted_in_their_own_order_leave_nothing(fork: Memory) -> None:
    first, second = fork.fell("a"), fork.fell("b")
    again = revert(fork, first)
    done = revert(fork, second)
    assert keys(fork, done.restored) == ["b"]
    assert fork.sick() == {"n": "INVALID", "m": "INVALID"}
    assert fork.run(again.run).status is RunStatus.APPLIED


def test_an_earlier_cause_is_not_judged_again(fork: Memory) -> None:
    """Its effect was in the former state already, or somebody has judged it since."""
    fork.fell("b", Validity.POTENTIALLY_STALE)
    second = fork.fell("a")
    revert(fork, second)
    assert fork.sick() == dict.fromkeys("bnm", "POTENTIALLY_STALE")


def test_a_revert_of_a_revert_fells_again(chain: Memory) -> None:
    felled = chain.fell("a")
    states = {key: told(node) for key, node in chain.nodes().items()}
    first = revert(chain, felled)
    second = revert(chain, first.run)
    assert {key: told(node) for key, node in chain.nodes().items()} == states
    assert keys(chain, second.restored) == ["a", "b", "c"]
    assert second.left_alone == []
    assert chain.run(first.run).status is RunStatus.REVERTED
    revert(chain, second.run)
    assert chain.sick() == {}


def test_what_was_touched_after_a_revert_is_left_alone_by_its_revert(chain: Memory) -> None:
    first = revert(chain, chain.fell("a"))
    chain.fell("c", Validity.POTENTIALLY_STALE)
    second = revert(chain, first.run)
    assert (keys(chain, second.restored), keys(chain, second.left_alone)) == (["a", "b"], ["c"])


def test_a_cause_that_a_revert_of_a_revert_raised_is_a_later_one(fork: Memory) -> None:
    restored = revert(fork, fork.fell("a"))
    second = fork.fell("b")
    revert(fork, restored.run)
    assert fork.states()["a"] == "INVALID"
    done = revert(fork, second)
    assert fork.sick() == {"a": "INVALID", "n": "INVALID", "m": "INVALID"}
    assert fork.fallen(done.run)["m"] == ("INVALID", ["a", "n", "m"])


def test_a_supersession_is_undone_but_its_node_and_edge_stay(chain: Memory) -> None:
    by = NodeInput("new", kind=NEW)
    run = supersede(chain.scope, 1, Supersession(ref("a"), by, "newer"))
    revert(chain, run)
    assert chain.states() == dict.fromkeys(["a", "b", "c", "new"], "CURRENTLY_VALID")
    assert chain.link("new SUPERSEDES a").run is None


def test_what_links_did_is_undone_but_the_edges_stay(memory: Memory) -> None:
    memory.plant("a", validity=Validity.INVALID)
    memory.plant("b", "c")
    memory.link("b REQUIRES c")
    linked = memory.link("a REQUIRES b")
    done = revert(memory, linked.run)
    assert memory.sick() == {"a": "INVALID"}
    assert (keys(memory, done.restored), done.run.effect) == (["b", "c"], Validity.INVALID)
    assert memory.link("a REQUIRES b").run is None


def test_what_changed_content_did_is_undone_but_the_content_stays(chain: Memory) -> None:
    (run,) = chain.put(NodeInput("a", payload=2)).runs
    revert(chain, run)
    assert chain.sick() == {}
    assert chain.node("a").payload == "2"


def test_an_unpinning_is_undone_with_its_pin(memory: Memory) -> None:
    memory.plant("a", "b")
    memory.link("a DERIVED_FROM b")
    pin_node(memory.scope, 1, ref("b"), pinned=True, reason="known")
    memory.fell("a")
    pinned = memory.node("b")
    unpinned = pin_node(memory.scope, 1, ref("b"), pinned=False)
    first = revert(memory, unpinned.run)
    assert told(memory.node("b")) == told(pinned)
    assert memory.node("b").pin_reason == "known"

    revert(memory, first.run)
    assert told(memory.node("b")) == told(unpinned.node)


def test_a_pinned_nodes_projected_state_is_undone(memory: Memory) -> None:
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c")
    pin_node(memory.scope, 1, ref("b"), pinned=True)
    run = memory.fell("a")
    revert(memory, run)
    assert memory.sick() == {}
    assert memory.node("b").projected is Validity.CURRENTLY_VALID
    assert memory.node("b").pinned


def test_a_pin_put_since_stays_and_keeps_the_stored_state(chain: Memory) -> None:
    run = chain.fell("a")
    stored = chain.node("b").validity
    pin_node(chain.scope, 1, ref("b"), pinned=True, reason="since")
    revert(chain, run)
    node = chain.node("b")
    assert (node.pinned, node.pin_reason) == (True, "since")
    assert (node.validity, node.projected) == (stored, Validity.CURRENTLY_VALID)
    pin_node(chain.scope, 1, ref("b"), pinned=False)
    assert chain.node("b").validity is Validity.CURRENTLY_VALID


def test_another_cause_for_the_same_state_is_no_event(memory: Memory) -> None:
    memory.plant("a", "x", "b")
    memory.link("a DERIVED_FROM b", "x DERIVED_FROM b")
    first = memory.fell("a")
    memory.fell("x")
    done = revert(memory, first)
    assert memory.told(done.instant) == [("NODE_RESTORED", "a"), ("RUN_REVERTED", "a")]
    assert memory.fallen(done.run)["b"][1] == ["x", "b"]


def test_a_pin_taken_away_since_stays_away(chain: Memory) -> None:
    pin_node(chain.scope, 1, ref("c"), pinned=True)
    soft = chain.fell("c", Validity.POTENTIALLY_STALE)
    unpinned = pin_node(chain.scope, 1, ref("c"), pinned=False)
    done = revert(chain, soft)
    assert keys(chain, done.left_alone) == ["c"]
    assert chain.node("c").run_id == (unpinned.run.id if unpinned.run else None)


def test_two_runs_at_one_instant_are_undone_one_by_one(memory: Memory) -> None:
    memory.plant("a", "b", "x", "y")
    memory.link("a REQUIRES x", "b REQUIRES y")
    one, two = memory.put(NodeInput("a", payload=1), NodeInput("b", payload=1)).runs
    revert(memory, one)
    assert memory.sick() == {"y": "POTENTIALLY_STALE"}
    revert(memory, two)
    assert memory.sick() == {}


def test_of_two_runs_at_one_instant_the_second_is_the_newer(memory: Memory) -> None:
    """`new` is superseding with other content: what rests on both is touched by two runs."""
    memory.plant("old", "new", "both", "further")
    memory.link("old OBSERVED_FROM further", "new REQUIRES both", "both REQUIRES further")
    run = supersede(memory.scope, 1, Supersession(ref("old"), NodeInput("new", payload=1), "r"))
    second, first = memory.runs()
    assert (first.id, second.executed_at) == (run.id, run.executed_at)
    assert memory.node("further").run_id == first.id
    done = revert(memory, second)
    assert keys(memory, done.restored) == ["both"]
    assert memory.sick() == {"old": "SUPERSEDED", "further": "POTENTIALLY_STALE"}


def test_the_former_state_of_a_second_run_is_what_the_first_made(chain: Memory) -> None:
    """No version tells it: both runs share an instant."""

    def fell_twice(write: Write) -> tuple[RunRecord, RunRecord]:
        return soften(write, Validity.POTENTIALLY_STALE), soften(write, Validity.INVALID)

    def soften(write: Write, effect: Validity) -> RunRecord:
        fallen = cascade(write.graph(), Seeds(roots={root: effect}))
        return record_run(write, RunOrder(root, effect, "batch"), InMemory(fallen))

    root = chain.node("b").id
    first, second = chain.store.write(1, 1, fell_twice)
    assert revert(chain, second).left_alone == []
    assert chain.sick() == dict.fromkeys("bc", "POTENTIALLY_STALE")
    assert chain.node("c").run_id == first.id
    assert revert(chain, first).left_alone == []
    assert chain.sick() == {}


def test_reevaluations_are_no_changes_to_undo(memory: Memory) -> None:
    memory.plant("a")
    memory.plant("b", validity=Validity.POTENTIALLY_STALE)
    memory.link("a CONTRADICTS b")
    run = memory.fell("a")
    assert [impact["kind"] for impact in memory.impacts(run)] == ["CHANGED", "REEVALUATE"]
    done = revert(memory, run)
    assert (keys(memory, done.restored), done.left_alone) == (["a"], [])
    assert memory.sick() == {"b": "POTENTIALLY_STALE"}


def test_the_graph_follows(chain: Memory) -> None:
    """What is warm must say what the tables say: the same cascade again is the same."""
    first = chain.fell("a")
    revert(chain, first)
    again = chain.fell("a")
    assert chain.impacts(again) == chain.impacts(first)


@pytest.mark.parametrize("bad", ["no change", "twice", "unknown", "elsewhere"])
def test_what_cannot_be_reverted_changes_nothing(chain: Memory, bad: str) -> None:
    other = Memory(chain.scope, 2)
    other.plant("a")
    felled = chain.fell("a")
    runs = {
        "no change": chain.fell("a").id,
        "twice": felled.id,
        "unknown": 999,
        "elsewhere": other.fell("a").id,
    }
    revert(chain, felled)
    before = dump(chain.store)
    kind = RunNotRevertible if bad in {"no change", "twice"} else NotFound
    with pytest.raises(kind) as caught:
        revert_run(chain.scope, 1, runs[bad])
    assert caught.value.path == ("input", "runId")
    assert dump(chain.store) == before


def test_a_bad_reason_changes_nothing(chain: Memory) -> None:
    felled = chain.fell("a")
    before = dump(chain.store)
    with pytest.raises(InvalidInput):
        revert(chain, felled, "\0")
    assert dump(chain.store) == before

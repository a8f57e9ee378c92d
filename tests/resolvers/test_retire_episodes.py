"""`retireEpisodes`: episodes leave, and with them what was derived from them in the graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrograph.resolvers.episode_inputs import Source
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.rules.reflection import EpisodeStatus
from retrograph.storage.records import RunStatus
from tests.dump import dump
from tests.episodes import Episodes
from tests.memory import Memory, ref


@pytest.fixture
def episodes(memory: Memory) -> Episodes:
    return Episodes(memory)


@pytest.fixture
def poisoned(memory: Memory, episodes: Episodes) -> dict[str, int]:
    """Two executions of one agent and one of another; each says something in the graph."""
    memory.plant("n1", "n2", "n3", "derived", "kept")
    memory.link("n1 REQUIRES derived", "n2 DERIVED_FROM derived", "n3 REQUIRES kept")
    told = {"n1": ("x", "eve"), "n2": ("y", "eve"), "n3": ("z", "ann")}
    found = {
        key: episodes.learn([1], node=ref(key), execution=execution, agent=agent)
        for key, (execution, agent) in told.items()
    }
    return found | {"waiting": episodes.store([1], agent="eve").id}


def test_all_that_an_agent_gave_goes_at_once(
    memory: Memory, episodes: Episodes, poisoned: dict[str, int]
) -> None:
    done = episodes.retire(source=Source(agent="eve"), by="ann", reason="poisoned")
    gone = [poisoned[key] for key in ("n1", "n2", "waiting")]
    assert [each.id for each in done.retired] == gone
    state = done.retired[0].state
    assert (state.status, state.decided_by, state.note) == (
        EpisodeStatus.RETIRED, "ann", "poisoned",
    )  # fmt: skip
    assert memory.sick() == {"n1": "INVALID", "n2": "INVALID", "derived": "INVALID"}
    assert [run.reason for run in done.runs] == ["poisoned", "poisoned"]
    assert {run.executed_at for run in done.runs} == {done.instant}
    assert done.fallen == 3
    assert episodes.recall([1]) == [poisoned["n3"]]
    assert episodes.recall([1], at=done.instant - 1) == [poisoned[k] for k in ("n1", "n2", "n3")]
    assert memory.sick(done.instant - 1) == {}


@pytest.mark.parametrize("by_source", [True, False])
def test_a_dry_run_tells_it_and_does_nothing(
    memory: Memory, episodes: Episodes, poisoned: dict[str, int], by_source: bool
) -> None:
    before = dump(memory.store)
    named = {"source": Source("x", "eve")} if by_source else {}
    ids = () if by_source else (poisoned["n1"],)
    told = episodes.retire(*ids, dry_run=True, **named)
    assert (told.dry_run, told.fallen, told.runs) == (True, 2, [])
    assert [each.id for each in told.retired] == [poisoned["n1"]]
    assert dump(memory.store) == before
    done = episodes.retire(*ids, **named)
    assert (done.fallen, [each.id for each in done.retired]) == (2, [poisoned["n1"]])


def test_a_node_that_two_runs_fell_counts_once(memory: Memory, episodes: Episodes) -> None:
    """The first leaves it in doubt, the second makes it invalid."""
    memory.plant("a", "b", "x")
    memory.link("a DERIVED_FROM x", "b REQUIRES x")
    ids = [episodes.learn([1], node=ref(key), agent="eve") for key in ("a", "b")]
    told = episodes.retire(source=Source(agent="eve"), dry_run=True)
    done = episodes.retire(source=Source(agent="eve"))
    assert [each.id for each in done.retired] == ids
    assert [run.impact_count for run in done.runs] == [2, 2]
    assert (told.fallen, done.fallen) == (3, 3)


def test_what_is_retired_already_stays_so(episodes: Episodes, poisoned: dict[str, int]) -> None:
    first = episodes.retire(poisoned["n1"], by="ann")
    again = episodes.retire(poisoned["n1"], poisoned["n1"], by="bob")
    assert (again.retired, again.runs) == ([], [])
    (kept,) = (each for each in episodes.all() if each.id == poisoned["n1"])
    assert replace(kept, as_of=first.instant) == first.retired[0]


def test_a_source_that_gave_nothing_takes_nothing(memory: Memory, episodes: Episodes) -> None:
    assert episodes.retire(source=Source(agent="nobody")).retired == []
    assert memory.runs() == []


def test_a_node_that_fell_before_falls_no_further(
    memory: Memory, episodes: Episodes, poisoned: dict[str, int]
) -> None:
    memory.fell("n1")
    done = episodes.retire(poisoned["n1"])
    assert [run.status for run in done.runs] == [RunStatus.NO_CHANGE]


def test_bad_input_changes_nothing(
    memory: Memory, episodes: Episodes, poisoned: dict[str, int]
) -> None:
    before = dump(memory.store)
    one = poisoned["n1"]
    for ids, more in (
        ((), {}), ((one,), {"source": Source("x")}), ((), {"source": Source()}),
        ((one,), {"reason": " "}), ((one,), {"by": ""}), ((), {"source": Source(agent="\0")}),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            episodes.retire(*ids, **more)
    with pytest.raises(NotFound):
        episodes.retire(one, 99)
    assert dump(memory.store) == before

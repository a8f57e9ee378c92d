"""Early cut-off: what fell only because of what still says what it said needs no judgement."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from retrograph.resolvers.complete_revalidation import Outcome
from retrograph.resolvers.inputs import NodeInput, OnChange
from retrograph.resolvers.pin_node import pin_node
from retrograph.rules.validity import Validity
from retrograph.storage.task_records import DecisionKind, TaskStatus
from tests.memory import NEW, Memory, ref
from tests.resolvers.files import load, node
from tests.work import Work

DS, PS = Validity.DEFINITELY_STALE, Validity.POTENTIALLY_STALE


@pytest.fixture
def work(memory: Memory) -> Work:
    """Two sources, s and t, that b rests on; c rests on b, and d on c."""
    memory.put(*(NodeInput(key, kind=NEW) for key in "stbcd"))
    memory.link("s DERIVED_FROM b", "t OBSERVED_FROM b", "b DERIVED_FROM c", "c REQUIRES d")
    return Work(memory)


def unchanged(work: Work, key: str) -> list[str]:
    """Verifies a node as unchanged; the keys of those that healed with it."""
    done = work.judge(key, unchanged=True)
    names = {each.id: name for name, each in work.memory.nodes().items()}
    return [names[each] for each in done.restored]


def test_what_fell_only_because_of_it_heals_in_one_instant(work: Work) -> None:
    work.memory.fell("s", DS)
    tasks = work.open()
    done = work.judge("s", unchanged=True)
    assert done.restored == [tasks[key].node_id for key in "bcd"]
    assert work.memory.states() == {
        "s": "REVALIDATED", "t": "CURRENTLY_VALID",
        "b": "CURRENTLY_VALID", "c": "CURRENTLY_VALID", "d": "CURRENTLY_VALID",
    }  # fmt: skip
    assert {task.status for task in work.tasks()} == {TaskStatus.VERIFIED, TaskStatus.CUT_OFF}
    told = work.memory.told(done.instant)
    assert told == [("NODE_REVALIDATED", "s"), *(("NODE_RESTORED", key) for key in "bcd")]
    assert work.memory.work_told(done.instant) == []
    for key in "bcd":
        [decided] = work.decisions(key)
        assert decided.kind is DecisionKind.RESTORED_BY_CUTOFF
        assert decided.task_id == tasks[key].id


def test_a_plain_verification_heals_nothing_else(work: Work) -> None:
    work.memory.fell("s", DS)
    assert work.judge("s").restored == []
    assert work.stand() == {"b": "READY", "c": "WAITING", "d": "WAITING"}


def test_a_repair_that_changed_nothing_heals_too(work: Work) -> None:
    work.memory.fell("s")
    names = {each.id: key for key, each in work.memory.nodes().items()}
    done = work.repair("s", unchanged=True)
    assert [names[each] for each in done.restored] == ["b", "c", "d"]
    assert done.tasks == []
    assert work.stand() == {}


def a_source_changed_its_content(work: Work) -> None:
    work.memory.fell("s", DS)
    work.memory.put(NodeInput("t", payload=1), on_change=OnChange.KEEP)


def a_source_was_verified_as_changed(work: Work) -> None:
    work.memory.fell("t", DS)
    work.memory.fell("s", DS)
    work.judge("t")


def a_source_was_repaired_as_changed(work: Work) -> None:
    work.memory.fell("s", DS)
    work.repair("t")


def the_dependent_was_a_root(work: Work) -> None:
    work.memory.fell("s", DS)
    work.memory.fell("b", PS)


def the_dependent_was_a_root_before(work: Work) -> None:
    work.memory.fell("b", PS)
    work.memory.fell("s", DS)


def an_import_gave_the_state(work: Work) -> None:
    load(work.memory.scope, node("b", validity="DEFINITELY_STALE"))
    work.memory.fell("s", DS)


def another_source_is_sick(work: Work) -> None:
    work.memory.fell("s", DS)
    work.memory.fell("t", DS)


def another_source_is_sick_under_its_pin(work: Work) -> None:
    pin_node(work.memory.scope, 1, ref("t"), pinned=True)
    work.memory.fell("s", DS)
    work.memory.fell("t", DS)


@pytest.mark.parametrize(
    "spoil",
    [
        a_source_changed_its_content,
        a_source_was_verified_as_changed,
        a_source_was_repaired_as_changed,
        the_dependent_was_a_root,
        the_dependent_was_a_root_before,
        an_import_gave_the_state,
        another_source_is_sick,
        another_source_is_sick_under_its_pin,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_a_dependent_is_judged_itself_where(work: Work, spoil: Callable[[Work], None]) -> None:
    spoil(work)
    assert unchanged(work, "s") == []
    assert work.stand()["b"] in {"READY", "WAITING"}
    assert work.memory.states()["b"] in {DS.name, PS.name}


def test_a_held_task_is_not_cut_off(memory: Memory) -> None:
    memory.put(*(NodeInput(key, kind=NEW) for key in "abc"))
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM a", "b DERIVED_FROM c")
    memory.fell("a", DS)
    work = Work(memory)
    mine = work.claim()
    assert list(mine) == ["a", "b"]
    assert work.complete(mine["a"], Outcome.VERIFIED, unchanged=True).restored == []
    assert work.stand() == {"b": "LEASED", "c": "WAITING"}


def test_new_content_is_no_cut_off_even_of_what_fell_with_it(work: Work) -> None:
    work.memory.put(NodeInput("s", payload=1))
    assert work.stand() == {"b": "READY", "c": "WAITING", "d": "WAITING"}
    work.repair("s", unchanged=True)
    assert work.stand() == {"b": "READY", "c": "WAITING", "d": "WAITING"}
    assert unchanged(work, "b") == ["c", "d"]


def test_the_last_of_several_sick_sources_heals(work: Work) -> None:
    another_source_is_sick(work)
    assert unchanged(work, "t") == []
    assert unchanged(work, "s") == ["b", "c", "d"]


def test_an_older_spell_does_not_count(work: Work) -> None:
    work.memory.fell("b", DS)
    work.judge("b")
    work.memory.put(NodeInput("t", payload=1), on_change=OnChange.KEEP)
    for key in ("c", "d"):
        work.judge(key)
    work.memory.fell("s", DS)
    assert unchanged(work, "s") == ["b", "c", "d"]


def test_what_backs_off_heals_as_well(memory: Memory) -> None:
    memory.put(*(NodeInput(key, kind=NEW) for key in "ab"))
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM a")
    memory.fell("a", DS)
    work = Work(memory)
    work.judge("b", Outcome.ERROR)
    assert work.stand() == {"a": "READY", "b": "BACKING_OFF"}
    assert unchanged(work, "a") == ["b"]
    assert work.stand() == {}

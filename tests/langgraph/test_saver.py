"""What a saver keeps comes back exactly, in its place, and is a sound chain of the house."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from retrograph.client import Client, InvalidInput, NotFound
from retrograph.langgraph import CheckpointIdTaken, RetrographSaver
from retrograph.langgraph.place import Place
from retrograph.resolvers.checkpoints import get_checkpoint
from retrograph.resolvers.commit_checkpoint import Commit, commit_checkpoint
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules import errors as rules
from retrograph.storage.store import Store
from tests.langgraph.threads import Thread

HOSTILE: tuple[Any, ...] = (
    math.inf, 2**64 - 1, -(2**63), "\0", b"\xff\0", {1: [2, {3}]}, 1.0, None, [[]] * 3,
)  # fmt: skip
"""What JSON can't say, or not exactly."""


@pytest.fixture
def thread(saver: RetrographSaver) -> Thread:
    return Thread(saver)


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_any_value_comes_back_exactly(thread: Thread, value: Any) -> None:
    thread.put("1", kept=value, metadata={"source": "loop", "step": 1, "told": value})
    thread.write("1", "task", ("kept", value))
    found = thread.get()
    assert repr(found.checkpoint["channel_values"]) == repr({"kept": value})
    assert found.pending_writes is not None
    assert repr(found.pending_writes[0][2]) == repr(value)
    told = value.replace("\0", "") if isinstance(value, str) else value
    assert repr(dict(found.metadata)) == repr({"source": "loop", "step": 1, "told": told})


def test_a_checkpoint_can_be_read_as_one_of_the_house(thread: Thread, scope: Scope) -> None:
    thread.put("1", metadata={"source": "input", "step": -1})
    name = Place(thread.name).execution
    found = get_checkpoint(scope, 1, name)
    assert found is not None
    told = (found.session_id, found.state_node, found.idempotency_token, found.schema_version)
    assert told == (thread.name, "input -1", "1", "langgraph-1")
    assert verify_checkpoints(scope, 1, name, None).fault is None


def test_a_fork_is_a_new_head_behind_an_earlier_checkpoint(thread: Thread) -> None:
    thread.put("1")
    thread.put("2", "1")
    thread.put("3", "1", forked=True)
    assert thread.get().parent_config == thread.config("1")
    assert thread.get("2").parent_config == thread.config("1")
    assert thread.get("1").parent_config is None
    assert thread.ids() == ["3", "2", "1"]


def test_what_others_put_meanwhile_is_no_hindrance(thread: Thread, kept: Store) -> None:
    other = Thread(RetrographSaver.embedded(kept), thread.name)
    thread.put("1")
    other.put("2", "1")
    thread.put("3", "1")
    thread.saver.delete_thread(thread.name)
    other.put("4")
    assert thread.ids() == ["4"]


def test_many_writers_of_a_thread_all_succeed(thread: Thread, scope: Scope) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: thread.put(f"{number:02}"), range(24)))
    assert sorted(thread.ids()) == [f"{number:02}" for number in range(24)]
    assert verify_checkpoints(scope, 1, Place(thread.name).execution, None).checked == 24


def test_a_checkpoint_that_is_put_again_is_put_once(thread: Thread) -> None:
    thread.put("1", kept="a")
    thread.put("2", "1")
    thread.put("1", kept="a")
    assert thread.ids() == ["2", "1"]
    with pytest.raises(CheckpointIdTaken, match="new token"):
        thread.put("1", kept="b")
    assert thread.get("1").checkpoint["channel_values"] == {"kept": "a"}


def test_of_plain_writes_the_first_stands(thread: Thread) -> None:
    thread.put("1")
    thread.write("1", "task", ("a", 1), ("b", 2))
    thread.write("1", "task", ("a", 9), ("b", 2), ("c", 3))
    assert thread.pending("1") == [("task", "a", 1), ("task", "b", 2), ("task", "c", 3)]


def test_of_special_writes_the_last_stands(thread: Thread) -> None:
    thread.put("1")
    for answer in ("a", "b", "a"):
        thread.write("1", "task", (RESUME, [answer]))
        assert thread.pending("1") == [("task", RESUME, [answer])]
    thread.write("1", "task", (ERROR, "late"), (INTERRUPT, "ask"), ("kept", 1))
    assert {channel for _, channel, _ in thread.pending("1")} == {ERROR, INTERRUPT, RESUME, "kept"}


def test_writes_come_in_the_order_of_paths_tasks_and_indexes(thread: Thread) -> None:
    thread.put("1")
    thread.write("1", "a", ("x", 3), ("x", 4), path="2")
    thread.write("1", "b", ("x", 2), path="1")
    thread.write("1", "c", ("x", 1))
    assert [value for _, _, value in thread.pending("1")] == [1, 2, 3, 4]


def test_many_writes_are_read_by_page(thread: Thread) -> None:
    thread.put("1")
    for number in range(101):
        thread.write("1", f"{number:03}", ("x", number))
    assert [value for _, _, value in thread.pending("1")] == [*range(101)]


def test_writes_may_be_there_before_their_checkpoint(thread: Thread) -> None:
    thread.write("1/", "task", ("a", 1))
    thread.write("1", "task/", ("a", 2))
    assert thread.saver.get_tuple(thread.config()) is None
    assert thread.ids() == []
    thread.put("1")
    thread.put("1/")
    assert thread.pending("1") == [("task/", "a", 2)]
    assert thread.pending("1/") == [("task", "a", 1)]


def test_writes_of_nothing_enter_nothing_and_need_a_checkpoint(thread: Thread) -> None:
    thread.put("1")
    thread.write("1", "task")
    assert thread.pending("1") == []
    with pytest.raises(ValueError, match="checkpoint_id"):
        thread.saver.put_writes(thread.config(), [("a", 1)], "task")


NAMES = ("a", "a/", "a/b", "a%2Fb", "a%252Fb", "A", "ä", "a|b:c", "a ")


def test_threads_and_namespaces_with_any_names_stay_apart(saver: RetrographSaver) -> None:
    begin = Thread(saver).name
    places = [(begin + name, ns) for name in NAMES for ns in ("", *NAMES)]
    for number, (name, ns) in enumerate(places):
        Thread(saver, name, ns).put(f"{number:03}")
    for number, (name, ns) in enumerate(places):
        found = Thread(saver, name, ns).get()
        assert found.checkpoint["id"] == f"{number:03}"
        assert found.config["configurable"]["thread_id"] == name
        assert found.config["configurable"]["checkpoint_ns"] == ns
    listed = {
        each.checkpoint["id"] for each in saver.list({"configurable": {"thread_id": begin + "a/b"}})
    }
    assert listed == {
        f"{number:03}" for number, (name, _) in enumerate(places) if name == begin + "a/b"
    }
    saver.delete_thread(begin + "a/b")
    gone = [place for place in places if saver.get_tuple(Thread(saver, *place).config()) is None]
    assert gone == [place for place in places if place[0] == begin + "a/b"]


def test_all_threads_are_listed_where_none_is_named(saver: RetrographSaver) -> None:
    mark = {"source": "loop", "step": 1, "mark": Thread(saver).name}
    made = [Thread(saver), Thread(saver, ns="child")]
    for each in made:
        each.put("1", metadata=mark)
    found = list(saver.list(None, filter={"mark": mark["mark"]}))
    assert [each.config for each in found] == [each.config("1") for each in made]


def test_lists_are_cut_and_filtered(thread: Thread) -> None:
    for number in range(40):
        thread.put(f"{number:02}", metadata={"source": "loop", "step": number % 2})
    assert thread.ids(limit=3) == ["39", "38", "37"]
    assert thread.ids(limit=0) == []
    assert thread.ids(before=thread.config("02")) == ["01", "00"]
    assert thread.ids(before=thread.config("015"), limit=1) == ["01"]
    assert thread.ids(filter={"step": 0}, limit=2) == ["38", "36"]
    assert thread.ids(filter={"step": 0, "none": None}, before=thread.config("03")) == ["02", "00"]
    assert len(thread.ids()) == 40
    named = thread.saver.list(thread.config("07"))
    assert [each.checkpoint["id"] for each in named] == ["07"]
    assert list(thread.saver.list(thread.config("none"))) == []


def test_a_copy_can_be_made_again(thread: Thread) -> None:
    thread.put("1", kept="a")
    thread.put("2", "1", kept="b")
    thread.write("2", "task", ("x", 1))
    copy = Thread(thread.saver)
    for _ in range(2):
        thread.saver.copy_thread(thread.name, copy.name)
    assert copy.ids() == ["2", "1"]
    assert copy.get().parent_config == copy.config("1")
    assert copy.pending("2") == [("task", "x", 1)]


def test_pruning_keeps_what_a_delta_needs(thread: Thread) -> None:
    counting = {"source": "loop", "step": 1, "counters_since_delta_snapshot": {"log": (1, 1)}}
    thread.put("1", other=1)
    thread.put("2", "1", log="snapshot")
    thread.put("3", "2", metadata=counting)
    thread.write("3", "task", ("log", "more"))
    thread.put("4", "3", metadata=counting)
    thread.saver.prune([thread.name])
    assert thread.ids() == ["4", "3", "2"]
    history = thread.saver.get_delta_channel_history(
        config=thread.config("4"), channels=["log", "x"]
    )
    assert history["log"] == {"writes": [("task", "log", "more")], "seed": "snapshot"}
    assert history["x"] == {"writes": [("task", "log", "more")][:0]}
    thread.put("5", "4", log="again", metadata=counting)
    thread.saver.prune([thread.name])
    assert thread.ids() == ["5"]
    assert thread.saver.get_tuple(thread.config("1")) is None


def test_pruning_by_a_strategy_that_there_is_not_removes_nothing(thread: Thread) -> None:
    thread.put("1")
    with pytest.raises(ValueError, match="keep_latest"):
        thread.saver.prune([thread.name], strategy="oldest")
    assert thread.ids() == ["1"]


def test_what_only_has_writes_is_pruned_to_nothing(thread: Thread) -> None:
    thread.write("1", "task", ("a", 1))
    thread.saver.prune([thread.name])
    thread.put("1")
    assert thread.pending("1") == [("task", "a", 1)]


def test_a_thread_goes_on_from_a_rollback(thread: Thread, scope: Scope) -> None:
    thread.put("1", kept="a")
    thread.put("2", "1", kept="b")
    rollback_execution(scope, 1, Rollback(Place(thread.name).execution, 1, "back"))
    assert thread.get().checkpoint["channel_values"] == {"kept": "a"}
    thread.put("3", "1")
    assert thread.get().parent_config == thread.config("1")


def test_what_runs_have_put_is_forgotten_and_the_chain_holds(thread: Thread, scope: Scope) -> None:
    """The last checkpoint goes, too: the newest of the others comes back."""
    for id, run in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")):
        metadata = {"source": "loop", "step": 1, "run_id": run}
        thread.put(id, str(int(id) - 1), metadata=metadata, kept=id)
        thread.write(id, "task", ("a", id))
    other = Thread(thread.saver)
    other.put("1", metadata={"source": "loop", "step": 1, "run_id": "b"})
    thread.saver.delete_for_runs(["b", "none"])
    assert thread.ids() == ["3", "1"]
    assert other.ids() == []
    assert thread.get().checkpoint["channel_values"] == {"kept": "3"}
    assert thread.get().pending_writes == [("task", "a", "3")]
    assert thread.saver.get_tuple(thread.config("4")) is None
    found = verify_checkpoints(scope, 1, Place(thread.name).execution)
    assert (found.fault, found.ledger.fault) == (None, None)
    assert (found.checked, found.erased, found.ledger.erased) == (5, 2, 2)
    thread.put("5", "3")
    assert thread.ids() == ["5", "3", "1"]


def test_a_state_that_no_saver_put_is_none(thread: Thread, scope: Scope) -> None:
    name = Place(thread.name).execution
    commit_checkpoint(scope, 1, Commit(name, "s", 0, "n", {"step": 1}, "1", "t"))
    with pytest.raises(ValueError, match="not committed by a saver"):
        thread.get()


@pytest.mark.parametrize(("name", "large"), [("x" * 1_001, 1), ("\0", 1), ("ok", 2**20)])
def test_what_can_not_be_stored_is_refused_with_a_code(
    saver: RetrographSaver, name: str, large: int
) -> None:
    with pytest.raises((rules.InvalidInput, InvalidInput)) as caught:
        Thread(saver, name).put("1", kept="x" * large)
    refused: Any = caught.value
    assert refused.code == ("BAD_USER_INPUT" if large == 1 else "PAYLOAD_TOO_LARGE")


def test_a_fleet_that_is_not_there_is_made_by_its_store_alone(client: Client, kept: Store) -> None:
    with pytest.raises(NotFound):
        Thread(RetrographSaver.served(client, 77)).put("1")
    made = Thread(RetrographSaver.embedded(kept, 77))
    assert made.ids() == []
    made.put("1")
    assert Thread(RetrographSaver.served(client, 77), made.name).ids() == ["1"]

"""Graphs of LangGraph that are stopped, forked, nested and killed go on where they were."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, TypedDict
from uuid import uuid4

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from retrograph.app import create_app
from retrograph.langgraph import RetrographSaver
from tests.langgraph.conftest import WAYS
from tests.schema.serving import listening, sqlite_store
from tests.shared import ROOT

UNDISTURBED = {
    "log": ["left 0", "right 0", "join 2", "left 1", "right 1", "join 5"],
    "rounds": 2,
}
WRITES = 13
"""How often the saver writes in an undisturbed run: its checkpoints, and the writes of tasks."""
QUICK = ("in:right", "before:3", "in:join")
"""In the midst of a step, before the first writes of tasks, between steps."""


class Asked(TypedDict):
    told: str


def asking(saver: RetrographSaver) -> Any:
    """A graph whose one node, in a graph of its own, asks twice."""

    def ask(state: Asked) -> Asked:
        return {"told": f"{state['told']} {interrupt('first')} {interrupt('second')}"}

    inner = StateGraph(Asked)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    inner.add_edge("ask", END)
    outer = StateGraph(Asked)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    return outer.compile(checkpointer=saver)


def config() -> Any:
    return {"configurable": {"thread_id": str(uuid4())}}


def test_a_graph_that_asks_goes_on_with_the_answers(saver: RetrographSaver) -> None:
    here = config()
    assert asking(saver).invoke({"told": "so:"}, here)["__interrupt__"][0].value == "first"
    assert asking(saver).invoke(Command(resume="a"), here)["__interrupt__"][0].value == "second"
    assert asking(saver).invoke(Command(resume="b"), here) == {"told": "so: a b"}
    namespaces = {
        each.config["configurable"]["checkpoint_ns"].partition(":")[0] for each in saver.list(here)
    }
    assert namespaces == {"", "inner"}
    saver.delete_thread(here["configurable"]["thread_id"])
    assert list(saver.list(here)) == []


def test_the_same_awaited(saver: RetrographSaver) -> None:
    async def run() -> Any:
        here, graph = config(), asking(saver)
        await graph.ainvoke({"told": "so:"}, here)
        await graph.ainvoke(Command(resume="a"), here)
        told = await graph.ainvoke(Command(resume="b"), here)
        return told, [each async for each in graph.aget_state_history(here)]

    told, history = asyncio.run(run())
    assert told == {"told": "so: a b"}
    assert [each.metadata["step"] for each in history] == [1, 0, -1]


def test_a_graph_is_forked_from_an_earlier_checkpoint(saver: RetrographSaver) -> None:
    here, graph = config(), asking(saver)
    graph.invoke({"told": "so:"}, here)
    graph.invoke(Command(resume="a"), here)
    graph.invoke(Command(resume="b"), here)
    (begun,) = [each for each in graph.get_state_history(here) if each.metadata["step"] == 0]
    forked = graph.update_state(begun.config, {"told": "no:"})
    found = saver.get_tuple(here)
    assert found is not None
    assert found.parent_config is not None
    fork, parent = forked["configurable"], found.parent_config["configurable"]
    assert found.config["configurable"]["checkpoint_id"] == fork["checkpoint_id"]
    assert parent["checkpoint_id"] == begun.config["configurable"]["checkpoint_id"]
    assert graph.get_state(here).values == {"told": "no:"}


def run_victim(place: str, moment: str) -> dict[str, Any] | None:
    """What the process told at its end; None where it was killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.langgraph.victim", place, moment],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    told: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return told


def kill_and_resume(place: str, moment: str) -> dict[str, Any]:
    """Kills a graph at a moment, resumes it, and gives what the second process told."""
    assert run_victim(place, moment) is None
    told = run_victim(place, "never")
    assert told is not None
    assert told["state"] == UNDISTURBED
    return told


def test_an_undisturbed_run(tmp_path: Path) -> None:
    told = run_victim(str(tmp_path / "memory.db"), "never")
    assert told is not None
    assert told["state"] == UNDISTURBED
    assert len(told["written"]) == WRITES


@pytest.mark.parametrize("moment", QUICK)
def test_a_killed_graph_ends_as_an_undisturbed_one(tmp_path: Path, moment: str) -> None:
    kill_and_resume(str(tmp_path / "memory.db"), moment)


def test_a_task_whose_writes_were_kept_is_not_done_again(tmp_path: Path) -> None:
    told = kill_and_resume(str(tmp_path / "memory.db"), "kept")
    ran = Counter(told["ran"])
    assert (ran["left"] + ran["right"], ran["join"]) == (3, 2)


def test_over_the_api_a_killed_graph_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    with sqlite_store(tmp_path) as store, listening(create_app(store)) as server:
        url = "http://{}:{}/graphql".format(*server.address)
        told = kill_and_resume(url, "kept")
    assert len(told["ran"]) == 5


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(1, WRITES + 1))
@pytest.mark.parametrize("when", ["before", "after"])
def test_it_may_be_killed_around_any_write(
    tmp_path: Path, way: str, number: int, when: str
) -> None:
    if way == "embedded":
        kill_and_resume(str(tmp_path / "memory.db"), f"{when}:{number}")
        return
    with sqlite_store(tmp_path) as store, listening(create_app(store)) as server:
        kill_and_resume("http://{}:{}/graphql".format(*server.address), f"{when}:{number}")

"""A process that runs a graph, and is killed at a chosen moment of it.

    python -m tests.langgraph.victim PLACE MOMENT

`PLACE` is a database's file or a server's URL. `MOMENT` is `never`, `before:N` or `after:N` (the
N-th write of the saver), `in:NODE` (in the midst of a node) or `kept` (when the writes
of one of two tasks are kept). A thread that has begun is resumed.
Prints the last state, which nodes have run, and what the saver has written, one after another.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from threading import Lock, Timer
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from retrograph.client import Client
from retrograph.langgraph import RetrographSaver
from retrograph.langgraph.executions import Entry, New
from retrograph.storage.store import open_store

ROUNDS = 2
SIDES = ("left", "right")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Moments:
    """Counts what the saver writes, and dies at the chosen moment."""

    def __init__(self, moment: str) -> None:
        self.moment = moment
        self.ran: list[str] = []
        self.written: list[str] = []
        self._lock = Lock()

    def watch(self, saver: RetrographSaver) -> RetrographSaver:
        """Watches the writes of a saver."""
        executions: Any = saver._executions
        commit, enter = executions.commit, executions.enter

        def watched_commit(new: New, expected: int) -> int:
            with self._write(new.state_node):
                made: int = commit(new, expected)
                return made

        def watched_enter(execution: str, entry: Entry) -> None:
            with self._write(entry.result["path"]):
                enter(execution, entry)

        executions.commit, executions.enter = watched_commit, watched_enter
        return saver

    @contextmanager
    def _write(self, what: str) -> Iterator[None]:
        with self._lock:
            number = len(self.written) + 1
            if self.moment == f"before:{number}":
                die()
            yield
            if self.moment == f"after:{number}" or (self.moment == "kept" and what.endswith(SIDES)):
                die()
            self.written.append(what)

    def run(self, node: str) -> None:
        """Tells that a node runs."""
        if self.moment == f"in:{node}":
            die()
        self.ran.append(node)


def _joined(old: list[str], new: list[str]) -> list[str]:
    return old + new


class State(TypedDict):
    log: Annotated[list[str], _joined]
    rounds: int


def graph_of(moments: Moments, saver: RetrographSaver) -> Any:
    """Two rounds of two nodes side by side and one behind them."""

    def left(state: State) -> dict[str, Any]:
        moments.run("left")
        return {"log": [f"left {state['rounds']}"]}

    def right(state: State) -> dict[str, Any]:
        moments.run("right")
        return {"log": [f"right {state['rounds']}"]}

    def join(state: State) -> dict[str, Any]:
        moments.run("join")
        return {"log": [f"join {len(state['log'])}"], "rounds": state["rounds"] + 1}

    def onward(state: State) -> list[str]:
        return [END] if state["rounds"] >= ROUNDS else ["left", "right"]

    builder = StateGraph(State)
    for node in (left, right, join):
        builder.add_node(node.__name__, node)
    for side in SIDES:
        builder.add_edge(START, side)
        builder.add_edge(side, "join")
    builder.add_conditional_edges("join", onward, [END, "left", "right"])
    return builder.compile(checkpointer=saver)


@contextmanager
def saver_at(place: str) -> Iterator[RetrographSaver]:
    """The saver that leads to a file or a URL."""
    if place.startswith("http"):
        with Client(place) as client:
            yield RetrographSaver.served(client, 1)
        return
    with closing(open_store(place)) as store:
        yield RetrographSaver.embedded(store)


def run(place: str, moment: str, thread: str = "run") -> dict[str, Any]:
    """Begins a thread or resumes it, and tells what came of it, if it wasn't killed."""
    moments, config = Moments(moment), {"configurable": {"thread_id": thread}}
    with saver_at(place) as saver:
        begun = saver.get_tuple(config) is not None  # type: ignore[arg-type]
        graph = graph_of(moments, moments.watch(saver))
        given = None if begun else {"log": [], "rounds": 0}
        state = graph.invoke(given, config, durability="sync")
    return {"state": state, "ran": moments.ran, "written": moments.written}


def run_until(seconds: float, place: str, thread: str, told: Connection) -> None:
    """The same, killed after so long, wherever it is then; what it came to goes to `told`."""
    doom = Timer(seconds, die)
    doom.daemon = True
    doom.start()
    told.send(run(place, "never", thread))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(*sys.argv[1:])))

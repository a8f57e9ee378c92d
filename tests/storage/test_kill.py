"""SIGKILL in the middle of a large cascade: after a restart there is all of it or none of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from shutil import copyfile

import pytest

from retrograph.resolvers.events import list_events
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.filters import NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import NodeRef, RunStatus
from retrograph.storage.store import Store, open_store
from tests.consistency import assert_consistent
from tests.dump import dump_fleet, present_of
from tests.planting import new_node, plant_edges, plant_nodes
from tests.shared import ROOT

WIDTH = 50


def make_layers(path: Path | str, count: int) -> None:
    """A root that `count` nodes rest on, in layers, each on two of the layer above."""
    store = open_store(str(path))
    ids = plant_nodes(store, [new_node("root"), *(new_node(f"n{i}") for i in range(count))])
    root, rest = ids[0], ids[1:]
    edges = [(root, node, EdgeType.REQUIRES) for node in rest[:WIDTH]]
    for place, node in enumerate(rest[WIDTH:]):
        edges += [(rest[place], node, EdgeType.REQUIRES)]
        edges += [(rest[place // WIDTH * WIDTH], node, EdgeType.DERIVED_FROM)]
    plant_edges(store, dict.fromkeys(edges))
    store.close()


def run_victim(path: Path | str, moment: str, what: str = "root") -> tuple[int, str]:
    """The exit code of the process, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.storage.victim", str(path), what, moment],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def sick(store: Store, at: int | None = None) -> int:
    """How many nodes are not healthy."""
    wanted = NodeFilter(validity=frozenset({Validity.INVALID, Validity.DEFINITELY_STALE}))
    with store.read(1, 1, at) as snapshot:
        return len(page_nodes(snapshot, wanted, 10**7, None).rows)


def check_all_or_none(path: Path, count: int) -> bool:
    """Opens what the killed process left; says whether the cascade is there."""
    store = open_store(str(path))
    felled = sick(store)
    assert felled in {0, count + 1}
    assert_consistent(store)
    scope = Scope(store, 1, None, frozenset(Role))
    assert bool(list_events(scope, 1, None, None, 1).rows) == bool(felled)
    again = invalidate(scope, 1, Invalidation(NodeRef(key="root"), "again"))
    assert again.status is (RunStatus.NO_CHANGE if felled else RunStatus.APPLIED)
    assert sick(store) == count + 1
    if not felled:
        assert again.impact_count == count + 1
        assert sick(store, again.executed_at - 1) == 0
    assert_consistent(store)
    store.close()
    return bool(felled)


def kill_at(tmp_path: Path, origin: Path, moments: Iterable[str], count: int) -> list[bool]:
    outcomes = []
    for moment in moments:
        path = tmp_path / f"{moment.replace(':', '-')}.db"
        copyfile(origin, path)
        code, said = run_victim(path, moment)
        assert code == -signal.SIGKILL or (moment == "commit" and code == 0), said
        outcomes.append(check_all_or_none(path, count))
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return outcomes


def random_moments(
    path: Path, tmp_path: Path, kind: str, each: int, what: str = "root"
) -> list[str]:
    counted = tmp_path / "counted.db"
    copyfile(path, counted)
    code, said = run_victim(counted, "count", what)
    assert code == 0
    most = dict(zip(("statement", "step"), map(int, said.split()), strict=True))[kind]
    return [f"{kind}:{number}" for number in Random(7).sample(range(1, most + 1), each)]


def exam(tmp_path: Path, kind: str, count: int, each: int) -> None:
    origin = tmp_path / "origin.db"
    make_layers(origin, count)
    if kind == "commit":
        kill_at(tmp_path, origin, ["commit"] * each, count)
    else:
        moments = random_moments(origin, tmp_path, kind, each)
        assert not any(kill_at(tmp_path, origin, moments, count))


KINDS = pytest.mark.parametrize("kind", ["statement", "step", "commit"])


@KINDS
def test_killed_in_a_cascade(tmp_path: Path, kind: str) -> None:
    exam(tmp_path, kind, count=2_000, each=2)


@KINDS
@pytest.mark.long
def test_killed_in_a_cascade_of_50_000(tmp_path: Path, kind: str) -> None:
    exam(tmp_path, kind, count=50_000, each=6)


def rewind_exam(tmp_path: Path, kind: str, count: int, each: int) -> None:
    """Kills rewinds of a felled fleet: each has happened whole, or not at all."""
    origin = tmp_path / "origin.db"
    make_layers(origin, count)
    with closing(open_store(str(origin))) as store:
        to, healthy = store.clock(1, 1), present_of(store, 1, 1)
        scope = Scope(store, 1, None, frozenset(Role))
        invalidate(scope, 1, Invalidation(NodeRef(key="root"), "a disaster"))
        felled = dump_fleet(store, 1, 1)
    what = f"@{to}"
    by_chance = kind != "commit"
    moments = random_moments(origin, tmp_path, kind, each, what) if by_chance else ["commit"] * each
    for moment in moments:
        path = Path(copyfile(origin, tmp_path / "killed.db"))
        for log in tmp_path.glob("killed.db-*"):
            log.unlink()
        code, said = run_victim(path, moment, what)
        assert code == -signal.SIGKILL or (not by_chance and code == 0), said
        with closing(open_store(str(path))) as store:
            if by_chance or dump_fleet(store, 1, 1) == felled:
                assert dump_fleet(store, 1, 1) == felled
            else:
                assert present_of(store, 1, 1) == healthy
                assert_consistent(store)


@KINDS
def test_killed_in_a_rewind(tmp_path: Path, kind: str) -> None:
    rewind_exam(tmp_path, kind, count=500, each=2)


@KINDS
@pytest.mark.long
def test_killed_in_a_rewind_of_50_000(tmp_path: Path, kind: str) -> None:
    rewind_exam(tmp_path, kind, count=50_000, each=6)

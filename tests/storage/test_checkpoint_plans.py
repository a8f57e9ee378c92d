"""Checkpoints and steps are found by the keys meant for them: no read sorts or scans a chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage import chains, checkpoints, executions, steps
from retrograph.storage.filters import StepFilter
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock
from tests.executions import Execution
from tests.storage.counting import count, plan

CHAIN = "(execution_id=? AND sequence"
NAMED = "INDEX execution_by_key (tenant_id=? AND fleet_id=? AND key=? AND created_at<?)"
PLACES = [(("run", 1), 5), (("run", 2), 6)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(str(tmp_path_factory.mktemp("plans") / "memory.db"), clock=ManualClock())
    opened.write_all(1, [1], lambda _: None)
    Execution(Scope(opened, 1, None, frozenset(Role))).grow(3)
    yield opened
    opened.close()


READS: dict[str, tuple[Callable[[Snapshot], object], tuple[str, ...]]] = {
    "a head": (lambda s: checkpoints.checkpoint_at(s, "run"), (NAMED, "(execution_id=?")),
    "one": (lambda s: checkpoints.checkpoint_at(s, "run", 2), (NAMED, f"{CHAIN}=?)")),
    "a page": (lambda s: checkpoints.page_checkpoints(s, "run", 2, 3), (NAMED, f"{CHAIN}<?)")),
    "of instants": (
        lambda s: checkpoints.checkpoints_then(s, PLACES),
        ("checkpoint_by_instant (execution_id=? AND committed_at=?)",),
    ),
    "a token": (
        lambda s: checkpoints.committed_with(s, 1, "run", "t"),
        ("checkpoint_by_token (execution_id=? AND token=?)",),
    ),
    "a token then": (
        lambda s: checkpoints.committed_by_then(s, "run", "t"),
        (NAMED, "checkpoint_by_token (execution_id=? AND token=?)"),
    ),
    "executions": (
        lambda s: executions.page_executions(s, None, 5, 1),
        ("execution_by_fleet (tenant_id=? AND fleet_id=? AND id>?)", "(execution_id=?"),
    ),
    "a standing": (lambda s: executions.find_standing(s, "run"), (NAMED, f"{CHAIN}=?)")),
    "names": (
        lambda s: executions.execution_names(s, 5, None),
        ("execution_by_fleet (tenant_id=? AND fleet_id=? AND id>?)",),
    ),
    "a chain": (lambda s: chains.chain_rows(s, 1, "run", 1, 5), (f"{CHAIN}>?)",)),
    "what is older": (
        lambda s: chains.last_older(s, 1, 5),
        ("checkpoint_by_instant (execution_id=? AND committed_at<?)",),
    ),
    "anchors": (lambda s: chains.last_anchor(s, "run"), (NAMED, "(execution_id=?)")),
    "a step": (
        lambda s: steps.step_by_key(s, 1, "run", "k"),
        ("execution_step_by_key (execution_id=? AND key=?)",),
    ),
    "steps": (
        lambda s: steps.page_steps(s, "run", StepFilter(), 5, 1),
        (NAMED, "(execution_id=? AND ordinal>?)"),
    ),
    "steps of one": (
        lambda s: steps.page_steps(s, "run", StepFilter(1), 5, 1),
        (NAMED, "execution_step_by_sequence (execution_id=? AND sequence=? AND ordinal>?)"),
    ),
}


PREFIXED: dict[str, tuple[Callable[[Snapshot], object], str]] = {
    "executions": (
        lambda s: executions.page_executions(s, "r", 5, 1),
        "execution_by_key (tenant_id=? AND fleet_id=? AND key>? AND key<?)",
    ),
    "steps": (
        lambda s: steps.page_steps(s, "run", StepFilter(key_prefix="k"), 5, 1),
        "execution_step_by_key (execution_id=? AND key>? AND key<?)",
    ),
}


@pytest.mark.parametrize("name", PREFIXED)
def test_a_beginning_is_looked_up_and_only_what_has_it_is_sorted(store: Store, name: str) -> None:
    read, wanted = PREFIXED[name]
    with store.read(1, 1) as s:
        found = plan(s, lambda: read(s))
    assert any(wanted in each for each in found), found
    assert not [each for each in found if "SCAN" in each], found


@pytest.mark.parametrize("name", READS)
def test_each_read_takes_its_key(store: Store, name: str) -> None:
    read, wanted = READS[name]
    with store.read(1, 1) as s:
        found = plan(s, lambda: read(s))
    for step in wanted:
        assert any(step in each for each in found), found
    assert not [each for each in found if "SCAN" in each and "VIRTUAL TABLE" not in each], found
    assert not [each for each in found if "TEMP B-TREE" in each], found


PAST: dict[str, tuple[Callable[[Snapshot], object], str]] = {
    "a head": (lambda s: checkpoints.checkpoint_at(s, "run"), f"{CHAIN}=?)"),
    "a page": (lambda s: checkpoints.page_checkpoints(s, "run", 2, None), f"{CHAIN}<?)"),
    "executions": (lambda s: executions.page_executions(s, None, 5, 1), "(tenant_id=? AND"),
}


@pytest.mark.parametrize("name", PAST)
def test_the_past_is_found_by_one_seek_however_much_came_since(store: Store, name: str) -> None:
    read, wanted = PAST[name]
    with store.read(1, 1) as s:
        then = replace(s, instant=s.instant - 1)
        found = plan(then, lambda: read(then))
    for step in (wanted, "checkpoint_by_instant (execution_id=? AND committed_at<?)"):
        assert any(step in each for each in found), found
    assert not [each for each in found if "SCAN" in each or "TEMP B-TREE" in each], found


def test_a_page_takes_one_statement_and_the_checkpoints_of_events_two(store: Store) -> None:
    with store.read(1, 1) as s:
        assert count(s, lambda: checkpoints.page_checkpoints(s, "run", 50, None)) == 1
        assert count(s, lambda: checkpoints.checkpoints_then(s, PLACES)) == 2

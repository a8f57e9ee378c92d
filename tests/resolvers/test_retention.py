"""A rule of retention keeps what it says of every execution, and proves what it removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrograph.resolvers.retain_checkpoints import Retention, retain_checkpoints
from retrograph.resolvers.retention import PAGE, RetentionRule, retain_fleet
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.sweep import RETENTION_EVERY, Sweeper
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.storage.tables import checkpoint
from tests.clock import ManualClock
from tests.executions import Execution
from tests.tampering import cut, put, rows_of

DAY = 86_400 * 1_000_000


@pytest.fixture
def runs(run: Execution, shared_clock: ManualClock) -> list[Execution]:
    """Executions with 1, 3 and 3 checkpoints, the last of them a day younger."""
    found = [replace(run, name=name) for name in ("one", "old", "new")]
    found[0].grow(1)
    found[1].grow(3)
    shared_clock.advance(DAY)
    found[2].grow(3)
    return found


def removed(run: Execution, rule: RetentionRule, *, dry_run: bool = False) -> dict[str, int]:
    done = retain_fleet(run.scope, run.fleet, rule, dry_run=dry_run)
    return {each.execution_id: each.removed for each in done}


def test_the_last_ones_stay(runs: list[Execution]) -> None:
    rule = RetentionRule(2, by="me", reason="old")
    assert removed(runs[0], rule, dry_run=True) == {"old": 1, "new": 1}
    assert removed(runs[0], rule) == {"old": 1, "new": 1}
    assert removed(runs[0], rule) == {}
    assert [each.sequences() for each in runs] == [[1], [3, 2], [3, 2]]
    for each in runs[1:]:
        found = verify_checkpoints(each.scope, each.fleet, each.name)
        assert found.fault is None
        assert found.anchor is not None
        assert (found.anchor.removed_by, found.anchor.reason) == ("me", "old")


def test_what_is_young_stays(runs: list[Execution]) -> None:
    assert removed(runs[0], RetentionRule(1, DAY // 2)) == {"old": 2}
    assert removed(runs[0], RetentionRule(1, 2 * DAY)) == {}
    assert [each.sequences() for each in runs] == [[1], [3], [3, 2, 1]]


def test_nothing_is_written_where_nothing_goes(runs: list[Execution]) -> None:
    before = runs[0].scope.clock(runs[0].fleet)
    assert removed(runs[0], RetentionRule(3)) == {}
    assert removed(runs[0], RetentionRule(1, 2 * DAY)) == {}
    assert runs[0].scope.clock(runs[0].fleet) == before


def test_every_page_of_executions_is_looked_at(
    run: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PAGE > 2
    monkeypatch.setattr("retrograph.resolvers.retention.PAGE", 2)
    for name in "abcde":
        replace(run, name=name).grow(2)
    assert removed(run, RetentionRule()) == dict.fromkeys("abcde", 1)


def test_the_sweeper_applies_its_rule_every_hour(scope: Scope, clock: ManualClock) -> None:
    store, run = scope.store, Execution(scope)
    sweeper = Sweeper(store, RetentionRule(1))

    def step() -> int:
        done = sweeper.step()
        assert done is not None
        return done.removed

    run.grow(3)
    assert step() == 2
    run.grow(2)
    assert step() == 0
    clock.advance(RETENTION_EVERY)
    assert step() == 2
    assert run.sequences() == [5]
    plain = Sweeper(store)
    sweeper.resign()
    run.grow(2)
    done = plain.step()
    assert done is not None
    assert done.removed == 0


@pytest.mark.parametrize("how", ["cut", "altered"])
def test_a_damaged_execution_is_named_and_stops_no_other(
    scope: Scope, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = Execution(scope)
    run.grow(3)
    other = replace(run, name="other")
    second = next(row for row in rows_of(run, checkpoint) if row["sequence"] == 2)
    other.grow(3)
    if how == "cut":
        cut(run, checkpoint, second)
    else:
        put(run, checkpoint, {"state_node": "forged"}, second)
    with pytest.raises(CheckpointDamaged):
        retain_checkpoints(run.scope, run.fleet, Retention(run.name, "me", "old"))
    done = list(retain_fleet(run.scope, run.fleet, RetentionRule(), dry_run=False))
    assert [(each.execution_id, each.removed) for each in done] == [("run", 0), ("other", 2)]
    assert [each.fault is None for each in done] == [False, True]
    assert other.sequences() == [3]
    Sweeper(run.scope.store, RetentionRule()).step()
    assert "nothing was removed of an execution" in caplog.text

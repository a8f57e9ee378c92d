"""Runs are seen from their execution on, and as reverted from their revert on."""

from __future__ import annotations

import pytest

from retrograph.storage.filters import RunFilter
from retrograph.storage.records import RunRecord, RunStatus
from retrograph.storage.runs import page_runs, runs_by_id, runs_then
from retrograph.storage.store import Store
from tests.storage.counting import count
from tests.storage.ledger import add_run, mark_reverted

APPLIED, NO_CHANGE, REVERTED = RunStatus


def _read(store: Store, run_id: int, at: int | None = None) -> RunRecord | None:
    with store.read(1, 1, at) as s:
        return runs_by_id(s, [run_id, 99]).get(run_id)


def test_a_run_is_seen_from_its_execution_on(store: Store) -> None:
    run_id = add_run(store, reason="obsolete", root_id=5, impact_count=3)
    executed = store.clock(1, 1)
    assert _read(store, run_id, executed - 1) is None
    found = _read(store, run_id)
    assert found is not None
    assert (found.reason, found.root_id, found.impact_count) == ("obsolete", 5, 3)
    assert (found.executed_at, found.status, found.as_of) == (executed, APPLIED, executed)


def test_a_run_is_reverted_from_the_revert_on(store: Store) -> None:
    run_id = add_run(store)
    reverting = add_run(store, reverts_run_id=run_id)
    reverted = mark_reverted(store, run_id, reverting)
    before, after = _read(store, run_id, reverted - 1), _read(store, run_id, reverted)
    assert before is not None
    assert (before.status, before.reverted_at, before.reverted_by_run_id) == (APPLIED, None, None)
    assert after is not None
    assert (after.status, after.reverted_at) == (REVERTED, reverted)
    assert after.reverted_by_run_id == reverting


def test_each_run_is_as_of_an_instant_of_its_own(store: Store) -> None:
    run_id = add_run(store)
    executed = store.clock(1, 1)
    reverted = mark_reverted(store, run_id, add_run(store, reverts_run_id=run_id))
    stranger = add_run(store, fleet=2)
    places = [(run_id, at) for at in (executed - 1, executed, reverted - 1, reverted)]
    with store.read(1, 1) as s:
        found = runs_then(s, [*places, (stranger, reverted), (99, reverted)])
        assert found == {place: _read(store, *place) for place in places[1:]}
        assert count(s, lambda: runs_then(s, places)) == 1
        assert count(s, lambda: runs_then(s, [])) == 0


def test_runs_of_other_fleets_are_not_seen(store: Store) -> None:
    stranger = add_run(store, fleet=2)
    assert _read(store, stranger) is None
    with store.read(1, 1) as s:
        assert page_runs(s, RunFilter(), 10, None).rows == []


@pytest.fixture
def runs(store: Store) -> list[int]:
    """Six runs, oldest first; the second was recorded as NO_CHANGE, the third is reverted."""
    ids = [
        add_run(store, root_id=root, reason=reason, status=status)
        for root, reason, status in [
            (1, "wrong", APPLIED),
            (2, "wrong", NO_CHANGE),
            (1, "late", APPLIED),
            (2, "late", APPLIED),
            (1, "wrong", NO_CHANGE),
            (3, "wrong", APPLIED),
        ]
    ]
    mark_reverted(store, ids[2], ids[5])
    return ids


@pytest.mark.parametrize(
    ("filter", "places"),
    [
        (RunFilter(), [5, 4, 3, 2, 1, 0]),
        (RunFilter(root_id=1), [4, 2, 0]),
        (RunFilter(reason="late"), [3, 2]),
        (RunFilter(reason="Late"), []),
        (RunFilter(status=frozenset({APPLIED})), [5, 3, 0]),
        (RunFilter(status=frozenset({REVERTED})), [2]),
        (RunFilter(status=frozenset({NO_CHANGE, REVERTED})), [4, 2, 1]),
        (RunFilter(status=frozenset()), []),
        (RunFilter(frozenset({NO_CHANGE}), root_id=1, reason="wrong"), [4]),
    ],
)
def test_a_list_is_what_passes_the_filter_newest_first(
    store: Store, runs: list[int], filter: RunFilter, places: list[int]
) -> None:
    with store.read(1, 1) as s:
        page = page_runs(s, filter, 10, None)
        assert [run.id for run in page.rows] == [runs[place] for place in places]
        assert not page.has_next
        found: list[int] = []
        while (page := page_runs(s, filter, 1, found[-1] if found else None)).rows:
            found += [run.id for run in page.rows]
            assert page.has_next == (len(found) < len(places))
    assert found == [runs[place] for place in places]


def test_a_status_filter_goes_by_the_instant(store: Store, runs: list[int]) -> None:
    applied = RunFilter(status=frozenset({APPLIED}))
    with store.read(1, 1, store.clock(1, 1) - 1) as s:
        assert runs[2] in [run.id for run in page_runs(s, applied, 10, None).rows]


def test_any_number_of_runs_takes_one_statement(store: Store, runs: list[int]) -> None:
    with store.read(1, 1) as s:
        assert count(s, lambda: runs_by_id(s, [])) == 0
        assert count(s, lambda: runs_by_id(s, runs)) == 1
        assert count(s, lambda: page_runs(s, RunFilter(), 1_000, None)) == 1

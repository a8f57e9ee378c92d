"""Impacts, and their paths, which are built on reading from parent pointers."""

from __future__ import annotations

from random import Random

import pytest

from retrograph.rules.cascade import ImpactKind
from retrograph.storage.impacts import impact_paths, impacts_at, page_impacts
from retrograph.storage.store import Store
from tests.storage.counting import count
from tests.storage.ledger import Cause, add_impacts, add_run

CHAIN: list[Cause] = [(10 * n, n - 1 if n else None, None) for n in range(1_200)]
"""Longer than some servers recurse."""


def _forest(seed: int) -> list[Cause]:
    """Trees from a root and from origins without an impact; causes come before their effects."""
    random = Random(seed)
    causes: list[Cause] = [(1, None, None)]
    for node in range(2, 40):
        if random.random() < 0.2:
            causes.append((node, None, 1_000 + node))
        else:
            causes.append((node, random.randrange(len(causes)), None))
    return causes


def _path(causes: list[Cause], ordinal: int) -> list[int]:
    node, cause, origin = causes[ordinal]
    if cause is not None:
        return [*_path(causes, cause), node]
    return [node] if origin is None else [origin, node]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_path_leads_from_the_root_or_the_origin(store: Store, seed: int, limit: int) -> None:
    causes = _forest(seed)
    run_id = add_run(store)
    add_impacts(store, run_id, causes)
    keys = [(run_id, ordinal) for ordinal in range(len(causes))]
    with store.read(1, 1) as s:
        assert impact_paths(s, keys, limit) == {
            (run_id, ordinal): _path(causes, ordinal)[:limit] for ordinal in range(len(causes))
        }
        assert impact_paths(s, keys[-1:], limit) == {keys[-1]: _path(causes, keys[-1][1])[:limit]}


def test_paths_take_a_statement_for_every_64_steps_whatever_the_runs(store: Store) -> None:
    runs = [add_run(store), add_run(store)]
    for run_id in runs:
        add_impacts(store, run_id, CHAIN)
    keys = [(run_id, ordinal) for run_id in runs for ordinal in (1_199, 1_198, 7)]
    with store.read(1, 1) as s:
        assert count(s, lambda: impact_paths(s, keys[1:3], 1_000)) == 19
        assert count(s, lambda: impact_paths(s, [(runs[0], 63), (runs[1], 7)], 1_000)) == 1
        assert count(s, lambda: impact_paths(s, keys, 2_000)) == 19
        assert len(impact_paths(s, keys, 2_000)[runs[1], 1_199]) == 1_200
        assert count(s, lambda: impact_paths(s, [], 10)) == 0


def test_an_impact_that_is_not_there_has_no_path(store: Store) -> None:
    run_id = add_run(store)
    with store.read(1, 1) as s:
        assert impact_paths(s, [(run_id, 4), (run_id + 1, 0)], 10) == {}
        assert impacts_at(s, [(run_id, 4)]) == {}
        assert impacts_at(s, []) == {}


def test_impacts_come_in_the_order_of_their_ordinals(store: Store) -> None:
    run_id = add_run(store)
    add_impacts(store, run_id, CHAIN[:10])
    with store.read(1, 1) as s:
        page = page_impacts(s, run_id, None, 4, None)
        assert [row.ordinal for row in page.rows] == [0, 1, 2, 3]
        assert page.has_next
        rest = page_impacts(s, run_id, None, 10, 3)
        assert [(row.ordinal, row.depth) for row in rest.rows] == [(n, n) for n in range(4, 10)]
        assert not rest.has_next
        assert impacts_at(s, [(run_id, 4), (run_id, 5)]) == {
            (run_id, row.ordinal): row for row in rest.rows[:2]
        }


def test_impacts_of_one_kind(store: Store) -> None:
    run_id = add_run(store)
    add_impacts(store, run_id, CHAIN[:10])
    with store.read(1, 1) as s:
        page = page_impacts(s, run_id, ImpactKind.PINNED, 2, None)
        assert [row.ordinal for row in page.rows] == [1, 4]
        assert page.has_next
        assert [row.ordinal for row in page_impacts(s, run_id, ImpactKind.PINNED, 2, 4).rows] == [7]


def test_impacts_are_seen_from_the_execution_of_their_run_on(store: Store) -> None:
    run_id = add_run(store)
    executed = store.clock(1, 1)
    add_impacts(store, run_id, CHAIN[:3])
    with store.read(1, 1, executed - 1) as s:
        assert page_impacts(s, run_id, None, 10, None).rows == []
        assert impacts_at(s, [(run_id, 0)]) == {}
        assert impact_paths(s, [(run_id, 0)], 10) == {}
    with store.read(1, 1, executed) as s:
        assert len(page_impacts(s, run_id, None, 10, None).rows) == 3


def test_impacts_of_other_fleets_are_not_seen(store: Store) -> None:
    run_id = add_run(store)
    add_impacts(store, run_id, CHAIN[:3])
    store.write_all(1, [2], lambda _: None)
    with store.read(1, 2) as s:
        assert page_impacts(s, run_id, None, 10, None).rows == []
        assert impacts_at(s, [(run_id, 0)]) == {}

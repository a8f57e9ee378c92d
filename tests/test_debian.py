"""A real graph of a hundred thousand nodes: imported, felled, updated, reverted, walked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from threading import Event

import pytest

from retrograph.resolvers.importing.graph import import_graph
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.walks import find_paths, neighbourhood, reached
from retrograph.rules.limits import MAX_FIRST, MAX_PATH_DEPTH, MAX_WALK_DEPTH
from retrograph.rules.validity import Validity
from retrograph.storage.filters import NodeFilter, RunFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.outbox import page_events
from retrograph.storage.records import Direction, EventType, NodeRef, RunRecord, RunStatus
from retrograph.storage.runs import page_runs
from retrograph.storage.store import Store, open_store
from tests import debian
from tests.consistency import assert_consistent
from tests.dump import present_of
from tests.servers import MariaDBServer

ALL = 10**7
ROOT = NodeRef(key=debian.ROOT_KEY)
WAYS = {
    Direction.DEPENDENTS: debian.dependents,
    Direction.DEPENDENCIES: debian.dependencies,
}
FELLED = {
    Validity.INVALID: 1,
    Validity.DEFINITELY_STALE: 49_411,
    Validity.POTENTIALLY_STALE: 1_332,
}
"""What falls with `src:glibc` in the whole graph."""


@pytest.fixture(
    scope="module",
    params=[True, pytest.param(False, marks=pytest.mark.long)],
    ids=["sample", "all"],
)
def sampled(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def imported(sampled: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed database that holds the graph in fleet 1."""
    path = tmp_path_factory.mktemp("debian") / "memory.db"
    store = open_store(str(path))
    import_graph(scope_of(store), debian.as_file(debian.graph(sampled)), 1)
    store.close()
    return path


@pytest.fixture
def scope(imported: Path, tmp_path: Path) -> Iterator[Scope]:
    """A copy of the imported graph."""
    path = tmp_path / "memory.db"
    copyfile(imported, path)
    store = open_store(str(path))
    yield scope_of(store)
    store.close()


def scope_of(store: Store) -> Scope:
    return Scope(store, 1, None, frozenset(Role))


def fell(scope: Scope, plan: str | None = None) -> RunRecord:
    return invalidate(scope, 1, Invalidation(ROOT, "a hole was found", expected_plan=plan))


def states(scope: Scope, at: int | None = None) -> dict[str, Validity]:
    """The validity of every node by key, read directly."""
    with scope.snapshot(1, at) as snapshot:
        rows = page_nodes(snapshot, NodeFilter(), ALL, None).rows
    return {row.key or "": row.validity for row in rows}


def sick(scope: Scope, at: int | None = None) -> Counter[Validity]:
    ill = frozenset(Validity) - {Validity.CURRENTLY_VALID, Validity.REVALIDATED}
    with scope.snapshot(1, at) as snapshot:
        rows = page_nodes(snapshot, NodeFilter(validity=ill), ALL, None).rows
    return Counter(row.validity for row in rows)


def test_the_import_is_one_transaction_that_starts_no_run(scope: Scope, sampled: bool) -> None:
    lines = debian.graph(sampled)
    with scope.snapshot(1) as snapshot:
        nodes = page_nodes(snapshot, NodeFilter(), ALL, None).rows
        assert page_runs(snapshot, RunFilter(), 1, None).rows == []
        assert page_events(snapshot, None, None, 1).rows == []
    assert [node.key for node in nodes] == [line["node"]["key"] for line in lines if "node" in line]
    assert {node.created_at for node in nodes} == {scope.clock(1)}
    assert sick(scope) == {}
    assert states(scope, scope.clock(1) - 1) == {}
    if not sampled:
        assert len(nodes) == 97_605


def test_what_is_previewed_is_what_falls(scope: Scope, sampled: bool) -> None:
    before = scope.clock(1)
    preview = preview_invalidation(scope, 1, ROOT, Validity.INVALID, None)
    run = fell(scope, preview.plan_hash)

    found = preview.cascade
    assert (preview.as_of, run.impact_count) == (before, len(found))
    expected = dict(zip(found.nodes, map(Validity, found.stored_after), strict=True))
    with scope.snapshot(1) as snapshot:
        rows = page_nodes(snapshot, NodeFilter(), ALL, None).rows
    healthy = Validity.CURRENTLY_VALID
    assert {row.id: row.validity for row in rows if row.validity is not healthy} == expected
    reachable = debian.depths(debian.dependents(sampled), debian.ROOT_KEY, 10**6)
    assert {row.key for row in rows if row.id in expected} <= {*reachable, debian.ROOT_KEY}
    if not sampled:
        assert sick(scope) == FELLED
    again = preview_invalidation(scope, 1, ROOT, Validity.INVALID, before)
    assert again.plan_hash == preview.plan_hash
    assert_consistent(scope.store)


def test_just_before_all_of_it_is_healthy(scope: Scope) -> None:
    run = fell(scope)
    assert sick(scope).total() == run.impact_count
    assert sick(scope, run.executed_at - 1) == {}
    assert sick(scope, run.executed_at).total() == run.impact_count
    then = states(scope, run.executed_at - 1)
    assert set(then.values()) == {Validity.CURRENTLY_VALID}
    assert then.keys() == states(scope).keys()


def test_every_instant_sees_all_of_it_or_none(scope: Scope) -> None:
    done, seen = Event(), []

    def look() -> None:
        last = False
        while not last:
            last = done.is_set()
            seen.append(sick(scope).total())

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        count = fell(scope).impact_count
        done.set()
        for reader in readers:
            reader.result()
    assert set(seen) <= {0, count}
    assert seen[-1] == count


def test_the_point_release_then_a_revert(scope: Scope, sampled: bool) -> None:
    """What a revert leaves is what there would be, had the reverted run never been."""
    run = fell(scope)
    released = debian.updates(sampled)
    done = import_graph(scope, debian.as_file(released), 1)
    assert len(done.runs) == len(released) == 224
    after = states(scope)
    for line in released:
        given = line["supersede"]
        assert after[given["key"]] is Validity.SUPERSEDED
        assert after[given["by"]["key"]] is Validity.CURRENTLY_VALID

    reverted = revert_run(scope, 1, run.id)

    assert reverted.run.reverts_run_id == run.id
    assert not set(reverted.restored) & set(reverted.left_alone)
    assert scope.clock(1) == reverted.instant
    assert states(scope, reverted.instant - 1) == after
    assert_consistent(scope.store)


def test_a_revert_at_once_restores_everything(scope: Scope) -> None:
    run = fell(scope)
    done = revert_run(scope, 1, run.id)
    assert (len(done.restored), done.left_alone) == (run.impact_count, [])
    assert sick(scope) == {}
    assert sick(scope, done.instant - 1).total() == run.impact_count
    assert_consistent(scope.store)


def test_after_the_point_release_a_revert_leaves_what_that_alone_would_have(
    scope: Scope, imported: Path, tmp_path: Path, sampled: bool
) -> None:
    revert_later = fell(scope)
    import_graph(scope, debian.as_file(debian.updates(sampled)), 1)
    revert_run(scope, 1, revert_later.id)

    path = tmp_path / "other.db"
    copyfile(imported, path)
    store = open_store(str(path))
    other = scope_of(store)
    runs = import_graph(other, debian.as_file(debian.updates(sampled)), 1).runs
    assert {run.status for run in runs} == {RunStatus.APPLIED}
    assert states(scope) == states(other)
    store.close()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name.lower())
@pytest.mark.parametrize("depth", [1, 3, MAX_WALK_DEPTH])
def test_walks_from_hubs_miss_nothing_page_by_page(
    scope: Scope, sampled: bool, way: Direction, depth: int
) -> None:
    with scope.snapshot(1) as snapshot:
        ids = {row.key: row.id for row in page_nodes(snapshot, NodeFilter(), ALL, None).rows}
    for key in debian.hubs(sampled):
        reachable = debian.depths(WAYS[way](sampled), key, depth)
        expected = sorted((steps, ids[other]) for other, steps in reachable.items())
        for start in {0, MAX_FIRST, len(expected) // 2, len(expected) - 3}:
            if 0 <= start <= len(expected):
                check_page(scope, ids[key], way, depth, expected, start)


def check_page(
    scope: Scope,
    root: int,
    way: Direction,
    depth: int,
    expected: list[tuple[int, int]],
    start: int,
) -> None:
    """The page that begins at a place of what must be reached, by (depth, id)."""
    after = expected[start - 1] if start else None
    page = reached(scope, 1, None, [root], way, depth, MAX_FIRST, after)[root]
    assert [(row.depth, row.node_id) for row in page.rows] == expected[start : start + MAX_FIRST]
    assert page.has_next == (start + MAX_FIRST < len(expected))
    assert not page.truncated
    for row in page.rows[::100]:
        assert (row.path[0], row.path[-1], len(row.path)) == (root, row.node_id, row.depth + 1)


def test_neighbourhoods_of_hubs_say_when_they_are_cut(scope: Scope, sampled: bool) -> None:
    for key in debian.hubs(sampled):
        for way, edges in WAYS.items():
            count = 1 + len(debian.depths(edges(sampled), key, 2))
            for first in (1, 500, MAX_FIRST):
                found = neighbourhood(scope, 1, [NodeRef(key=key)], way, 2, first)
                assert len(found.node_ids) == len(set(found.node_ids)) == min(first, count)
                assert found.truncated == (count > first)
                ends = {e.source_id for e in found.edges} | {e.target_id for e in found.edges}
                assert ends <= set(found.node_ids)


def test_paths_between_hubs_come_shortest_first_and_are_never_silently_cut(
    scope: Scope, sampled: bool
) -> None:
    far = debian.depths(debian.dependents(sampled), debian.ROOT_KEY, MAX_PATH_DEPTH)
    for key in [*debian.hubs(sampled), max(far, key=lambda key: (far[key], key))]:
        page = find_paths(scope, 1, ROOT, NodeRef(key=key), None, MAX_PATH_DEPTH, 50)
        order = [(len(path.edges), path.nodes, path.edges) for path in page.rows]
        assert order == sorted(order)
        assert all(len(set(path.nodes)) == len(path.nodes) for path in page.rows)
        assert len(page.rows) == 50 or not page.has_next
        if key in far:
            assert order[0][0] == far[key]
        else:
            assert order == []


def test_a_rewind_after_the_disaster_gives_the_fleet_back(scope: Scope) -> None:
    check_rewind(scope)


@pytest.mark.long
def test_a_rewind_on_a_server_gives_the_fleet_back(
    mariadb_server: MariaDBServer, sampled: bool
) -> None:
    with closing(open_store(mariadb_server.url(mariadb_server.fresh_database()))) as store:
        import_graph(scope_of(store), debian.as_file(debian.graph(sampled)), 1)
        check_rewind(scope_of(store))


def check_rewind(scope: Scope) -> None:
    healthy, to = present_of(scope.store, 1, 1), scope.clock(1)
    run = fell(scope)
    disaster, late = present_of(scope.store, 1, 1), scope.clock(1)
    told = rewind_fleet(scope, 1, Rewind(to))
    done = rewind_fleet(scope, 1, Rewind(to, dry_run=False, confirm=told.confirmation))
    assert present_of(scope.store, 1, 1) == healthy
    assert done.rows["nodes"].restored == run.impact_count
    assert (done.tasks_cancelled, done.tasks_opened) == (run.impact_count - 1, 0)
    assert_consistent(scope.store)
    with scope.snapshot(1, late) as snapshot:
        sick = NodeFilter(validity=frozenset({*FELLED}))
        assert len(page_nodes(snapshot, sick, ALL, None).rows) == run.impact_count
    rewound = frozenset({EventType.FLEET_REWOUND})
    with scope.snapshot(1) as snapshot:
        assert [each.at for each in page_events(snapshot, rewound, None, 2).rows] == [done.instant]
    again = rewind_fleet(scope, 1, Rewind(late, dry_run=False, confirm=confirmation(1, late)))
    assert present_of(scope.store, 1, 1) == disaster
    assert again.tasks_opened == done.tasks_cancelled
    assert fell(scope).status is RunStatus.NO_CHANGE

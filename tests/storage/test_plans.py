"""SQLite takes the indexes that are meant, with statistics and without.

No read walks through a whole table or a whole fleet, builds an index of its own or materialises a
union; only what can't come in order from an index is sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage import tables
from retrograph.storage.changes import page_changes
from retrograph.storage.edges import (
    edges_around,
    edges_between,
    edges_by_id,
    neighbours,
    page_edges,
)
from retrograph.storage.edges_beside import edges_beside
from retrograph.storage.evidence import evidence_of
from retrograph.storage.filters import EdgeFilter, NodeFilter, RunFilter
from retrograph.storage.history import histories
from retrograph.storage.impacts import impact_paths, impacts_at, page_impacts
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.nodes import find_nodes, nodes_by_id, nodes_then, present
from retrograph.storage.outbox import page_events
from retrograph.storage.records import Direction, NodeRef
from retrograph.storage.runs import page_runs, runs_by_id
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from retrograph.storage.versions import end, open_next
from retrograph.storage.walks import neighbourhood, reached
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.planting import new_node, plant_edges, plant_nodes
from tests.storage.counting import plan
from tests.storage.ledger import add_events, add_impacts, add_run

NODES = 600
SICK = frozenset({Validity.INVALID, Validity.POTENTIALLY_STALE})
BOTH = Direction.BOTH
VERSIONED = (tables.node_state, tables.node_content, tables.edge, tables.evidence)


@dataclass(frozen=True, slots=True)
class Filled:
    """A store with two fleets of many nodes, edges and versions, and an instant amid their past."""

    store: Store
    past: int


@pytest.fixture(scope="module", params=["analyzed", "shipped"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    store = open_store(str(tmp_path_factory.mktemp("plans") / "memory.db"), clock=ManualClock())
    pasts = [_fill(store, fleet) for fleet in (1, 2)]
    if request.param == "analyzed":
        store.write(1, 1, lambda write: write.snapshot.connection.exec_driver_sql("ANALYZE"))
    yield Filled(store, pasts[0])
    store.close()


def _fill(store: Store, fleet: int) -> int:
    ids = plant_nodes(store, [new_node(f"n:{n}") for n in range(NODES)], fleet=fleet)
    ends = [(ids[n // 3], ids[n], EdgeType(1 + n % 7)) for n in range(1, NODES)]
    ends += [(ids[0], ids[n], EdgeType.REQUIRES) for n in range(9, NODES, 2)]
    edges = plant_edges(store, sorted(set(ends)), fleet=fleet)
    past = 0
    for turn in range(6):
        store.write(1, fleet, lambda write: _change(write, ids, edges, turn))  # noqa: B023
        past = past or store.clock(1, fleet)
    run_id = add_run(store, fleet)
    if fleet == 1:
        add_impacts(store, run_id, [(id, n - 1 if n else None, None) for n, id in enumerate(ids)])
    add_events(store, [{"type": 1 + n % 3} for n in range(NODES)], fleet)
    return past


def _change(write: Write, ids: range, edges: range, turn: int) -> None:
    rows = [{"id": id, "validity": 1 + (id + turn) % 6} for id in ids]
    open_next(write.snapshot, tables.node_state, rows)
    contents = [{"id": id, "payload": str(turn)} for id in ids[turn :: len(ids) // 9]]
    open_next(write.snapshot, tables.node_content, contents)
    end(write.snapshot, tables.edge, list(edges[turn::40]))


IN_ORDER: dict[str, Callable[[Snapshot], object]] = {
    "nodes by id": lambda s: nodes_by_id(s, [5, 6]),
    "nodes then": lambda s: nodes_then(s, [(5, s.instant), (5, s.instant - 3)]),
    "nodes present": lambda s: present(s, [5, 6]),
    "nodes by ref": lambda s: find_nodes(s, [NodeRef(id=5), NodeRef(key="n:6")]),
    "nodes": lambda s: page_nodes(s, NodeFilter(), 20, 9),
    "sick nodes": lambda s: page_nodes(s, NodeFilter(validity=SICK, pinned=False), 20, 9),
    "pinned nodes": lambda s: page_nodes(s, NodeFilter(pinned=True), 20, None),
    "histories": lambda s: histories(s, [5, 6], 3, None),
    "older history": lambda s: histories(s, [5, 6], 3, s.instant - 1),
    "evidence": lambda s: evidence_of(s, [5, 6]),
    "edges by id": lambda s: edges_by_id(s, [5, 6]),
    "edges": lambda s: page_edges(s, EdgeFilter(types=frozenset(PROPAGATING)), 20, 9),
    "neighbours": lambda s: neighbours(s, [5, 6], BOTH, PROPAGATING),
    "edges between": lambda s: edges_between(s, [5, 6]),
    "a walk": lambda s: reached(s, [5, 6], BOTH, max_depth=3, first=50),
    "a neighbourhood": lambda s: neighbourhood(s, [5, 6], BOTH, max_depth=3, first=50),
    "changes": lambda s: page_changes(s, s.instant - 2, 20, None),
    "more changes": lambda s: page_changes(s, s.instant - 2, 20, (s.instant, 0, 9)),
    "runs by id": lambda s: runs_by_id(s, [1, 2]),
    "runs": lambda s: page_runs(s, RunFilter(), 20, 9),
    "runs of a root": lambda s: page_runs(s, RunFilter(root_id=1, reason="wrong"), 20, None),
    "impacts": lambda s: page_impacts(s, 1, None, 20, 9),
    "impacts by ordinal": lambda s: impacts_at(s, [(1, 5), (1, 6)]),
    "events": lambda s: page_events(s, None, None, 20),
    "more events": lambda s: page_events(s, None, (s.instant, 9), 20),
}
"""Reads that come in their order from an index, or need none."""

SORTED: dict[str, Callable[[Snapshot], object]] = {
    "nodes of ids": lambda s: page_nodes(s, NodeFilter(ids=frozenset({5, 6})), 20, None),
    "nodes of keys": lambda s: page_nodes(s, NodeFilter(keys=frozenset({"n:5"})), 20, None),
    "nodes of a prefix": lambda s: page_nodes(s, NodeFilter(key_prefix="n:1"), 20, None),
    "edges out of a node": lambda s: page_edges(s, EdgeFilter(source_id=5), 20, None),
    "edges into a node": lambda s: page_edges(s, EdgeFilter(target_id=5), 20, None),
    "edges from node to node": lambda s: page_edges(s, EdgeFilter(None, 2, 5), 20, None),
    "outgoing edges": lambda s: edges_around(
        s, [5, 6], outgoing=True, types=None, first=3, after=None
    ),
    "incoming edges": lambda s: edges_around(
        s, [5, 6], outgoing=False, types=PROPAGATING, first=3, after=9
    ),
    "edges beside nodes": lambda s: edges_beside(s, [(5, s.instant), (6, s.instant - 3)], 9, 20),
    "impact paths": lambda s: impact_paths(s, [(1, 5), (1, 6)], 20),
}
"""Reads of a few rows by one key that are then sorted by another, or told apart."""

SETS = re.compile(r"SCAN ((ids|keys|others|pairs|json_each|ranked|chain|met)\b|\(subquery-\d+\)$)")
WHOLE_FLEET = re.compile(r"\(tenant_id=\? AND fleet_id=\?\)$")


@pytest.mark.parametrize("at", ["present", "past"])
@pytest.mark.parametrize("name", [*IN_ORDER, *SORTED])
def test_a_read_takes_the_indexes_meant_for_it(filled: Filled, name: str, at: str) -> None:
    with filled.store.read(1, 1, filled.past if at == "past" else None) as s:
        assert s.current == (at == "present")
        steps = plan(s, partial((IN_ORDER | SORTED)[name], s))
    assert steps
    assert [step for step in steps if step.startswith("SCAN") and not SETS.match(step)] == []
    assert [step for step in steps if "AUTOMATIC" in step or "MATERIALIZE" in step] == []
    assert [step for step in steps if WHOLE_FLEET.search(step)] == []
    if name in IN_ORDER:
        assert [step for step in steps if "TEMP B-TREE" in step] == []


@pytest.mark.parametrize(
    ("name", "at", "step"),
    [
        ("nodes by id", "past", "node_state_history USING PRIMARY KEY (id=? AND valid_to=? AND va"),
        ("nodes by id", "past", "later USING PRIMARY KEY (id=? AND valid_to>?)"),
        ("nodes then", "present", "later USING PRIMARY KEY (id=? AND valid_to>?)"),
        (
            "nodes then",
            "present",
            "node_state_history USING PRIMARY KEY (id=? AND valid_to=? AND v",
        ),
        ("sick nodes", "present", "node_state_unhealthy (tenant_id=? AND fleet_id=? AND validity="),
        ("nodes of keys", "past", "node_by_key (tenant_id=? AND fleet_id=? AND key=?)"),
        ("nodes of a prefix", "past", "node_by_key (tenant_id=? AND fleet_id=? AND key>? AND key<"),
        (
            "edges beside nodes",
            "present",
            "edge_closed_by_source (tenant_id=? AND fleet_id=? AND s",
        ),
        (
            "edges beside nodes",
            "present",
            "edge_by_target (tenant_id=? AND fleet_id=? AND target_id",
        ),
        ("neighbours", "present", "COVERING INDEX edge_by_source (tenant_id=? AND fleet_id=? AND"),
        ("neighbours", "present", "COVERING INDEX edge_by_target (tenant_id=? AND fleet_id=? AND"),
        ("neighbours", "past", "COVERING INDEX edge_closed_by_source (tenant_id=? AND fleet_id=?"),
        ("neighbours", "past", "COVERING INDEX edge_closed_by_target (tenant_id=? AND fleet_id=?"),
        ("changes", "past", "node_state_closed (tenant_id=? AND fleet_id=? AND valid_to>? AND va"),
        ("changes", "past", "node_content_opened (tenant_id=? AND fleet_id=? AND valid_from>?"),
        ("changes", "past", "edge_opened (tenant_id=? AND fleet_id=? AND valid_from>?"),
        ("more events", "present", "(tenant_id=? AND fleet_id=? AND at=? AND ordinal>?)"),
    ],
)
def test_the_index_meant_is_the_index_taken(filled: Filled, name: str, at: str, step: str) -> None:
    with filled.store.read(1, 1, filled.past if at == "past" else None) as s:
        steps = plan(s, partial((IN_ORDER | SORTED)[name], s))
    assert [each for each in steps if step in each] != []


@pytest.mark.needs("query_plans")
def test_the_planner_is_told_about_every_index_of_a_new_file(store: Store) -> None:
    with store.read(1, 1) as s:
        execute = s.connection.exec_driver_sql
        told = set(execute("SELECT idx FROM sqlite_stat1").scalars())
        made = set(execute("SELECT name FROM sqlite_schema WHERE type = 'index'").scalars())
    clustered = {table.history.name for table in VERSIONED} | {"impact", "outbox"}
    assert {name for name in made if not name.startswith("sqlite_")} | clustered <= told

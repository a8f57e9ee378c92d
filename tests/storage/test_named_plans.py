"""The named queries enter tables by the keys meant for them, and in the order meant."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from retrograph.sql.loader import queries
from retrograph.storage.store import Store

BY_NODE = "USE TEMP B-TREE FOR ORDER BY"
IMPACTS = "SEARCH impact USING PRIMARY KEY (tenant_id=? AND fleet_id=? AND run_id=?)"
VALUES = {"tenant_id": 1, "fleet_id": 1, "run_id": 1, "instant": 1, "first_ordinal": 0}


pytestmark = pytest.mark.needs("query_plans")


def plan(store: Store, name: str) -> list[str]:
    with store.read(1, 1) as s:
        explained = f"EXPLAIN QUERY PLAN {queries(s.profile.name)[name]}"
        return [row.detail for row in s.connection.execute(text(explained), VALUES)]


@pytest.mark.parametrize("name", ["close_impacted_states", "apply_impacts"])
def test_states_are_visited_in_the_order_of_ids(store: Store, name: str) -> None:
    steps = plan(store, name)
    assert IMPACTS in steps
    assert BY_NODE in steps
    assert any("USING INTEGER PRIMARY KEY (rowid=?)" in step for step in steps)


def test_events_come_in_the_order_of_impacts(store: Store) -> None:
    assert plan(store, "emit_impacts") == [IMPACTS]


def test_a_graph_of_the_past_takes_one_seek_a_node(store: Store) -> None:
    steps = plan(store, "load_graph_nodes_as_of")
    assert "SEARCH h USING PRIMARY KEY (id=? AND valid_to>?)" in steps
    assert not any("SCAN" in step and "history" in step for step in steps)


def test_edges_of_the_past_come_from_covering_and_closing_indexes(store: Store) -> None:
    steps = plan(store, "load_graph_edges_as_of")
    assert "SEARCH edge USING COVERING INDEX edge_by_target (tenant_id=? AND fleet_id=?)" in steps
    closed = (
        "SEARCH edge_history USING INDEX edge_closed (tenant_id=? AND fleet_id=? AND valid_to>?)"
    )
    assert closed in steps

"""Work is found by the indexes meant for it: no claim and no completion reads a fleet's tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage import claims, open_work, spells
from retrograph.storage.decisions import page_decisions
from retrograph.storage.filters import TaskFilter
from retrograph.storage.store import Store, open_store
from retrograph.storage.tasks import blocking, open_tasks_at, page_tasks, tasks_by_id, tasks_then
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.planting import new_node, plant_edges, plant_nodes
from tests.storage.counting import plan

TASKS = 300
WHOLE_FLEET = re.compile(r"\(tenant_id=\? AND fleet_id=\?( AND status<\?)?\)$")


@pytest.fixture(scope="module", params=["analyzed", "shipped"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    opened = open_store(str(tmp_path_factory.mktemp("plans") / "memory.db"), clock=ManualClock())
    nodes = [new_node(str(n), Validity.DEFINITELY_STALE) for n in range(TASKS)]
    ids = plant_nodes(opened, nodes)
    plant_edges(opened, [(ids[n], ids[n + 1], EdgeType.REQUIRES) for n in range(TASKS - 1)])
    if request.param == "analyzed":
        opened.write(1, 1, lambda write: write.snapshot.connection.exec_driver_sql("ANALYZE"))
    yield opened
    opened.close()


READS: dict[str, tuple[Callable[[Write], object], str]] = {
    "claims": (
        lambda w: claims.claimable(w, 5),
        "task_by_priority (tenant_id=? AND fleet_id=? AND",
    ),
    "leases that ended": (lambda w: claims.claimable(w, 5), "task_due (tenant_id=? AND fleet_id=?"),
    "open tasks": (lambda w: open_work.open_tasks(w.snapshot, [5]), "task_open (tenant_id=? AND"),
    "members": (lambda w: open_work.members(w.snapshot, [5]), "task_by_component (tenant_id=?"),
    "sources": (lambda w: open_work.open_sources(w.snapshot, [5]), "edge_by_target (tenant_id=?"),
    "targets": (lambda w: open_work.open_targets(w.snapshot, [5]), "edge_by_source (tenant_id=?"),
    "overtaken": (lambda w: claims.is_overtaken(w.snapshot, 5, 1), "edge_by_target (tenant_id=?"),
    "requirements": (lambda w: claims.dead_requirements(w.snapshot, 5), "edge_by_target (tenant"),
    "dependents": (lambda w: spells.unclaimed_dependents(w.snapshot, [5]), "task_open (tenant_id="),
    "sickness": (lambda w: spells.resting_on_health(w.snapshot, [5]), "edge_by_target (tenant_id="),
    "spells": (lambda w: spells.fallen_since(w.snapshot, [5]), "node_state_history USING PRIMARY"),
    "disturbances": (lambda w: spells.disturbed(w.snapshot, {5: 1}), "decision_by_node (tenant_id"),
    "tasks by id": (lambda w: tasks_by_id(w.snapshot, [5]), "task USING INTEGER PRIMARY KEY"),
    "tasks then": (
        lambda w: tasks_then(w.snapshot, [(5, w.instant - 1)]),
        "later USING PRIMARY KEY (id=? AND valid_to>?)",
    ),
    "tasks of nodes": (lambda w: open_tasks_at(w.snapshot, [5]), "task_open (tenant_id=?"),
    "what blocks": (
        lambda w: blocking(w.snapshot, tasks_by_id(w.snapshot, [5]).values()),
        "edge_by_target (tenant_id=?",
    ),
    "a page of tasks": (
        lambda w: page_tasks(w.snapshot, TaskFilter(), 5, None),
        "task_by_fleet (tenant_id=? AND fleet_id=? AND id>?)",
    ),
    "tasks of a node": (
        lambda w: page_tasks(w.snapshot, TaskFilter(node_id=5), 5, None),
        "task_by_node (tenant_id=? AND fleet_id=? AND node_id=?",
    ),
    "decisions": (
        lambda w: page_decisions(w.snapshot, None, 5, None),
        "decision_by_fleet (tenant_id=? AND fleet_id=? AND id<?)",
    ),
    "decisions of a node": (
        lambda w: page_decisions(w.snapshot, 5, 5, None),
        "decision_by_node (tenant_id=? AND fleet_id=? AND node_id=?",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_work_is_found_by_its_index(
    store: Store, name: str, request: pytest.FixtureRequest
) -> None:
    read, step = READS[name]
    steps = store.write(1, 1, lambda write: plan(write.snapshot, lambda: read(write)))
    # Of two indexes that are as good, a table that was analyzed while small may take either.
    assert "analyzed" in request.node.callspec.id or [each for each in steps if step in each]
    assert [each for each in steps if WHOLE_FLEET.search(each)] == []
    assert [each for each in steps if "AUTOMATIC" in each or "MATERIALIZE" in each] == []

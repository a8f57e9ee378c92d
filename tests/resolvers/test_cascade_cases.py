"""Every shared case through storage: planted, previewed, invalidated, and asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.cascade import ImpactKind
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef, RunStatus
from retrograph.storage.store import Store
from tests.consistency import assert_consistent
from tests.memory import Memory
from tests.planting import fleet_of, plant_case
from tests.rules.cascade_cases import Case, cases, impacts_of

EVENTS = {
    "CHANGED": "NODE_STALE",
    "PINNED": "PINNED_NODE_REVIEW",
    "REEVALUATE": "REEVALUATION_TRIGGERED",
}


def of_own_tenants(number: int) -> Case:
    """A case, its tenants numbered as no other case has them: all cases share a store."""
    case = cases()[number]
    return case | {
        "nodes": [node | {"tenant": 10 * (number + 1) + node["tenant"]} for node in case["nodes"]]
    }


@pytest.mark.parametrize("number", range(len(cases())), ids=lambda number: cases()[number]["name"])
def test_case(shared_store: Store, number: int) -> None:
    store, case = shared_store, of_own_tenants(number)
    ids = plant_case(store, case)
    tenant, fleet = fleet_of(case)
    memory = Memory(Scope(store, tenant, None, frozenset(Role)), fleet)
    root, effect = str(case["invalidate"]["root"]), Validity[case["invalidate"]["effect"]]
    expected = [named(impact) for impact in case["expect"]["impacts"]]
    healthy, before = memory.states(), memory.scope.clock(memory.fleet)
    assert previewed(memory, ids, root, effect) == expected

    plan = preview_invalidation(
        memory.scope, memory.fleet, NodeRef(key=root), effect, None
    ).plan_hash
    run = memory.fell(root, effect, expected_plan=plan)

    assert memory.impacts(run) == expected
    assert (run.impact_count, run.root_id) == (len(expected), ids[int(root)])
    assert run.status is (RunStatus.APPLIED if expected else RunStatus.NO_CHANGE)
    assert memory.told(run.executed_at) == [(EVENTS[i["kind"]], i["node"]) for i in expected]
    assert memory.states() == healthy | {
        i["node"]: i["to"] for i in expected if i["kind"] == "CHANGED"
    }
    assert memory.states(before) == healthy
    check_that_a_second_one_changes_nothing(memory, root, effect)
    assert_consistent(store, tenant, fleet)


def check_that_a_second_one_changes_nothing(memory: Memory, root: str, effect: Validity) -> None:
    nodes, events = memory.nodes(), memory.events()
    again = memory.fell(root, effect)
    assert (again.status, again.impact_count) == (RunStatus.NO_CHANGE, 0)
    assert memory.impacts(again) == []
    assert memory.events() == events
    versions = {key: node.version_id for key, node in memory.nodes().items()}
    assert versions == {key: node.version_id for key, node in nodes.items()}


def previewed(
    memory: Memory, ids: dict[int, int], root: str, effect: Validity
) -> list[dict[str, Any]]:
    """The preview's impacts, by the case's own ids."""
    found = preview_invalidation(memory.scope, memory.fleet, NodeRef(key=root), effect, None)
    assert found.as_of == memory.scope.clock(memory.fleet)
    back = {stored: str(given) for given, stored in ids.items()}
    return [
        impact | {"node": back[impact["node"]], "path": [back[id] for id in impact["path"]]}
        for impact in impacts_of(found.cascade)
    ]


def named(impact: dict[str, Any]) -> dict[str, Any]:
    assert impact["kind"] in ImpactKind.__members__
    return impact | {"node": str(impact["node"]), "path": [str(id) for id in impact["path"]]}

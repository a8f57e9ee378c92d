"""The waves of the shared cases, through claims: each is ready when all before it are verified."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.complete_revalidation import Completion, Outcome, complete_revalidation
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import Overtaken, RequirementDead
from retrograph.rules.validity import Validity
from retrograph.storage.open_work import open_tasks
from retrograph.storage.store import Store
from retrograph.storage.task_records import TaskRecord, TaskStatus
from retrograph.storage.task_writes import end_tasks, release
from retrograph.storage.write import Write
from tests.consistency import assert_consistent
from tests.memory import Memory
from tests.planting import fleet_of, plant_case
from tests.shared import shared

CASES = json.loads(shared("cases/revalidation.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_waves(store: Store, case: dict[str, Any]) -> None:
    ids = plant_case(store, case)
    tenant, fleet = fleet_of(case)
    memory = Memory(Scope(store, tenant, None, frozenset(Role)), fleet)
    root = case["invalidate"]
    memory.fell(str(root["root"]), Validity[root["effect"]])
    back = {stored: given for given, stored in ids.items()}
    found, tasks, whole = [], claim(memory), True
    while tasks:
        found.append(sorted(back[each.node_id] for each in tasks))
        ahead, verified = verify_all(memory, tasks)
        whole = whole and verified
        if whole:
            assert_consistent(store, tenant, fleet)
        tasks = [*ahead, *claim(memory)]
    assert found == [sorted(wave) for wave in case["expect"]["waves"]]


def claim(memory: Memory) -> list[TaskRecord]:
    return claim_revalidations(memory.scope, memory.fleet, "exam", 100)


def verify_all(memory: Memory, tasks: list[TaskRecord]) -> tuple[list[TaskRecord], bool]:
    """Verifies each task; members of a circle overtake one another, and are claimed again.

    Returns what else was claimed meanwhile, and whether all could be verified: what a dead
    requirement forbids is only ended.
    """
    ahead, whole, left = [], True, list(tasks)
    nodes = {each.node_id for each in tasks}
    while left:
        overtaken = False
        for each in left:
            try:
                completion = Completion(each.id, each.lease_token or "", Outcome.VERIFIED)
                complete_revalidation(memory.scope, memory.fleet, completion)
            except Overtaken:
                overtaken = True
            except RequirementDead:
                memory.scope.write(memory.fleet, lambda write: end(write, each.node_id))  # noqa: B023
                whole = False
        found = claim(memory) if overtaken else []
        left = [each for each in found if each.node_id in nodes]
        ahead += [each for each in found if each.node_id not in nodes]
    return ahead, whole


def end(write: Write, node_id: int) -> None:
    mine = open_tasks(write.snapshot, [node_id])[node_id]
    end_tasks(write, [mine], TaskStatus.VERIFIED)
    release(write, [mine])

"""What a Prometheus server reads: the queues of revalidation, their depth and their age."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.rules.errors import DatabaseUnavailable
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Served

SECOND = 1_000_000
DEPTH = "retrograph_revalidation_tasks"
AGE = "retrograph_revalidation_oldest_task_age_seconds"


def told(served: Served) -> dict[str, dict[str, float]]:
    """Each metric's values by status, but for the zeros."""
    response = served.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        family.name: {each.labels["status"]: each.value for each in family.samples if each.value}
        for family in text_string_to_metric_families(response.text)
    }


def test_it_tells_how_much_work_is_open_and_how_old_it_is(
    served: Served, memory: Memory, clock: ManualClock
) -> None:
    assert told(served) == {DEPTH: {}, AGE: {}}
    memory.plant("a", "b", "c")
    memory.link("a DERIVED_FROM b", "b DERIVED_FROM c")
    memory.fell("a")
    clock.advance(90 * SECOND)
    found = told(served)
    assert found[DEPTH] == {"READY": 1, "WAITING": 1}
    assert found[AGE] == pytest.approx({"READY": 90, "WAITING": 90})


def test_a_lease_that_has_ended_is_ready_again(
    served: Served, memory: Memory, clock: ManualClock
) -> None:
    memory.plant("a", "b")
    memory.link("a DERIVED_FROM b")
    memory.fell("a")
    assert claim_revalidations(memory.scope, memory.fleet, "w", 1, 10)
    assert told(served)[DEPTH] == {"LEASED": 1}
    clock.advance(11 * SECOND)
    assert told(served)[DEPTH] == {"READY": 1}


def test_without_its_database_it_says_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Store) -> list[int]:
        raise DatabaseUnavailable("Start the database.")

    monkeypatch.setattr(Store, "tenant_ids", gone)
    response = served.client.get("/metrics")
    assert response.status_code == 503
    assert response.json()["errors"][0]["extensions"]["code"] == "DATABASE_UNAVAILABLE"

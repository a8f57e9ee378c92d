"""The application around the schema: health, shutdown, and the bell between threads."""

from __future__ import annotations

import asyncio

import pytest

from retrograph.app import create_app
from retrograph.rules.errors import DatabaseUnavailable
from retrograph.schema.bell import Bell
from retrograph.storage.store import Store
from tests.schema.serving import Served, serving


def test_health(served: Served) -> None:
    assert served.client.get("/health/live").json() == {"status": "live"}
    assert served.client.get("/health/ready").json() == {"status": "ready"}
    assert served.client.post("/health/live").status_code == 405


def test_it_is_not_ready_without_its_database(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: Store, tenant_id: int) -> list[int]:
        raise DatabaseUnavailable("Start the database.")

    monkeypatch.setattr(Store, "fleet_ids", gone)
    response = served.client.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["errors"][0]["extensions"]["code"] == "DATABASE_UNAVAILABLE"
    assert served.client.get("/health/live").status_code == 200


def test_a_fault_outside_of_the_schema_is_json(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Store, tenant_id: int) -> list[int]:
        raise KeyError("a secret of ours")

    monkeypatch.setattr(Store, "fleet_ids", broken)
    response = served.client.get("/health/ready")
    assert response.status_code == 500
    assert response.json()["errors"][0]["extensions"]["code"] == "INTERNAL_ERROR"
    assert "secret" not in response.text


def test_the_tenant_is_the_one_the_application_was_made_for(store: Store) -> None:
    store.write_all(2, [5], lambda _: None)
    with serving(create_app(store, tenant_id=2)) as served:
        viewer = served.ask("{ viewer { tenantId fleetIds } }").data["viewer"]
        assert viewer == {"tenantId": "2", "fleetIds": ["5"]}
        assert served.ask("{ nodes(fleetId: 1) { asOf } }").code == "NOT_FOUND"


def test_the_store_outlives_the_application(store: Store) -> None:
    for _ in range(2):
        with serving(create_app(store)) as served:
            assert served.ask("{ viewer { tenantId } }").data
    assert store.fleet_ids(1) == [1]


async def follow(bell: Bell, fleet_id: int, heard: list[str]) -> None:
    """Notes what it hears of a fleet until it is to stop."""
    with bell.waiter(1, fleet_id) as waiter:
        heard.append(f"{fleet_id} begins")
        while not waiter.stopped():
            await waiter.wait()
            waiter.clear()
            heard.append(f"{fleet_id} ends" if waiter.stopped() else f"{fleet_id} hears")


async def turn() -> None:
    """Lets every task that can go on go on."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_bell_wakes_who_listens_for_the_fleet(store: Store) -> None:
    async def listen() -> list[str]:
        bell, heard = Bell(store.listen), list[str]()
        tasks = [asyncio.create_task(follow(bell, fleet_id, heard)) for fleet_id in (1, 2)]
        await turn()
        assert bell.heard
        await asyncio.to_thread(store.write_all, 1, [1], lambda _: None)
        await turn()
        bell.ring_all()
        await turn()
        bell.close()
        await asyncio.gather(*tasks)
        return heard

    assert asyncio.run(listen()) == [
        "1 begins", "2 begins", "1 hears", "1 hears", "2 hears", "1 ends", "2 ends",
    ]  # fmt: skip


def test_a_task_stops_listening_when_it_is_told_to(store: Store) -> None:
    async def listen() -> list[str]:
        bell, heard = Bell(store.listen), list[str]()
        for begun in (True, False):
            task = asyncio.create_task(follow(bell, 1, heard))
            if begun:
                await turn()
            bell.end(task)
            await task
        bell.close()
        return heard

    assert asyncio.run(listen()) == ["1 begins", "1 ends", "1 begins"]


def test_a_bell_that_is_closed_hears_no_commits(store: Store) -> None:
    async def close() -> None:
        bell = Bell(store.listen)
        with bell.waiter(1, 1):
            pass
        assert not bell.heard
        bell.close()

    asyncio.run(close())
    store.write_all(1, [1], lambda _: None)

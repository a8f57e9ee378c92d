"""What a Prometheus server reads: the queues of revalidation, their depth and their age."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from retrograph.metrics import KEPT_SECONDS
from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.relay import Relay
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import DatabaseUnavailable
from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.storage.records import EventType
from retrograph.storage.store import Store
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.memory import NEW, Memory
from tests.resolvers.test_relay import Kept
from tests.schema.serving import Client, Listening, Served
from tests.schema.test_subscription import await_subscribed

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
        if family.name in (DEPTH, AGE)
    }


def samples(client: Client | httpx.Client) -> dict[str, float]:
    """Every sample but the buckets, by name and labels."""
    text = client.get("/metrics").text
    return {
        " ".join((each.name, *each.labels.values())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if "le" not in each.labels
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


def test_it_counts_what_was_written(served: Served, chain: Memory) -> None:
    before = samples(served.client)
    chain.fell("a")
    chain.fell("a", reason="again")
    told = samples(served.client)
    assert told["retrograph_events_written_total"] == len(chain.events())
    for name in ("retrograph_cascade_impacts", "retrograph_cascade_seconds"):
        assert told[f"{name}_count"] - before[f"{name}_count"] == 2
    assert told["retrograph_cascade_impacts_sum"] - before["retrograph_cascade_impacts_sum"] == 5
    requests = [f"retrograph_graph_cache_requests_total {each}" for each in ("hit", "miss")]
    assert sum(told[each] for each in requests) > 0


def test_what_a_refused_write_did_is_not_counted(served: Served, chain: Memory) -> None:
    chain.fell("d")

    def refused(write: Write) -> None:
        write.emit(EventType.NODE_STALE)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 (our own)
        chain.store.write(1, 1, refused)
    assert samples(served.client)["retrograph_events_written_total"] == len(chain.events())


def test_fleets_are_read_once_in_a_while(
    served: Served, memory: Memory, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = Store.read

    def spied(store: Store, *args: Any) -> Any:
        reads.append(1)
        return read(store, *args)

    monkeypatch.setattr(Store, "read", spied)
    for seconds, expected in ((0, 1), (KEPT_SECONDS - 1, 1), (1, 2), (0, 2)):
        clock.advance(seconds * SECOND)
        served.client.get("/metrics")
        assert len(reads) == expected


def test_it_tells_what_a_relay_has_not_dispatched(
    served: Served, memory: Memory, clock: ManualClock
) -> None:
    memory.plant("a", "b", "c")
    memory.fell("a")
    lag, events = (f"retrograph_relay_{each} webhook:x" for each in ("lag_seconds", "events_total"))
    sink = Kept(failing=lambda: True)
    relay = Relay(memory.store, "webhook:x", sink)
    assert lag not in samples(served.client)
    clock.advance(20 * SECOND)
    with pytest.raises(DeliveryFailed):
        relay.step()
    told = samples(served.client)
    assert told[lag] == pytest.approx(20)
    assert told[events] == 0
    sink.failing = lambda: False
    relay.step()
    clock.advance(KEPT_SECONDS * SECOND)
    told = samples(served.client)
    assert (told[lag], told[events]) == (0, 1)
    memory.fell("b")
    clock.advance(30 * SECOND)
    told = samples(served.client)
    assert told[lag] == pytest.approx(30)
    assert told[events] == 1


def test_what_a_relay_has_not_begun_with_waits_for_it(
    served: Served, memory: Memory, clock: ManualClock
) -> None:
    relay = Relay(memory.store, "webhook:x", Kept())
    relay.step()
    memory.store.write_all(2, [7], lambda _: None)
    other = Memory(Scope(memory.store, 2, None, frozenset(Role)), 7)
    other.put(NodeInput("a", kind=NEW))
    other.fell("a")
    clock.advance(40 * SECOND)
    assert samples(served.client)["retrograph_relay_lag_seconds webhook:x"] == pytest.approx(40)


def test_what_a_sink_lost_and_gets_again_is_counted_once(
    served: Served, memory: Memory, clock: ManualClock
) -> None:
    memory.plant("a", "b")
    memory.fell("a")
    sink = Kept()
    relay = Relay(memory.store, "r", sink)
    assert relay.step() == 1
    sink.told.clear()
    sink.forgetful = True
    memory.fell("b")
    assert relay.step() == 2
    assert samples(served.client)["retrograph_relay_events_total r"] == 2


def test_it_tells_who_listens(server: Listening, chain: Memory) -> None:
    def told() -> dict[str, float]:
        text = server.client.get("/metrics").text
        families = text_string_to_metric_families(text)
        found = [each for family in families for each in family.samples if not each.labels]
        return {each.name.removeprefix("retrograph_"): each.value for each in found}

    with server.socket() as socket:
        for id in "xy":
            socket.subscribe(id, "subscription { events(fleetId: 1) { cursor } }")
        await_subscribed(socket)
        chain.fell("d")
        assert {socket.hear()["id"], socket.hear()["id"]} == {"x", "y"}
        now = told()
    assert (now["subscriptions"], now["feeds"], now["feed_followers"]) == (2, 1, 2)
    assert now["feed_events_total"] == 1

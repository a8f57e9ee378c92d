"""The relay takes the outbox of every fleet to its sink: in order, all of it, and marks how far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

import orjson
import pytest

from retrograph import relaying as relaying_module
from retrograph.relaying import LONGEST_WAIT, Relaying
from retrograph.resolvers import relay as relay_module
from retrograph.resolvers.forget_relay import forget_relay
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.lead import LEASE_SECONDS
from retrograph.resolvers.queues import backlog_of
from retrograph.resolvers.relay import Relay
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import DatabaseUnavailable, NotFound
from retrograph.rules.stream_errors import DeliveryFailed, RelayRuns
from retrograph.storage.relays import Batch, Position, Waiting
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import NEW, Memory

SECOND = 1_000_000
FLEETS = ((1, 1), (1, 2), (2, 1))


@dataclass
class Kept:
    """A sink that keeps what it is given; `failing` is asked before each batch."""

    told: dict[tuple[int, int], list[Position]] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    failing: Callable[[], bool] = lambda: False
    forgetful: bool = False

    def forgot(self) -> bool:
        forgetful, self.forgetful = self.forgetful, False
        return forgetful

    def last(self, tenant_id: int, fleet_id: int) -> Position | None:
        return max(self.told.get((tenant_id, fleet_id), ()), default=None)

    def deliver(self, batch: Batch) -> None:
        if self.failing():
            raise DeliveryFailed("Not now.")
        self.batches.append(batch)
        self.told.setdefault((batch.tenant_id, batch.fleet_id), []).extend(batch.positions)


@pytest.fixture
def fleets(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """Fleets of two tenants with events; batches are of two."""
    monkeypatch.setattr(relay_module, "BATCH", 2)
    found = []
    for tenant_id, fleet_id in FLEETS:
        store.write_all(tenant_id, [fleet_id], lambda _: None)
        memory = Memory(Scope(store, tenant_id, None, frozenset(Role)), fleet_id)
        plant(memory, "a", "b", "c")
        memory.link("a REQUIRES b", "b REQUIRES c")
        memory.fell("a")
        found.append(memory)
    return found


def plant(memory: Memory, *keys: str) -> None:
    memory.put(*(NodeInput(key, kind=NEW) for key in keys))


def outbox(fleets: list[Memory]) -> dict[tuple[int, int], list[Position]]:
    return {
        (each.scope.tenant_id, each.fleet): [(event.at, event.ordinal) for event in each.events()]
        for each in fleets
    }


def test_it_delivers_each_event_once_in_order(store: Store, fleets: list[Memory]) -> None:
    sink = Kept()
    relay = Relay(store, "r", sink)
    assert relay.step() == 9
    assert sink.told == outbox(fleets)
    assert {len(each.positions) for each in sink.batches} == {1, 2}
    assert relay.step() == 0
    fleets[1].put(NodeInput("d", kind=NEW))
    assert relay.step() == 0
    fleets[1].fell("d")
    assert relay.step() == 1
    assert sink.told == outbox(fleets)


def test_an_event_is_told_as_tail_tells_it(store: Store, fleets: list[Memory]) -> None:
    sink = Kept()
    Relay(store, "r", sink).step()
    at, ordinal = sink.batches[0].positions[0]
    told = orjson.loads(sink.batches[0].objects[0])
    assert told["cursor"] == f"{at}-{ordinal}"
    assert (told["type"], told["fleetId"], told["node"]["key"]) == ("NODE_STALE", "1", "a")
    assert told["detail"] == {"from": "CURRENTLY_VALID", "to": "INVALID", "depth": 0}


def test_what_has_not_arrived_is_delivered_by_whoever_comes_next(
    store: Store, fleets: list[Memory]
) -> None:
    answers = iter((False, False, True))
    sink = Kept(failing=lambda: next(answers, False))
    relay = Relay(store, "r", sink)
    with pytest.raises(DeliveryFailed):
        relay.step()
    assert len(sink.batches) == 2
    relay.resign()
    assert Relay(store, "r", sink).step() == 9 - 3
    assert sink.told == outbox(fleets)


def test_one_leads_and_another_goes_on_when_its_lease_ends(
    store: Store, fleets: list[Memory], clock: ManualClock
) -> None:
    sink = Kept()
    first, second = Relay(store, "r", sink), Relay(store, "r", sink)
    assert first.step() == 9
    assert second.step() is None
    clock.advance((LEASE_SECONDS + 1) * SECOND)
    fleets[0].put(NodeInput("d", kind=NEW))
    fleets[0].fell("d")
    assert second.step() == 1
    assert first.step() is None
    assert sink.told == outbox(fleets)
    second.resign()
    assert first.step() == 0


def test_who_lost_the_lead_amid_a_delivery_marks_nothing(
    store: Store, fleets: list[Memory], clock: ManualClock
) -> None:
    """So that the new one repeats what may not have arrived, and leaves nothing out."""
    new = Kept()

    def slow() -> bool:
        clock.advance((LEASE_SECONDS + 1) * SECOND)
        assert Relay(store, "r", new).step() == 9
        return False

    old = Kept(failing=slow)
    assert Relay(store, "r", old).step() is None
    assert len(old.batches) == 1
    assert new.told == outbox(fleets)
    assert {each.position for each in store.relay_progress(2, "r")} == {new.last(2, 1)}


def test_a_relay_that_runs_no_more_is_forgotten(
    store: Store, fleets: list[Memory], clock: ManualClock
) -> None:
    gone, stays = Relay(store, "gone", Kept()), Relay(store, "stays", Kept())
    assert gone.step() == stays.step() == 9
    fleets[2].put(NodeInput("d", kind=NEW))
    fleets[2].fell("d")
    with pytest.raises(RelayRuns):
        forget_relay(store, "gone")
    assert set(backlog_of(store).relays) == {"gone", "stays"}
    clock.advance((LEASE_SECONDS + 1) * SECOND)
    forget_relay(store, "gone")
    (left,) = backlog_of(store).relays.items()
    assert left == ("stays", Waiting(fleets[2].events()[-1].at, 9))
    for name in ("gone", "none", "sweep"):
        with pytest.raises(NotFound):
            forget_relay(store, name)
    assert Relay(store, "gone", Kept()).step() == 10


def test_relays_of_other_names_have_places_of_their_own(store: Store, fleets: list[Memory]) -> None:
    assert [Relay(store, name, Kept()).step() for name in "xy"] == [9, 9]


@pytest.mark.parametrize("forgetful", [False, True])
def test_it_may_leave_out_the_past_of_fleets_it_does_not_know(
    store: Store, fleets: list[Memory], clock: ManualClock, forgetful: bool
) -> None:
    """Also for a sink that may have lost what it had, as Redis is at first."""
    began = clock.advance()
    fleets[0].put(NodeInput("d", kind=NEW))
    fleets[0].fell("d")
    sink = Kept(forgetful=forgetful)
    assert Relay(store, "r", sink, since=began - 1).step() == 1
    assert sink.told == {(1, 1): outbox(fleets)[1, 1][-1:]}


def test_a_sink_that_forgot_is_given_all_that_it_lacks(store: Store, fleets: list[Memory]) -> None:
    sink = Kept()
    relay = Relay(store, "r", sink)
    relay.step()
    del sink.told[1, 2], sink.told[2, 1][1:]
    sink.forgetful = True
    assert relay.step() == 5
    assert sink.told == outbox(fleets)
    assert relay.step() == 0


def test_marking_takes_no_instant(store: Store, fleets: list[Memory]) -> None:
    before = [each.scope.clock(each.fleet) for each in fleets]
    Relay(store, "r", Kept()).step()
    assert [each.scope.clock(each.fleet) for each in fleets] == before


class Steps:
    """A relay that does as it is told."""

    name = "r"

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.resigned = 0

    def step(self) -> int | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def resign(self) -> None:
        self.resigned += 1


def test_it_waits_longer_after_each_failure_and_never_gives_up() -> None:
    failures = [DeliveryFailed("no"), DatabaseUnavailable("no")] * 8
    steps = Steps(*failures, 3, DeliveryFailed("no"))
    running = Relaying(steps, chance=lambda: 1.0)  # type: ignore[arg-type]
    waits = [running.turn() for _ in failures]
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == LONGEST_WAIT
    assert running.turn() == 0
    assert running.turn() == relaying_module.FIRST_WAIT
    assert Relaying(Steps(failures[0]), chance=lambda: 0.0).turn() == 0.5  # type: ignore[arg-type]


def test_it_ends_when_it_is_closed_and_leaves_the_lead() -> None:
    steps = Steps(1, 2)

    def rest(news: Event, seconds: float) -> None:
        if not steps.answers:
            running.close()

    running = Relaying(steps, rest)  # type: ignore[arg-type]
    running.run()
    assert steps.resigned == 1

"""Compaction and uses: what is retired, what is merged, and that all of it stays visible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from retrograph.resolvers import compact as compact_module
from retrograph.resolvers.compact import BY, Compacted, compact_fleet
from retrograph.resolvers.episode_inputs import RecallRequest, Source
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.lead import LEASE_SECONDS
from retrograph.resolvers.recall import recall
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.sweep import JOB, Sweeper, Swept
from retrograph.resolvers.write_uses import write_uses
from retrograph.rules.errors import DatabaseLocked
from retrograph.rules.reflection import EpisodeStatus, Proof
from retrograph.rules.utility import DAY
from retrograph.storage.episode_records import EpisodeRecord
from retrograph.storage.episode_writes import retire
from retrograph.storage.outbox import page_events
from retrograph.storage.records import EventType
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.dump import dump
from tests.episodes import Episodes
from tests.memory import NEW, Memory, ref


@pytest.fixture
def episodes(own_fleet: Memory, shared_store: Store) -> Iterator[Episodes]:
    yield Episodes(own_fleet)
    shared_store.uses.take()


def by_id(episodes: Episodes, at: int | None = None) -> dict[int, EpisodeRecord]:
    return {each.id: each for each in episodes.all(at)}


def use(episodes: Episodes, vector: list[float], times: int = 1) -> None:
    memory = episodes.memory
    for _ in range(times):
        request = RecallRequest("d", vector, threshold=0.99)
        recall(memory.scope, memory.fleet, request, is_use=True)


def test_uses_are_written_together(episodes: Episodes, shared_clock: ManualClock) -> None:
    one, two = episodes.learn([1, 0]), episodes.learn([0, 1])
    before = dump(episodes.memory.store)
    use(episodes, [1, 0], 3)
    last = shared_clock.advance()
    use(episodes, [1, 0])
    use(episodes, [0, 1])
    episodes.recall([1, 0])  # asks without using
    assert dump(episodes.memory.store) == before
    assert write_uses(episodes.memory.store) == 2
    assert write_uses(episodes.memory.store) == 0
    then = episodes.memory.scope.clock(episodes.memory.fleet)
    found = by_id(episodes)
    assert (found[one].uses, found[one].last_used_at) == (4, last)
    assert (found[two].uses, found[two].last_used_at) == (1, last)
    use(episodes, [1, 0])
    write_uses(episodes.memory.store)
    assert by_id(episodes)[one].uses == 5
    assert by_id(episodes, then)[one].uses == 4
    assert by_id(episodes, then - 1)[one].uses == 0


def test_uses_that_can_not_be_written_wait(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, store = episodes.learn([1]), episodes.memory.store
    use(episodes, [1.0])

    def refuse(*_: object) -> None:
        raise DatabaseLocked("busy")

    with monkeypatch.context() as patch:
        patch.setattr(store, "write", refuse)
        with pytest.raises(DatabaseLocked):
            write_uses(store)
    use(episodes, [1.0])
    store.uses.note((1, 987_654), [5], 1)  # no such fleet
    write_uses(store)
    assert by_id(episodes)[id].uses == 2


def compact(episodes: Episodes, *, dry_run: bool = False) -> list[Compacted]:
    memory = episodes.memory
    return compact_fleet(memory.scope, memory.fleet, dry_run=dry_run)


def test_what_nobody_uses_is_retired(episodes: Episodes, shared_clock: ManualClock) -> None:
    old, used = episodes.learn([1, 0]), episodes.learn([0, 1])
    shared_clock.advance(61 * DAY)
    fresh, waiting = episodes.learn([1, 1]), episodes.store([1, -1]).id
    use(episodes, [0, 1])
    write_uses(episodes.memory.store)
    before = dump(episodes.memory.store)
    wanted = Compacted("d", (old,), (), (), 0)
    assert compact(episodes, dry_run=True) == [wanted]
    assert dump(episodes.memory.store) == before
    then = episodes.memory.scope.clock(episodes.memory.fleet)
    assert compact(episodes) == [wanted]
    state = by_id(episodes)[old].state
    assert (state.status, state.decided_by) == (EpisodeStatus.RETIRED, BY)
    assert by_id(episodes)[waiting].state.status is EpisodeStatus.QUARANTINED
    assert sorted(episodes.recall([1, 1])) == [used, fresh]
    assert sorted(episodes.recall([1, 1], at=then)) == [old, used, fresh]
    assert compact(episodes) == [Compacted("d", (), (), (), 0)]


def test_what_says_the_same_becomes_an_axiom(episodes: Episodes) -> None:
    memory = episodes.memory
    memory.plant("a", "b")
    one = episodes.learn([1, 0], "X", based_on=[ref("a")], agent="eve")
    two = episodes.learn([2, 0], "x", based_on=[ref("b")], metadata={"best": True}, agent="ann")
    apart = episodes.learn([1, 0], "y")
    use(episodes, [1, 0])
    memory.store.uses.note((1, memory.fleet), [two], memory.store.now())
    write_uses(memory.store)
    then = memory.scope.clock(memory.fleet)
    assert compact(episodes, dry_run=True) == [Compacted("d", (), ((one, two),), (), 0)]
    (done,) = compact(episodes)
    (axiom,) = done.axioms
    assert done.merged == ((one, two),)
    found = by_id(episodes)
    assert found[axiom].content.members == (one, two)
    assert found[axiom].content.metadata == '{"best":true}'
    assert len(found[axiom].content.based_on) == 2
    assert (found[axiom].uses, found[axiom].content.agent) == (3, None)
    assert found[one].state.axiom_id == found[two].state.axiom_id == axiom
    assert episodes.recall([1, 0], threshold=0.9) == [apart, axiom]
    assert episodes.recall([1, 0], threshold=0.9, at=then) == [one, two, apart]
    assert compact(episodes) == [Compacted("d", (), (), (), 0)]


def test_what_is_retired_and_merged_is_told(episodes: Episodes, shared_clock: ManualClock) -> None:
    old = episodes.learn([0, 1])
    shared_clock.advance(61 * DAY)
    one, two, three = (episodes.learn([1, 0]) for _ in range(3))
    assert told(episodes) == []
    compact(episodes, dry_run=True)
    assert told(episodes) == []
    (done,) = compact(episodes)
    episodes.retire(*done.axioms, by="ann", reason="wrong")
    merged = {"episodeIds": [str(each) for each in (one, two, three)]}
    note = "unused for 60 days, and worth less than 0.25"
    assert told(episodes) == [
        (EventType.EPISODES_RETIRED, {"episodeIds": [str(old)], "by": BY, "note": note}),
        (EventType.EPISODES_MERGED, merged | {"axiomId": str(done.axioms[0])}),
        (
            EventType.EPISODES_RETIRED,
            {"episodeIds": [str(done.axioms[0])], "by": "ann", "note": "wrong"},
        ),
    ]
    compact(episodes)
    assert len(told(episodes)) == 3


def told(episodes: Episodes) -> list[tuple[EventType, Any]]:
    """The events of the fleet, with their details."""
    kinds = frozenset({EventType.EPISODES_RETIRED, EventType.EPISODES_MERGED})
    with episodes.memory.scope.snapshot(episodes.memory.fleet) as s:
        rows = page_events(s, kinds, None, 100).rows
    return [(each.type, orjson.loads(each.detail or "")) for each in rows]


def test_sweepers_compact_when_it_is_time(store: Store, clock: ManualClock) -> None:
    """One turn among all, and also where another process takes over the lead."""
    store.write_all(2, [1], lambda _: None)
    both = [Episodes(Memory(Scope(store, each, None, frozenset(Role)))) for each in (1, 2)]
    old = [each.learn([1]) for each in both]

    def active() -> list[list[int]]:
        return [each.recall([1]) for each in both]

    clock.advance(61 * DAY)
    Sweeper(store).step()
    first, second = (Sweeper(store, None, 3_600) for _ in range(2))
    assert active() == [[old[0]], [old[1]]]
    store.lead(JOB, "nobody", 0)
    clock.advance(LEASE_SECONDS * 1_000_000)
    assert first.step() is not None
    assert active() == [[], []]
    late = [each.learn([2]) for each in both]
    again = [each.learn([2]) for each in both]
    clock.advance(LEASE_SECONDS * 1_000_000)
    assert second.step() is not None
    assert active() == [[one, two] for one, two in zip(late, again, strict=True)]
    clock.advance(3_600_000_000)
    assert second.step() is not None
    assert [len(each) for each in active()] == [1, 1]


def test_what_is_due_does_not_wait_for_a_long_compaction(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch takes a second, and a belief expires after three."""
    monkeypatch.setattr(compact_module, "_BATCH", 1)
    memory = Memory(Scope(store, 1, None, frozenset(Role)))
    episodes = Episodes(memory)
    for n in range(6):
        episodes.learn([1, n])
    clock.advance(61 * DAY)
    memory.put(NodeInput("belief", kind=NEW, expires_at=store.now() + 3_500_000))

    def slowly(*given: Any) -> None:
        retire(*given)
        clock.advance(1_000_000)

    monkeypatch.setattr(compact_module, "retire", slowly)
    swept = Sweeper(store, None, 3_600).step()
    assert swept == Swept(expired=1)
    kinds = {EventType.EPISODES_RETIRED, EventType.NODE_STALE}
    order = [each.type for each in memory.events() if each.type in kinds]
    assert order.count(EventType.EPISODES_RETIRED) == 6
    assert order[-1] is EventType.EPISODES_RETIRED
    assert EventType.NODE_STALE in order


def test_an_axiom_goes_with_a_member_that_was_poisoned(episodes: Episodes) -> None:
    eve = episodes.learn([1, 0], agent="eve")
    ann = episodes.learn([1, 0], agent="ann")
    (first,) = compact(episodes)[0].axioms
    late = episodes.learn([1, 0], agent="ann")
    (second,) = compact(episodes)[0].axioms
    assert by_id(episodes)[second].content.members == (first, late)
    done = episodes.retire(source=Source(agent="eve"))
    assert [each.id for each in done.retired] == [eve, first, second]
    assert [each.id for each in done.restored] == [ann, late]
    assert episodes.recall([1, 0]) == [ann, late]


def test_what_an_axiom_had_merged_comes_back_on_its_own_sign_off(episodes: Episodes) -> None:
    """Merged, restored, and merged and restored again: who promoted it, on what and why stays."""
    proven = episodes.promote(episodes.store([1, 0]).id)
    signed = episodes.promote(episodes.store([1, 0]).id, Proof("ann", note="I was there"))
    wanted = {each.id: each.state for each in (proven, signed)}
    for _ in range(2):
        poisoned = episodes.learn([1, 0])
        (axiom,) = compact(episodes)[0].axioms
        merged = episodes.memory.scope.clock(episodes.memory.fleet)
        done = episodes.retire(poisoned, by="bob", reason="wrong")
        assert {each.id: each.state for each in done.restored} == wanted
        now, then = by_id(episodes), by_id(episodes, merged)
        assert {id: now[id].state for id in wanted} == wanted
        assert {then[id].state.axiom_id for id in wanted} == {axiom}
        assert {then[id].state.decided_by for id in wanted} == {BY}


def test_an_axiom_that_another_had_merged_comes_back_as_the_axiom_it_was(
    episodes: Episodes,
) -> None:
    for _ in range(2):
        episodes.learn([1, 0])
    (first,) = compact(episodes)[0].axioms
    before = by_id(episodes)[first].state
    late = episodes.learn([1, 0])
    compact(episodes)
    (restored,) = episodes.retire(late).restored
    assert (restored.id, restored.state) == (first, before)
    assert before.decided_by == BY


def test_what_changed_since_the_plan_is_left_alone(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch, shared_clock: ManualClock
) -> None:
    old, again = episodes.learn([1, 0]), episodes.learn([0, 1])
    shared_clock.advance(61 * DAY)
    one, two = episodes.learn([1, 1]), episodes.learn([1, 1])
    memory = episodes.memory
    write = memory.store.write

    def interfere(tenant: int, fleet: int, job: object) -> object:
        monkeypatch.setattr(memory.store, "write", write)
        episodes.retire(one)
        memory.store.uses.note((tenant, fleet), [again], memory.store.now())
        write_uses(memory.store)
        return write(tenant, fleet, job)  # type: ignore[arg-type]

    monkeypatch.setattr(memory.store, "write", interfere)
    assert compact(episodes) == [Compacted("d", (old,), (), (), 0)]
    assert sorted(episodes.recall([1, 1])) == [again, two]

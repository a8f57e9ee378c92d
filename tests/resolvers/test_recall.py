"""Recall: who is found, as of when, and who never is."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from random import Random
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from retrograph.resolvers.episode_inputs import RecallRequest
from retrograph.resolvers.episodes import relate_entities
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.recall import recall
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules import stages
from retrograph.rules.entity import RelationType
from retrograph.rules.errors import DomainTooLarge, InvalidInput, NotFound, OperationTimedOut
from retrograph.rules.names import fold_name
from retrograph.storage import domain_indexes
from retrograph.storage.deadline import timed_out
from retrograph.storage.domain_indexes import DomainIndexes
from retrograph.storage.episodes import indexed as read_indexed
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from tests.clock import ManualClock
from tests.episodes import Episodes
from tests.memory import Memory, ref
from tests.rules.recall_reference import reference


@pytest.fixture
def memory(own_fleet: Memory) -> Memory:
    return own_fleet


@pytest.fixture
def episodes(memory: Memory) -> Episodes:
    return Episodes(memory)


def test_only_active_episodes_of_the_domain_are_recalled(episodes: Episodes) -> None:
    assert episodes.recall([1, 0]) == []
    near, far = episodes.learn([1, 0]), episodes.learn([1, 1])
    episodes.store([1, 0])
    episodes.learn([1, 0], domain="other")
    gone = episodes.learn([1, 0.1])
    assert episodes.recall([1, 0]) == [near, gone, far]
    episodes.retire(gone)
    assert episodes.recall([1, 0]) == [near, far]
    assert episodes.recall([1, 0], threshold=0.9) == [near]
    assert episodes.recall([1, 0], top_k=1) == [near]


def test_the_parts_of_a_score_are_told(episodes: Episodes) -> None:
    id = episodes.learn([3, 4], "Acme", "CRM")
    request = RecallRequest("d", [1, 0], ["ACME"], threshold=0.5)
    (found,) = recall(episodes.memory.scope, episodes.memory.fleet, request).found
    assert found.episode.id == id
    assert found.scores.cosine == pytest.approx(0.6)
    assert (found.scores.combined, found.scores.graph) == (2 / 61, 1 / 3)


def test_the_past_is_recalled_as_it_was(episodes: Episodes) -> None:
    seen: dict[int, list[int]] = {}

    def look() -> None:
        seen[episodes.memory.scope.clock(episodes.memory.fleet)] = episodes.recall([1, 0])

    ids = [episodes.store([1, n]).id for n in range(4)]
    for id in ids:
        episodes.promote(id)
        look()
    for id in ids[:3]:
        episodes.retire(id)
        look()
    first = [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    then = [[1, 2, 3], [2, 3], [3]]
    assert list(seen.values()) == [[ids[n] for n in row] for row in first + then]
    again = {at: episodes.recall([1, 0], at=at) for at in seen}
    episodes.memory.store.indexes = DomainIndexes()  # as after a restart
    anew = {at: episodes.recall([1, 0], at=at) for at in seen}
    assert again == anew == seen


def test_what_another_process_writes_is_seen(
    store: Store, database: str, clock: ManualClock
) -> None:
    here = Episodes(Memory(Scope(store, 1, None, frozenset(Role))))
    assert here.recall([1]) == []
    with closing(open_store(database, clock=clock)) as other:
        there = Episodes(Memory(Scope(other, 1, None, frozenset(Role))))
        id = there.learn([1])
        assert here.recall([1]) == [id]
        there.retire(id)
        assert here.recall([1]) == []
        assert there.recall([1]) == []


def test_who_rests_on_a_fallen_node_is_not_recalled(memory: Memory, episodes: Episodes) -> None:
    memory.plant("root", "dependent", "pinned", "other")
    memory.link("root OBSERVED_FROM dependent", "root REQUIRES pinned")
    pin_node(memory.scope, memory.fleet, ref("pinned"), pinned=True)
    ids = {
        key: episodes.learn([1, n], based_on=[ref(key), ref("other")])
        for n, key in enumerate(("root", "dependent", "pinned"))
    }
    free = episodes.learn([1, 9])
    before = memory.scope.clock(memory.fleet)
    assert episodes.recall([1, 0]) == [*ids.values(), free]
    run = memory.fell("root")
    assert episodes.recall([1, 0]) == [ids["pinned"], free]
    assert episodes.recall([1, 0], at=before) == [*ids.values(), free]
    assert episodes.recall([1, 0], at=run.executed_at) == [ids["pinned"], free]


def test_many_fallen_make_room_for_those_that_stand(memory: Memory, episodes: Episodes) -> None:
    memory.plant("base")
    for n in range(30):
        episodes.learn([1, n / 100], based_on=[ref("base")])
    stands = [episodes.learn([1, 1 + n]) for n in range(3)]
    memory.fell("base")
    assert episodes.recall([1, 0], top_k=2, threshold=0.0) == stands[:2]


def test_entities_find_and_hops_lead_further(memory: Memory, episodes: Episodes) -> None:
    one, two, three = (episodes.learn([1, 0], name) for name in ("Timeout", "CRM", "Vendor"))
    pairs = [("CRM", "timeout"), ("Vendor", "crm")]
    related = relate_entities(
        memory.scope, memory.fleet, [(*p, RelationType.CAUSED_BY) for p in pairs]
    )
    before = related.instant - 1
    look = partial(episodes.recall, [0, 1], threshold=1.0)
    assert look("TIMEOUT") == [one]
    assert look("timeout", hops=1) == [one, two]
    assert look("timeout", hops=2) == [one, two, three]
    assert look("timeout", hops=2, at=before) == [one]


def test_filters_keep_to_what_is_asked(episodes: Episodes) -> None:
    one = episodes.learn([1], "a", "b", metadata={"tier": "gold", "n": 1, "deep": {"x": 1}})
    two = episodes.learn([1], "a", metadata={"tier": "gold", "n": 2})
    assert episodes.recall([1], about=["A"]) == [one, two]
    assert episodes.recall([1], about=["a", "B"]) == [one]
    assert episodes.recall([1], metadata={"tier": "gold"}) == [one, two]
    assert episodes.recall([1], metadata={"tier": "gold", "n": 2.0}) == [two]
    assert episodes.recall([1], metadata={"tier": "tin"}) == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"domain": ""}, "domain"),
        ({"embedding": [1, 2]}, "embedding"),
        ({"embedding": "AAAA"}, "embedding"),
        ({"hops": 6}, "hops"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"top_k": 0}, "topK"),
        ({"top_k": 101}, "topK"),
        ({"entities": [""]}, "entities/0"),
        ({"about": ["urn:tenant:9:entity:a"]}, "about/0"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": None}}, "metadata"),
    ],
)
def test_bad_input_is_refused(episodes: Episodes, given: dict[str, object], path: str) -> None:
    episodes.store([1])
    values = {"domain": "d", "embedding": [1]} | given
    with pytest.raises(InvalidInput) as caught:
        recall(episodes.memory.scope, episodes.memory.fleet, RecallRequest(**values))  # type: ignore[arg-type]
    assert "/".join(caught.value.path) == f"input/{path}"


def test_a_fleet_that_is_not_there_recalls_nothing(memory: Memory) -> None:
    with pytest.raises(NotFound):
        recall(memory.scope, 9, RecallRequest("d", [1]))


def test_memory_has_a_bound(episodes: Episodes) -> None:
    first, second = (episodes.learn([1], domain=name) for name in "de")
    indexes = episodes.memory.store.indexes = DomainIndexes(300)
    for _ in range(2):
        assert episodes.recall([1], domain="d") == [first]
        assert episodes.recall([1], domain="e") == [second]
        assert len(indexes._entries) == 1
    episodes.memory.store.indexes = DomainIndexes(100)
    with pytest.raises(DomainTooLarge, match="--recall-memory"):
        episodes.recall([1], domain="d")
    episodes.memory.store.indexes = DomainIndexes()


def test_what_was_read_before_time_ran_out_is_kept(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [episodes.learn([1, n]) for n in range(5)]
    read = list[list[int]]()

    def indexed(s: Snapshot, some: list[int]) -> Any:
        read.append(some)
        if len(read) == 2:
            raise timed_out()
        return read_indexed(s, some)

    monkeypatch.setattr(domain_indexes, "_CHUNK", 2)
    monkeypatch.setattr(domain_indexes, "indexed", indexed)
    with pytest.raises(OperationTimedOut):
        episodes.recall([1, 0])
    assert episodes.recall([1, 0]) == ids
    assert read == [ids[:2], ids[2:4], ids[2:4], ids[4:]]


def test_a_large_domain_is_parted_and_measured(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "TWO_STAGES_FROM", 5)
    for n in range(6):
        episodes.learn([1, n])
    assert len(episodes.recall([1, 0])) == 5
    entry = [*episodes.memory.store.indexes._entries.values()][-1]
    assert entry.index.partition is not None
    assert (entry.index.parted_at, entry.index.measured_at) == (6, 6)
    episodes.learn([1, 6])
    assert len(episodes.recall([1, 0], top_k=7)) == 7


def test_random_histories_are_the_plain_reference(episodes: Episodes) -> None:
    random, active = Random(5), dict[int, tuple[list[float], list[str]]]()
    for _ in range(60):
        vector = [random.randint(-2, 2) or 1.0 for _ in range(3)]
        names = random.sample(["Ärger", "ärger", "B", "c"], 2)
        if active and random.random() < 0.3:
            gone = random.choice(list(active))
            del active[gone]
            episodes.retire(gone)
        else:
            active[episodes.learn(vector, *names)] = (vector, [fold_name(n) for n in names])
        asked = random.sample(["Ärger", "b", "C"], random.randint(0, 2))
        rows = [(id, *held) for id, held in active.items()]
        wanted = reference(rows, vector, [fold_name(n) for n in asked], 0.5, 3)
        found = episodes.recall(vector, *asked, threshold=0.5, top_k=3)
        assert found == [each.id for each in wanted]


def test_nobody_sees_what_is_not_active_while_others_write(episodes: Episodes) -> None:
    """Readers ask for the present; at the instant that each answer names, it must have been so."""
    done, seen = Event(), list[tuple[int, list[int]]]()
    request = RecallRequest("d", [1, 0], threshold=-1.0, top_k=100)

    def read() -> None:
        while not done.is_set():
            found = recall(episodes.memory.scope, episodes.memory.fleet, request)
            seen.append((found.instant, [each.episode.id for each in found.found]))

    readers = [Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for n in range(12):
            id = episodes.learn([1, n])
            if n % 2:
                episodes.retire(id)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    episodes.memory.store.indexes = DomainIndexes()
    for instant, ids in dict(seen).items():
        assert episodes.recall([1, 0], at=instant, threshold=-1.0, top_k=100) == ids


@pytest.fixture
def tenants(store: Store) -> dict[int, Episodes]:
    """Two tenants with the same domain, entities and vectors."""
    store.write_all(2, [1], lambda _: None)
    return {
        tenant: Episodes(Memory(Scope(store, tenant, None, frozenset(Role)))) for tenant in (1, 2)
    }


def crossings(tenants: dict[int, Episodes], recalls: int) -> None:
    rng = np.random.default_rng(2)
    vectors = rng.integers(-2, 3, (40, 4)) + 0.5
    own: dict[int, set[int]] = {
        tenant: {each.learn(vector.tolist(), "Acme", "CRM") for vector in vectors}
        for tenant, each in tenants.items()
    }
    assert own[1].isdisjoint(own[2])
    for number in range(recalls):
        vector = (rng.integers(-2, 3, 4) + 0.5).tolist()
        tenant = 1 + number % 2
        found = tenants[tenant].recall(vector, "acme", top_k=10, threshold=-1.0)
        assert len(found) == 10
        assert own[tenant].issuperset(found)


def test_nothing_crosses_between_tenants(tenants: dict[int, Episodes]) -> None:
    crossings(tenants, 50)


@pytest.mark.long
@pytest.mark.needs("large_graphs")
def test_nothing_crosses_in_ten_thousand_recalls(tenants: dict[int, Episodes]) -> None:
    crossings(tenants, 10_000)

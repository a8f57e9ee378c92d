"""Working memories and episodes are found by the indexes meant for them, now and in the past."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.working_memory import update_working_memory
from retrograph.rules.working_memory import Update
from retrograph.storage import entity_relations, episodes
from retrograph.storage.episode_records import EpisodeFilter
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from retrograph.storage.working_memories import find_working_memory
from tests.clock import ManualClock
from tests.episodes import Episodes
from tests.memory import Memory
from tests.storage.counting import plan


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(str(tmp_path_factory.mktemp("plans") / "memory.db"), clock=ManualClock())
    opened.write_all(1, [1], lambda _: None)
    scope = Scope(opened, 1, None, frozenset(Role))
    for _ in range(3):
        update_working_memory(scope, 1, "s", Update(goal="g"))
        Episodes(Memory(scope)).learn([1], "a")
    yield opened
    opened.close()


def before(s: Snapshot) -> Snapshot:
    return replace(s, instant=s.instant - 1)


READS: dict[str, tuple[Callable[[Snapshot], object], str]] = {
    "a session": (
        lambda s: find_working_memory(s, "s"),
        "working_memory_by_session (tenant_id=? AND fleet_id=? AND session_hash=?)",
    ),
    "a session then": (
        lambda s: find_working_memory(before(s), "s"),
        "later USING PRIMARY KEY (id=? AND valid_to>?)",
    ),
    "a domain": (
        lambda s: episodes.find_domain(s, "d"),
        "episode_domain_by_name (tenant_id=? AND fleet_id=? AND name_hash=?)",
    ),
    "by id": (lambda s: episodes.episodes_by_id(s, [2]), "episode USING INTEGER PRIMARY KEY"),
    "by id then": (
        lambda s: episodes.episodes_by_id(before(s), [2]),
        "later USING PRIMARY KEY (id=? AND valid_to>?)",
    ),
    "what they were": (
        lambda s: episodes.former_states(s, [2]),
        "episode_state_history USING PRIMARY KEY (id=? AND valid_to=?)",
    ),
    "a page": (
        lambda s: episodes.page_episodes(s, EpisodeFilter(), 5, None),
        "episode_by_fleet (tenant_id=? AND fleet_id=? AND id>?)",
    ),
    "of an agent": (
        lambda s: episodes.page_episodes(s, EpisodeFilter(agent="a"), 5, None),
        "episode_by_agent (tenant_id=? AND fleet_id=? AND agent_hash=?",
    ),
    "of an execution": (
        lambda s: episodes.page_episodes(s, EpisodeFilter(execution="a"), 5, None),
        "episode_by_execution (tenant_id=? AND fleet_id=? AND execution_hash=?",
    ),
    "about an entity": (
        lambda s: episodes.page_episodes(s, EpisodeFilter(entity="a"), 5, None),
        "episode_entity USING PRIMARY KEY (tenant_id=? AND fleet_id=? AND entity_hash=?",
    ),
    "active": (
        lambda s: episodes.active_in(s, 1),
        "episode_state_by_change (tenant_id=? AND fleet_id=? AND domain_id=?",
    ),
    "active then": (
        lambda s: episodes.active_in(before(s), 1),
        "episode_state_closed (tenant_id=? AND fleet_id=? AND domain_id=? AND valid_to>?)",
    ),
    "changed": (
        lambda s: episodes.changed_in(s, 1, 5),
        "episode_state_by_change (tenant_id=? AND fleet_id=? AND domain_id=? AND valid_from>?)",
    ),
    "vectors": (
        lambda s: list(episodes.indexed(s, [2])),
        "episode_embedding USING INTEGER PRIMARY KEY",
    ),
    "relations": (
        lambda s: entity_relations.related(s, ["a"], 1),
        "entity_relation_by_target (tenant_id=? AND fleet_id=? AND target_hash=?)",
    ),
    "relations out": (
        lambda s: entity_relations.relations_of(s, ["a"]),
        "entity_relation_by_source (tenant_id=? AND fleet_id=? AND source_hash=?)",
    ),
}


@pytest.mark.parametrize("name", READS)
def test_it_is_found_by_its_index(store: Store, name: str) -> None:
    read, step = READS[name]
    with store.read(1, 1) as s:
        steps = plan(s, lambda: read(s))
    assert [each for each in steps if step in each], steps
    assert [each for each in steps if "AUTOMATIC" in each or "MATERIALIZE" in each] == []

"""A fleet's episodes, as tests make and recall them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retrograph.resolvers.episode_inputs import Listing, NewEpisode, RecallRequest
from retrograph.resolvers.episodes import list_episodes, promote_episode, store_episode
from retrograph.resolvers.recall import recall
from retrograph.resolvers.retire_episodes import EpisodesRetired, Retirement, retire_episodes
from retrograph.rules.entity import EntityKind
from retrograph.rules.reflection import Proof, TerminalStatus
from retrograph.storage.episode_records import EpisodeRecord
from tests.memory import Memory

LEARNED = {"trigger": "timeout", "resolution": "retry", "context": "curl"}
DONE = Proof("ci", TerminalStatus.SUCCEEDED, "all tests passed")


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of one fleet, in the domain `d` unless a test says otherwise."""

    memory: Memory

    def store(self, vector: Sequence[float], *names: str, **more: Any) -> EpisodeRecord:
        entities = [(name, EntityKind.ENTITY) for name in names]
        values: dict[str, Any] = {"domain": "d", "reflection": LEARNED, "entities": entities}
        given = NewEpisode(embedding=list(vector), **values | more)
        return store_episode(self.memory.scope, self.memory.fleet, given)

    def promote(self, id: int, proof: Proof = DONE) -> EpisodeRecord:
        return promote_episode(self.memory.scope, self.memory.fleet, id, proof)

    def learn(self, vector: Sequence[float], *names: str, **more: Any) -> int:
        """Stores an episode and promotes it; returns its id."""
        id = self.store(vector, *names, **more).id
        self.promote(id)
        return id

    def retire(self, *ids: int, **more: Any) -> EpisodesRetired:
        given = Retirement(more.pop("reason", "wrong"), ids, **more)
        return retire_episodes(self.memory.scope, self.memory.fleet, given)

    def recall(
        self, vector: Sequence[float], *names: str, at: int | None = None, **more: Any
    ) -> list[int]:
        """The ids that are recalled, best first."""
        values: dict[str, Any] = {"domain": "d", "entities": names, "threshold": 0.0, **more}
        request = RecallRequest(embedding=list(vector), **values)
        found = recall(self.memory.scope, self.memory.fleet, request, at).found
        return [each.episode.id for each in found]

    def all(
        self, at: int | None = None, first: int = 1000, after: int | None = None, **more: Any
    ) -> list[EpisodeRecord]:
        scope, fleet = self.memory.scope, self.memory.fleet
        return list_episodes(scope, fleet, Listing(**more), first, after, at).rows

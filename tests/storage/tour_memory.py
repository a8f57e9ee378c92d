"""The part of the tour that reads checkpoints, steps, episodes and working memories."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from retrograph.resolvers import checkpoints, events
from retrograph.resolvers.episode_inputs import RecallRequest, Source
from retrograph.resolvers.recall import recall
from retrograph.resolvers.record_step import list_steps
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.working_memory import get_working_memory
from retrograph.rules.reflection import EpisodeStatus
from retrograph.storage.checkpoints import NamedPlace
from retrograph.storage.filters import StepFilter
from retrograph.storage.records import EventType
from tests.episodes import Episodes
from tests.memory import Memory
from tests.resolvers.files import exported


def reads_of_memory(fleet: int, at: int | None) -> dict[str, Callable[[Scope], object]]:
    """Every use case that reads other memory than the graph, by name."""
    first = 50
    return {
        "episodes": lambda s: Episodes(Memory(s, fleet)).all(at),
        "episodes by all": lambda s: Episodes(Memory(s, fleet)).all(
            at, domain="d", status=frozenset(EpisodeStatus), source=Source("x", "eve"), entity="a"
        ),
        "recall": lambda s: recall(s, fleet, RecallRequest("d", [1, 0], ["a"]), at),
        "working memory": lambda s: get_working_memory(s, fleet, "session", at),
        "an export": lambda s: exported(s, fleet, at),
        "a head": lambda s: checkpoints.get_checkpoint(s, fleet, "run", None, at),
        "a checkpoint": lambda s: checkpoints.get_checkpoint(s, fleet, "run", 5, at),
        "steps": lambda s: list_steps(s, fleet, "run", StepFilter(), first, None, at),
        "steps of a checkpoint": lambda s: list_steps(
            s, fleet, "run", StepFilter(4), first, None, at
        ),
        "steps by a prefix": lambda s: list_steps(
            s, fleet, "run", StepFilter(4, "p"), first, None, at
        ),
        "what a token committed": lambda s: checkpoints.get_committed(s, fleet, "none", "t", at),
        "executions": lambda s: checkpoints.list_executions(s, fleet, None, first, None, at),
        "executions by a prefix": lambda s: checkpoints.list_executions(
            s, fleet, "r", first, None, at
        ),
        "checkpoints": lambda s: checkpoints.list_checkpoints(s, fleet, "run", first, None, at),
        "checkpoints then": lambda s: checkpoints.load_checkpoints_then(
            s, fleet, _committed(s, fleet)
        ),
    }


def _committed(scope: Scope, fleet: int) -> list[NamedPlace]:
    """Where the events of a fleet say that checkpoints are."""
    told = events.list_events(scope, fleet, [EventType.CHECKPOINT_COMMITTED], None, 50).rows
    details = (orjson.loads(each.detail or "{}") for each in told)
    names = [(detail["executionId"], int(detail["sequence"])) for detail in details]
    return [(name, each.at) for name, each in zip(names, told, strict=True)]

"""A working memory as a JSON document, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retrograph.rules.budget import Eviction, EvictionKind
from retrograph.rules.working_memory import (
    Hypothesis,
    HypothesisStatus,
    Observation,
    Register,
    WorkingMemory,
)


def to_document(memory: WorkingMemory) -> dict[str, object]:
    """All of a memory, as JSON can say it."""
    return {
        "version": memory.version,
        "budget": memory.budget,
        "goal": memory.goal,
        "subGoal": memory.sub_goal,
        "hypotheses": [
            {
                "id": each.id,
                "text": each.text,
                "parent": each.parent,
                "status": each.status.name,
                "confidence": each.confidence,
            }
            for each in memory.hypotheses
        ],
        "registers": [
            {"name": each.name, "value": each.value, "pinned": each.pinned}
            for each in memory.registers
        ],
        "observations": [
            {"number": o.number, "tool": o.tool, "text": o.text, "summary": o.summary}
            for o in memory.observations
        ],
        "seen": memory.seen,
    }


def from_document(document: Mapping[str, Any]) -> WorkingMemory:
    """The memory that `to_document` made a document of."""
    return WorkingMemory(
        version=document["version"],
        budget=document["budget"],
        goal=document["goal"],
        sub_goal=document["subGoal"],
        hypotheses=tuple(
            Hypothesis(**each | {"status": HypothesisStatus[each["status"]]})
            for each in document["hypotheses"]
        ),
        registers=tuple(Register(**each) for each in document["registers"]),
        observations=tuple(Observation(**each) for each in document["observations"]),
        seen=document["seen"],
    )


def evictions_to_document(evictions: Iterable[Eviction]) -> list[dict[str, object]]:
    """What an update took out, in its order."""
    return [
        {"kind": each.kind.name, "observation": each.observation, "register": each.register}
        for each in evictions
    ]


def evictions_from_document(document: Iterable[Mapping[str, Any]]) -> tuple[Eviction, ...]:
    """The evictions that `evictions_to_document` made a document of."""
    return tuple(
        Eviction(EvictionKind[each["kind"]], each["observation"], each["register"])
        for each in document
    )

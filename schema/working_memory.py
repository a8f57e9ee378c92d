"""What an agent has in mind during a session, as of an instant."""

from __future__ import annotations

import strawberry

from retrograph.rules import budget, working_memory
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.rendering import render
from retrograph.schema.enums import EvictionKind, HypothesisStatus
from retrograph.schema.scalars import JSON, DateTime
from retrograph.storage.working_memories import WorkingMemoryRecord


@strawberry.type(description="A supposition in the tree of a session's hypotheses.")
class Hypothesis:
    id: str = strawberry.field(description="What its session calls it.")
    text: str = strawberry.field(description="What is supposed.")
    parent: str | None = strawberry.field(
        description="The id of the hypothesis that it makes more special; null at a root."
    )
    status: HypothesisStatus = strawberry.field(description="What has become of it.")
    confidence: float | None = strawberry.field(description="How sure the agent is, from 0 to 1.")

    @classmethod
    def of(cls, held: working_memory.Hypothesis) -> Hypothesis:
        """A hypothesis as the rules know it."""
        return cls(
            id=held.id,
            text=held.text,
            parent=held.parent,
            status=held.status,
            confidence=held.confidence,
        )


@strawberry.type(description="A value under a name; names that differ in case only are one.")
class MemoryRegister:
    name: str = strawberry.field(description="Its name, as it was last written.")
    value: JSON | None = strawberry.field(description="Its value; one may be null.")
    pinned: bool = strawberry.field(description="Whether it is kept whatever the budget.")

    @classmethod
    def of(cls, held: working_memory.Register) -> MemoryRegister:
        """A register as the rules know it."""
        value = None if held.value is None else JSON(canonical_json(held.value))
        return cls(name=held.name, value=value, pinned=held.pinned)


@strawberry.type(description="What a tool answered.")
class ToolObservation:
    number: int = strawberry.field(description="Its place among all of its session, from 1.")
    tool: str = strawberry.field(description="The tool.")
    text: str = strawberry.field(description="What it answered, or the beginning of that.")
    summary: bool = strawberry.field(
        description="Whether only the first 200 characters were kept, to make room."
    )

    @classmethod
    def of(cls, held: working_memory.Observation) -> ToolObservation:
        """An observation as the rules know it."""
        return cls(number=held.number, tool=held.tool, text=held.text, summary=held.summary)


@strawberry.type(description="What an update took out of a working memory to make room.")
class Eviction:
    kind: EvictionKind = strawberry.field(description="What was done.")
    observation: int | None = strawberry.field(description="The number of the observation.")
    register: str | None = strawberry.field(description="The name of the register, folded.")

    @classmethod
    def of(cls, done: budget.Eviction) -> Eviction:
        """An eviction as the rules know it."""
        return cls(kind=done.kind, observation=done.observation, register=done.register)


@strawberry.type(
    description=(
        "What an agent has in mind during a session. Rendered, it never has more tokens than its "
        "budget."
    )
)
class WorkingMemory:
    session_id: str = strawberry.field(description="The session.")
    version: int = strawberry.field(description="How often it was updated.")
    budget: int = strawberry.field(description="The tokens that it may have.")
    tokens: int = strawberry.field(description="The tokens that it had when it was updated.")
    goal: str | None = strawberry.field(description="The goal.")
    sub_goal: str | None = strawberry.field(description="What is done about it at present.")
    hypotheses: list[Hypothesis] = strawberry.field(
        description="The hypotheses, as they were first given; `parent` makes a tree of them."
    )
    registers: list[MemoryRegister] = strawberry.field(
        description="The registers, that first which was written longest ago."
    )
    observations: list[ToolObservation] = strawberry.field(
        description="What is left of what tools answered, oldest first."
    )
    evictions: list[Eviction] = strawberry.field(
        description="What the last update took out to make room, in its order."
    )
    rendered: str = strawberry.field(description="The text to give to a model.")
    updated_at: DateTime = strawberry.field(description="The instant of the last update.")
    as_of: DateTime = strawberry.field(description="The instant this object was read at.")

    @classmethod
    def of(cls, record: WorkingMemoryRecord) -> WorkingMemory:
        """A record as a client sees it."""
        held = record.memory
        return cls(
            session_id=record.session_id,
            version=held.version,
            budget=held.budget,
            tokens=record.tokens,
            goal=held.goal,
            sub_goal=held.sub_goal,
            hypotheses=[Hypothesis.of(each) for each in held.hypotheses],
            registers=[MemoryRegister.of(each) for each in held.registers],
            observations=[ToolObservation.of(each) for each in held.observations],
            evictions=[Eviction.of(each) for each in record.evictions],
            rendered=render(held),
            updated_at=DateTime(record.valid_from),
            as_of=DateTime(record.as_of),
        )

"""What callers give about working memory."""

from __future__ import annotations

import strawberry

from retrograph.rules import working_memory
from retrograph.schema.enums import HypothesisStatus
from retrograph.schema.scalars import JSON


@strawberry.input(description="A hypothesis; one whose id is known is replaced.")
class HypothesisInput:
    id: str = strawberry.field(description="What the session calls it; at most 200 characters.")
    text: str = strawberry.field(description="What is supposed.")
    parent: str | None = strawberry.field(
        default=None, description="The id of the one that it makes more special."
    )
    status: HypothesisStatus = strawberry.field(
        default=HypothesisStatus.OPEN, description="What has become of it."
    )
    confidence: float | None = strawberry.field(
        default=None, description="How sure the agent is, from 0 to 1."
    )

    def read(self) -> working_memory.Hypothesis:
        """The hypothesis as the rules know it."""
        return working_memory.Hypothesis(
            self.id, self.text, self.parent, self.status, self.confidence
        )


@strawberry.input(description="A value for a register; one of that name is overwritten.")
class RegisterInput:
    name: str = strawberry.field(
        description="Its name, at most 200 characters; case makes no difference."
    )
    value: JSON | None = strawberry.field(
        default=strawberry.UNSET, description="Its value; left out, as it was before."
    )
    pinned: bool | None = strawberry.field(
        default=None,
        description="Whether it is kept whatever the budget; left out, as it was before.",
    )

    def read(self) -> working_memory.RegisterWrite:
        """The register as the rules know it."""
        left_out = self.value is strawberry.UNSET
        value = None if left_out else self.value
        return working_memory.RegisterWrite(self.name, value, self.pinned, keeps=left_out)


@strawberry.input(description="What a tool has answered.")
class ObservationInput:
    tool: str = strawberry.field(description="The tool; at most 200 characters.")
    text: str = strawberry.field(description="What it answered.")

    def read(self) -> working_memory.Observed:
        """The observation as the rules know it."""
        return working_memory.Observed(self.tool, self.text)


@strawberry.input(description="What is to change in a working memory; what isn't given stays.")
class UpdateWorkingMemoryInput:
    fleet_id: strawberry.ID = strawberry.field(description="The session's fleet.")
    session_id: str = strawberry.field(
        description="The session, at most 200 characters; one that is new is begun."
    )
    expected_version: int | None = strawberry.field(
        default=None,
        description="The `version` that it must have, 0 if it is new; else nothing is changed.",
    )
    goal: str | None = strawberry.field(
        default=strawberry.UNSET, description="The goal; null clears it."
    )
    sub_goal: str | None = strawberry.field(
        default=strawberry.UNSET, description="The sub-goal; null clears it."
    )
    hypotheses: list[HypothesisInput] | None = strawberry.field(
        default=None, description="Hypotheses to add or to replace, each id once."
    )
    drop_hypotheses: list[str] | None = strawberry.field(
        default=None, description="Ids of hypotheses to drop, with those below them."
    )
    registers: list[RegisterInput] | None = strawberry.field(
        default=None, description="Registers to write, each name once."
    )
    drop_registers: list[str] | None = strawberry.field(
        default=None, description="Names of registers to drop."
    )
    observations: list[ObservationInput] | None = strawberry.field(
        default=None, description="What tools have answered, oldest first."
    )
    budget: int | None = strawberry.field(
        default=None, description="How many tokens it may have from now on: 1 to 100,000."
    )

    def read(self) -> working_memory.Update:
        """The update as the rules know it."""
        return working_memory.Update(
            goal=_cleared(self.goal),
            sub_goal=_cleared(self.sub_goal),
            hypotheses=[each.read() for each in self.hypotheses or ()],
            drop_hypotheses=self.drop_hypotheses or (),
            registers=[each.read() for each in self.registers or ()],
            drop_registers=self.drop_registers or (),
            observations=[each.read() for each in self.observations or ()],
            budget=self.budget,
        )


def _cleared(goal: str | None) -> str | None:
    """A goal as the rules take it: None leaves it, an empty text clears it."""
    return None if goal is strawberry.UNSET else goal or ""

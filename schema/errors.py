"""The failures that a caller can act on, as union members and as errors of a response.

A mutation names those it may answer with in its result union; there the handlers below turn the
raised error into a value. Everywhere else it becomes an error of the response (see `failures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import strawberry
from strawberry.schema.exception_handlers import ExceptionHandler

from retrograph.resolvers.checkpoints import stored_checkpoint
from retrograph.resolvers.nodes import get_node
from retrograph.rules import checkpoint_errors, errors
from retrograph.schema import checkpoint, node
from retrograph.schema.links import CheckpointLink, NodeLink
from retrograph.storage.records import NodeRef

if TYPE_CHECKING:
    from strawberry.types.field import StrawberryField

    from retrograph.schema.context import Context, Info

Raised_contra = TypeVar("Raised_contra", bound=errors.RetrographError, contravariant=True)
Answer_co = TypeVar("Answer_co", bound="UserError", covariant=True)


@strawberry.interface(
    description=(
        "A failure that the caller can act on. Nothing was changed. `code` is stable; `message` "
        "is for people; `path` names the input field, outermost first."
    )
)
class UserError:
    code: str = strawberry.field(description="Stable, for programs.")
    message: str = strawberry.field(description="For people: what is wrong, and what to do.")
    path: list[str] | None = strawberry.field(
        description="The input field that is wrong, outermost first; null where none is."
    )


@strawberry.type(description="No such fleet, node, edge, run or task, or none that you may see.")
class NotFound(UserError):
    pass


@strawberry.type(description="A value of the input breaks a rule.")
class InvalidInput(UserError):
    pass


@strawberry.type(description="The node has another version than `expectedVersion`.")
class VersionConflict(UserError):
    current: NodeLink | None = strawberry.field(
        description="The node as it is now: decide again, with its `versionId`."
    )


@strawberry.type(description="The cascade would now differ from the expected plan.")
class PlanChanged(UserError):
    plan_hash: str = strawberry.field(description="The hash of the cascade as it would be now.")


@strawberry.type(description="The run would have too many impacts; it was refused whole.")
class RunTooLarge(UserError):
    limit: int = strawberry.field(description="How many impacts a run may have.")


@strawberry.type(description="The run changed nothing, or was reverted already.")
class RunNotRevertible(UserError):
    pass


@strawberry.type(description="The idempotency key already names a request with other content.")
class IdempotencyKeyReused(UserError):
    pass


@strawberry.type(description="The task has ended already; what was decided stands.")
class TaskClosed(UserError):
    pass


@strawberry.type(description="A newer run, or a pin, has cancelled the task.")
class TaskCancelled(UserError):
    pass


@strawberry.type(description="The lease is over, or was another's.")
class LeaseLost(UserError):
    pass


@strawberry.type(
    description="What the node rests on has changed since the claim; the task is ready again."
)
class Overtaken(UserError):
    pass


@strawberry.type(description="Something that the node requires is invalid or superseded.")
class RequirementDead(UserError):
    pass


@strawberry.type(description="The task is no dead letter.")
class NotDeadLettered(UserError):
    pass


@strawberry.type(
    description="The scheduled invalidation was executed, refused or cancelled already."
)
class ScheduleSettled(UserError):
    pass


@strawberry.type(description="The execution's head is not the checkpoint that you expected.")
class CheckpointConflict(UserError):
    head: CheckpointLink | None = strawberry.field(
        description="The head that was found, as it is stored; null where there is none yet."
    )


@strawberry.type(description="The idempotency token already names another commit.")
class TokenReused(UserError):
    pass


@strawberry.type(description="The key already names a step with other content.")
class StepKeyReused(UserError):
    pass


@strawberry.type(description="The working memory has another version than `expectedVersion`.")
class MemoryConflict(UserError):
    current: int = strawberry.field(description="Its version now; 0 where there is none yet.")


@strawberry.type(
    description="What must stay in a working memory has more tokens than its budget; nothing went."
)
class BudgetExceeded(UserError):
    tokens: int = strawberry.field(description="The tokens of what must stay.")
    budget: int = strawberry.field(description="The tokens that it may have.")


@strawberry.type(description="The episode may not leave its quarantine, or is in none.")
class PromotionRefused(UserError):
    pass


def _common(error: errors.RetrographError) -> dict[str, Any]:
    """The fields of every user error; paths of mutations begin at their one argument."""
    inside = not error.path or error.path[0] == "input"
    path = list(error.path) if inside else ["input", *error.path]
    return {"code": error.code, "message": error.message, "path": path or None}


class _Plain(ExceptionHandler[Raised_contra, Answer_co]):
    """Answers with a type that has nothing but what every user error has."""

    def __init__(self, raised: type[Raised_contra], answer: type[Answer_co]) -> None:
        self.exception_type = raised
        self.error_type = answer

    def handle(self, exception: Raised_contra, *, field: StrawberryField, info: Info) -> Answer_co:
        return self.error_type(**_common(exception))


class _VersionConflict(ExceptionHandler[errors.VersionConflict, VersionConflict]):
    async def handle(
        self, exception: errors.VersionConflict, *, field: StrawberryField, info: Info
    ) -> VersionConflict:
        return VersionConflict(
            **_common(exception), current=await _present(info.context, exception.node_id)
        )


class _PlanChanged(ExceptionHandler[errors.PlanChanged, PlanChanged]):
    def handle(
        self, exception: errors.PlanChanged, *, field: StrawberryField, info: Info
    ) -> PlanChanged:
        return PlanChanged(**_common(exception), plan_hash=exception.plan_hash)


class _RunTooLarge(ExceptionHandler[errors.RunTooLarge, RunTooLarge]):
    def handle(
        self, exception: errors.RunTooLarge, *, field: StrawberryField, info: Info
    ) -> RunTooLarge:
        return RunTooLarge(**_common(exception), limit=exception.limit)


class _CheckpointConflict(
    ExceptionHandler[checkpoint_errors.CheckpointConflict, CheckpointConflict]
):
    async def handle(
        self, exception: checkpoint_errors.CheckpointConflict, *, field: StrawberryField, info: Info
    ) -> CheckpointConflict:
        return CheckpointConflict(
            **_common(exception),
            head=await _head(info.context, exception.execution_id, exception.head),
        )


async def _head(context: Context, execution_id: str, sequence: int) -> checkpoint.Checkpoint | None:
    if not sequence:
        return None
    assert context.acting_on is not None  # noqa: S101 (a mutation has said so)
    record = await context.call(stored_checkpoint, context.acting_on, execution_id, sequence, None)
    return None if record is None else checkpoint.Checkpoint.of(record)


class _MemoryConflict(ExceptionHandler[errors.MemoryConflict, MemoryConflict]):
    def handle(
        self, exception: errors.MemoryConflict, *, field: StrawberryField, info: Info
    ) -> MemoryConflict:
        return MemoryConflict(**_common(exception), current=exception.current)


class _BudgetExceeded(ExceptionHandler[errors.BudgetExceeded, BudgetExceeded]):
    def handle(
        self, exception: errors.BudgetExceeded, *, field: StrawberryField, info: Info
    ) -> BudgetExceeded:
        return BudgetExceeded(
            **_common(exception), tokens=exception.tokens, budget=exception.budget
        )


async def _present(context: Context, node_id: int) -> node.MemoryNode | None:
    assert context.acting_on is not None  # noqa: S101 (a mutation has said so)
    record = await context.call(get_node, context.acting_on, NodeRef(id=node_id), None)
    return None if record is None else node.MemoryNode.of(record)


HANDLERS: tuple[ExceptionHandler[Any, Any], ...] = (
    _VersionConflict(),
    _CheckpointConflict(),
    _PlanChanged(),
    _RunTooLarge(),
    _MemoryConflict(),
    _BudgetExceeded(),
    _Plain(errors.PromotionRefused, PromotionRefused),
    _Plain(errors.NotFound, NotFound),
    _Plain(errors.InvalidInput, InvalidInput),
    _Plain(errors.OperationTimedOut, InvalidInput),
    _Plain(errors.RunNotRevertible, RunNotRevertible),
    _Plain(errors.IdempotencyKeyReused, IdempotencyKeyReused),
    _Plain(checkpoint_errors.TokenReused, TokenReused),
    _Plain(checkpoint_errors.StepKeyReused, StepKeyReused),
    _Plain(errors.TaskClosed, TaskClosed),
    _Plain(errors.TaskCancelled, TaskCancelled),
    _Plain(errors.LeaseLost, LeaseLost),
    _Plain(errors.Overtaken, Overtaken),
    _Plain(errors.RequirementDead, RequirementDead),
    _Plain(errors.NotDeadLettered, NotDeadLettered),
    _Plain(errors.ScheduleSettled, ScheduleSettled),
)

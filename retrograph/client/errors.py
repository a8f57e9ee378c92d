"""What can go wrong for a client.

ClientError
├── Unreachable               no answer came, or none of this API
└── ApiError                  the server refused; any code that has no class of its own
    ├── Unauthenticated       UNAUTHENTICATED
    ├── Forbidden             FORBIDDEN
    ├── NotFound              NOT_FOUND
    ├── InvalidInput          BAD_USER_INPUT and its more special codes
    ├── TooComplex            OPERATION_TOO_COMPLEX
    ├── TooManyStreams        TOO_MANY_STREAMS
    ├── VersionConflict       VERSION_CONFLICT; `details["current"]` is the present node
    ├── PlanChanged           PLAN_CHANGED; `details["planHash"]` names the present plan
    ├── RunTooLarge           RUN_TOO_LARGE; `details["limit"]`
    ├── RunNotRevertible      RUN_NOT_REVERTIBLE
    ├── IdempotencyKeyReused  IDEMPOTENCY_KEY_REUSED
    ├── TaskClosed            TASK_CLOSED
    ├── TaskCancelled         TASK_CANCELLED
    ├── LeaseLost             LEASE_LOST
    ├── Overtaken             OVERTAKEN
    ├── RequirementDead       REQUIREMENT_DEAD
    ├── NotDeadLettered       NOT_DEAD_LETTERED
    ├── ScheduleSettled       SCHEDULE_SETTLED
    ├── CheckpointConflict    CHECKPOINT_CONFLICT; `details["head"]` is the head that was found
    ├── TokenReused           TOKEN_REUSED
    ├── StepKeyReused         STEP_KEY_REUSED
    ├── MemoryConflict        MEMORY_CONFLICT; `details["current"]` is the present version
    ├── BudgetExceeded        BUDGET_EXCEEDED; `details["tokens"]` and `details["budget"]`
    ├── PromotionRefused      PROMOTION_REFUSED
    ├── Unavailable           the database can't be used now; queries are tried again first
    └── InternalError         INTERNAL_ERROR; `details["id"]` is in the server's log
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ClientError(Exception):
    """The root of the tree; never raised itself."""


class Unreachable(ClientError):
    """No answer came, or something else than this API answered.

    Whether a mutation was done is unknown, unless it was never sent.
    """


class ApiError(ClientError):
    """The server refused the operation, or a part of it.

    `code` is stable, `message` says what to do, `path` names the input field, outermost first.
    `details` holds what else belongs to the code, `data` what was answered all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        path: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.path = tuple(path)
        self.details = details or {}
        self.data = data


class Unauthenticated(ApiError):
    """The token is missing or wrong, or has expired."""


class Forbidden(ApiError):
    """None of the token's roles allows it."""


class NotFound(ApiError):
    """No such fleet, node, edge or run, or none that you may see."""


class InvalidInput(ApiError):
    """A value breaks a rule."""


class TooComplex(ApiError):
    """The operation is too deep, too large or too dear."""


class TooManyStreams(ApiError):
    """The caller has as many subscriptions open as one may have; end one."""


class VersionConflict(ApiError):
    """The node has another version than was expected."""


class PlanChanged(ApiError):
    """The cascade would differ from the expected plan."""


class RunTooLarge(ApiError):
    """The run would have too many impacts."""


class RunNotRevertible(ApiError):
    """The run changed nothing, or was reverted already."""


class IdempotencyKeyReused(ApiError):
    """The key names a request with other content."""


class TaskClosed(ApiError):
    """The task has ended already."""


class TaskCancelled(ApiError):
    """A newer run, or a pin, has cancelled the task."""


class LeaseLost(ApiError):
    """The lease is over, or was another's."""


class Overtaken(ApiError):
    """What the node rests on has changed since the claim."""


class RequirementDead(ApiError):
    """Something that the node requires is dead."""


class NotDeadLettered(ApiError):
    """The task is no dead letter."""


class ScheduleSettled(ApiError):
    """The scheduled invalidation was run, refused or cancelled already."""


class CheckpointConflict(ApiError):
    """The execution's head is not the one that was expected."""


class TokenReused(ApiError):
    """The token has committed something else."""


class StepKeyReused(ApiError):
    """The key names a step with other content."""


class MemoryConflict(ApiError):
    """The working memory has another version than the one that was expected."""


class BudgetExceeded(ApiError):
    """What may not be evicted alone takes more tokens than the budget has."""


class PromotionRefused(ApiError):
    """The gate of episodes refused."""


class Unavailable(ApiError):
    """The server's database can't be used now."""


class InternalError(ApiError):
    """A fault of the server's."""


BY_CODE: Mapping[str, type[ApiError]] = {
    "UNAUTHENTICATED": Unauthenticated,
    "FORBIDDEN": Forbidden,
    "NOT_FOUND": NotFound,
    "BAD_USER_INPUT": InvalidInput,
    "SELF_LOOP": InvalidInput,
    "DUPLICATE_EDGE": InvalidInput,
    "PAYLOAD_TOO_LARGE": InvalidInput,
    "INVALID_CURSOR": InvalidInput,
    "INSTANT_IN_FUTURE": InvalidInput,
    "OPERATION_TOO_COMPLEX": TooComplex,
    "TOO_MANY_STREAMS": TooManyStreams,
    "VERSION_CONFLICT": VersionConflict,
    "PLAN_CHANGED": PlanChanged,
    "RUN_TOO_LARGE": RunTooLarge,
    "RUN_NOT_REVERTIBLE": RunNotRevertible,
    "IDEMPOTENCY_KEY_REUSED": IdempotencyKeyReused,
    "TASK_CLOSED": TaskClosed,
    "TASK_CANCELLED": TaskCancelled,
    "LEASE_LOST": LeaseLost,
    "OVERTAKEN": Overtaken,
    "REQUIREMENT_DEAD": RequirementDead,
    "NOT_DEAD_LETTERED": NotDeadLettered,
    "SCHEDULE_SETTLED": ScheduleSettled,
    "CHECKPOINT_CONFLICT": CheckpointConflict,
    "CHECKPOINT_REMOVED": NotFound,
    "TOKEN_REUSED": TokenReused,
    "STEP_KEY_REUSED": StepKeyReused,
    "UNKNOWN_SCHEMA_VERSION": InvalidInput,
    "MEMORY_CONFLICT": MemoryConflict,
    "BUDGET_EXCEEDED": BudgetExceeded,
    "PROMOTION_REFUSED": PromotionRefused,
    "DATABASE_UNAVAILABLE": Unavailable,
    "DATABASE_LOCKED": Unavailable,
    "INTERNAL_ERROR": InternalError,
}


def failure_of(failure: Mapping[str, Any]) -> ApiError:
    """The error that a `UserError` of a mutation's answer tells of."""
    details = {name: value for name, value in failure.items() if name not in _COMMON}
    kind = BY_CODE.get(failure["code"], ApiError)
    path = failure.get("path") or ()
    return kind(failure["message"], code=failure["code"], path=path, details=details)


def done(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the only mutation of a document has done; raises what it failed with."""
    (answer,) = data.values()
    if "code" in answer:
        raise failure_of(answer)
    told: dict[str, Any] = answer
    return told


def error_of(error: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> ApiError:
    """The error that an item of a response's `errors` tells of."""
    extensions = dict(error.get("extensions") or {})
    code, path = str(extensions.pop("code", "")), extensions.pop("path", ())
    kind = BY_CODE.get(code, ApiError)
    return kind(str(error.get("message")), code=code, path=path, details=extensions, data=data)


_COMMON = frozenset({"__typename", "code", "message", "path"})

"""The failures that a caller can act on.

Every one has a stable `code` for programs, a `message` for people that says what to do, and a
`path` that names the input field where there is one.

    RetrographError
    ├── Unauthenticated           UNAUTHENTICATED
    ├── Forbidden                 FORBIDDEN
    ├── TooManyStreams            TOO_MANY_STREAMS
    ├── Lagged                    LAGGED
    ├── NotFound                  NOT_FOUND
    │   └── CheckpointRemoved     CHECKPOINT_REMOVED
    ├── InvalidInput              BAD_USER_INPUT, or a more special code
    │   ├── InvalidCursor         INVALID_CURSOR
    │   ├── InstantInFuture       INSTANT_IN_FUTURE
    │   ├── BeyondRetention       BEYOND_RETENTION
    │   └── UnknownSchemaVersion  UNKNOWN_SCHEMA_VERSION
    ├── VersionConflict           VERSION_CONFLICT
    ├── MemoryConflict            MEMORY_CONFLICT
    ├── BudgetExceeded            BUDGET_EXCEEDED
    ├── PromotionRefused          PROMOTION_REFUSED
    ├── DomainTooLarge            DOMAIN_TOO_LARGE
    ├── PlanChanged               PLAN_CHANGED
    ├── RunTooLarge               RUN_TOO_LARGE
    ├── RunNotRevertible          RUN_NOT_REVERTIBLE
    ├── IdempotencyKeyReused      IDEMPOTENCY_KEY_REUSED
    ├── ScheduleSettled           SCHEDULE_SETTLED
    ├── CheckpointConflict        CHECKPOINT_CONFLICT
    ├── TokenReused               TOKEN_REUSED
    ├── StepKeyReused             STEP_KEY_REUSED
    ├── UpcastFailed              UPCAST_FAILED
    ├── TaskRefused               TASK_REFUSED
    │   ├── TaskClosed            TASK_CLOSED
    │   ├── TaskCancelled         TASK_CANCELLED
    │   ├── LeaseLost             LEASE_LOST
    │   ├── Overtaken             OVERTAKEN
    │   ├── RequirementDead       REQUIREMENT_DEAD
    │   └── NotDeadLettered       NOT_DEAD_LETTERED
    ├── ImportRejected            IMPORT_REJECTED
    ├── ImportStopped             IMPORT_STOPPED
    ├── ConfigurationError        CONFIGURATION
    ├── OutputFailed              OUTPUT_FAILED
    ├── DeliveryFailed            DELIVERY_FAILED
    ├── RelayRuns                 RELAY_RUNS
    └── StorageError              STORAGE
        ├── OperationTimedOut     OPERATION_TIMED_OUT
        ├── DatabaseUnavailable   DATABASE_UNAVAILABLE
        ├── AccessDenied          ACCESS_DENIED
        ├── DriverMissing         DRIVER_MISSING
        ├── DatabaseLocked        DATABASE_LOCKED
        ├── DatabaseReadOnly      DATABASE_READ_ONLY
        ├── NotADatabase          NOT_A_DATABASE
        ├── SchemaTooNew          SCHEMA_TOO_NEW
        ├── SchemaTooOld          SCHEMA_TOO_OLD
        ├── MigrationChanged      MIGRATION_CHANGED
        ├── CheckpointDamaged     CHECKPOINT_DAMAGED
        └── ClockBehind           CLOCK_BEHIND
"""

from __future__ import annotations

FieldPath = tuple[str, ...]


class RetrographError(Exception):
    """The root of the tree; never raised itself.

    `code` is stable, `message` says what to do, `path` names the input field, outermost first;
    `str()` of the error is its message.
    """

    code: str = "INTERNAL"

    def __init__(self, message: str, *, path: FieldPath = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class Unauthenticated(RetrographError):
    """No proof of who asks, or one that doesn't count (any more)."""

    code = "UNAUTHENTICATED"


class Forbidden(RetrographError):
    """The caller's roles don't allow what was asked for; nothing of it was done."""

    code = "FORBIDDEN"


class NotFound(RetrographError):
    """No such tenant, fleet, node or run, or none that this caller may see."""

    code = "NOT_FOUND"

    @classmethod
    def fleet(cls, fleet_id: int) -> NotFound:
        """A fleet that doesn't exist, or that the caller doesn't hold: the same words for both."""
        return cls(
            f"There is no fleet {fleet_id}; name one of yours, or make it by importing into it.",
            path=("fleetId",),
        )


class InvalidInput(RetrographError):
    """A value that the caller gave breaks a rule; nothing was changed."""

    code = "BAD_USER_INPUT"

    def __init__(self, message: str, *, path: FieldPath = (), code: str | None = None) -> None:
        super().__init__(message, path=path)
        if code is not None:
            self.code = code


class InvalidCursor(InvalidInput):
    """A cursor that is garbage, or that belongs to another list or another instant."""

    code = "INVALID_CURSOR"


class InstantInFuture(InvalidInput):
    """An instant later than both the present and the fleet's clock."""

    code = "INSTANT_IN_FUTURE"


class BeyondRetention(InvalidInput):
    """An instant so long ago that what was true then may be deleted already."""

    code = "BEYOND_RETENTION"


class VersionConflict(RetrographError):
    """The node has another version than the caller expected; `current` is the present one."""

    code = "VERSION_CONFLICT"

    def __init__(self, node_id: int, current: str, *, path: FieldPath = ()) -> None:
        super().__init__(
            f"Node {node_id} is at version {current} now. Read it again, decide again, and pass "
            "that version as expectedVersion.",
            path=path,
        )
        self.node_id = node_id
        self.current = current


class MemoryConflict(RetrographError):
    """A session's working memory has another version than expected; `current` is the present one.

    0 where the session has none yet.
    """

    code = "MEMORY_CONFLICT"

    def __init__(self, current: int, *, path: FieldPath = ()) -> None:
        super().__init__(
            f"The working memory is at version {current} now. Read it again, decide again, and "
            "pass that version as expectedVersion.",
            path=path,
        )
        self.current = current


class BudgetExceeded(RetrographError):
    """What must stay in a working memory has `tokens`, more than its `budget`; nothing changed."""

    code = "BUDGET_EXCEEDED"

    def __init__(self, tokens: int, budget: int, *, path: FieldPath = ()) -> None:
        super().__init__(
            f"Goals, hypotheses, pinned registers and what you write would have {tokens:,} tokens, "
            f"more than the budget of {budget:,}. Write less, unpin or drop something, or raise "
            "the budget.",
            path=path,
        )
        self.tokens = tokens
        self.budget = budget


class PromotionRefused(RetrographError):
    """An episode may not leave its quarantine, or is in none."""

    code = "PROMOTION_REFUSED"


class DomainTooLarge(RetrographError):
    """A domain's vectors would not fit into the memory that recall may take."""

    code = "DOMAIN_TOO_LARGE"


class PlanChanged(RetrographError):
    """The cascade would now differ from the previewed one; `plan_hash` names the present one."""

    code = "PLAN_CHANGED"

    def __init__(self, plan_hash: str, *, path: FieldPath = ()) -> None:
        super().__init__(
            "The cascade would now differ from the plan you expected. Preview it again, and pass "
            f"the planHash you agree to; at present it is {plan_hash}.",
            path=path,
        )
        self.plan_hash = plan_hash


class RunTooLarge(RetrographError):
    """A run would have more than `limit` impacts, and is refused whole."""

    code = "RUN_TOO_LARGE"

    def __init__(self, limit: int, *, path: FieldPath = ()) -> None:
        super().__init__(
            f"The run would have more than {limit:,} impacts and was refused whole. Start it from "
            "a node with fewer dependents, or pin one in between.",
            path=path,
        )
        self.limit = limit


class RunNotRevertible(RetrographError):
    """The run changed nothing, or was reverted already."""

    code = "RUN_NOT_REVERTIBLE"


class IdempotencyKeyReused(RetrographError):
    """The key already names a request with other content."""

    code = "IDEMPOTENCY_KEY_REUSED"


class ScheduleSettled(RetrographError):
    """A scheduled invalidation was executed, refused or cancelled already."""

    code = "SCHEDULE_SETTLED"


class TaskRefused(RetrographError):
    """A task can't take this step; the family of what revalidation raises. Nothing was changed."""

    code = "TASK_REFUSED"


class TaskClosed(TaskRefused):
    """The task has ended; what was decided stands."""

    code = "TASK_CLOSED"


class TaskCancelled(TaskRefused):
    """A newer run, or a pin, cancelled the task: its judgement came too late."""

    code = "TASK_CANCELLED"


class LeaseLost(TaskRefused):
    """The lease is over, or was never the caller's: whoever claims the task next judges it."""

    code = "LEASE_LOST"


class Overtaken(TaskRefused):
    """What the node rests on changed since the claim; the task is ready again, to judge anew."""

    code = "OVERTAKEN"


class RequirementDead(TaskRefused):
    """A node can't be verified while something it requires is invalid or superseded."""

    code = "REQUIREMENT_DEAD"


class NotDeadLettered(TaskRefused):
    """Only a task that was given up can be put back into the queue."""

    code = "NOT_DEAD_LETTERED"


class ImportRejected(RetrographError):
    """A line of an import file breaks a rule; nothing of the file was taken.

    `line` counts from 1, over the text after decompression; `reason` is the bare reason.
    """

    code = "IMPORT_REJECTED"

    def __init__(self, line: int, reason: str, *, path: FieldPath = ()) -> None:
        super().__init__(
            f"Line {line}: {reason} Nothing was imported; mend the line and import again.",
            path=path,
        )
        self.line = line
        self.reason = reason


class ImportStopped(RetrographError):
    """A run that an import file asks for failed; all that stands before its line was taken."""

    code = "IMPORT_STOPPED"

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(
            f"Line {line}: {reason} What stands before this line was imported; mend the line and "
            "import the file again, which changes nothing that is done."
        )
        self.line = line
        self.reason = reason


class ConfigurationError(RetrographError):
    """A setting is missing, malformed or refused."""

    code = "CONFIGURATION"


class OutputFailed(RetrographError):
    """What was asked for can't be written out: a full disk, or a reader that is gone."""

    code = "OUTPUT_FAILED"


class StorageError(RetrographError):
    """The database can't do what was asked; the family of what storage raises."""

    code = "STORAGE"


class OperationTimedOut(StorageError):
    """The operation took longer than it may; of a mutation, it is told before anything is done."""

    code = "OPERATION_TIMED_OUT"


class DatabaseUnavailable(StorageError):
    """No connection to the database."""

    code = "DATABASE_UNAVAILABLE"


class AccessDenied(StorageError):
    """The database server refuses the user, or the user lacks a privilege."""

    code = "ACCESS_DENIED"


class DriverMissing(StorageError):
    """A database driver, or what loads drivers, isn't installed."""

    code = "DRIVER_MISSING"


class DatabaseLocked(StorageError):
    """Somebody else held the database for longer than a writer waits."""

    code = "DATABASE_LOCKED"


class DatabaseReadOnly(StorageError):
    """A write to a database that may only be read."""

    code = "DATABASE_READ_ONLY"


class NotADatabase(StorageError):
    """The file is no database, or is damaged."""

    code = "NOT_A_DATABASE"


class SchemaTooNew(StorageError):
    """A later version of the program has migrated this database."""

    code = "SCHEMA_TOO_NEW"


class SchemaTooOld(StorageError):
    """The database lacks migrations that this version needs."""

    code = "SCHEMA_TOO_OLD"


class MigrationChanged(StorageError):
    """The checksum of a migration that was applied differs from the shipped one."""

    code = "MIGRATION_CHANGED"


class ClockBehind(StorageError):
    """The database server's clock stays behind the fleet's, so no later instant can be given."""

    code = "CLOCK_BEHIND"

"""A thin, typed client of the API: `pip install '.[client]'` in a checkout.

    from retrograph.client import Client, jobs

    with Client("https://memory.example/graphql", token) as client:
        plan = client.run(jobs.preview(1, "rule:vat"))
        client.run(jobs.invalidate(1, "rule:vat", "New law", expected_plan=plan.plan_hash))
        for event in client.events(1, after=last_seen):
            last_seen = event.cursor

`AsyncClient` is the same, awaited. It imports nothing of the server's but plain rules.

values ── documents, jobs, work, executions   what is asked and what it gives: an `Operation` each
exchange, feed              HTTP and the subscription without input or output; `retry` says when
sync, asynchronous          what waits
errors                      what can go wrong
"""

from __future__ import annotations

try:
    import httpx  # noqa: F401  (to say first what is missing)
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "The client needs httpx. Install it by pip install '.[client]' in a checkout.", name="httpx"
    ) from missing

from retrograph.client import executions, jobs, work
from retrograph.client.asynchronous import AsyncClient
from retrograph.client.errors import (
    ApiError,
    BudgetExceeded,
    CheckpointConflict,
    ClientError,
    Forbidden,
    IdempotencyKeyReused,
    InternalError,
    InvalidInput,
    LeaseLost,
    MemoryConflict,
    NotDeadLettered,
    NotFound,
    Overtaken,
    PlanChanged,
    PromotionRefused,
    RequirementDead,
    RunNotRevertible,
    RunTooLarge,
    ScheduleSettled,
    StepKeyReused,
    TaskCancelled,
    TaskClosed,
    TokenReused,
    TooComplex,
    TooManyStreams,
    Unauthenticated,
    Unavailable,
    Unreachable,
    VersionConflict,
)
from retrograph.client.operation import Operation
from retrograph.client.retry import Retry
from retrograph.client.sync import Client
from retrograph.client.values import Event, Node, NodeInput, Preview, Run, Task

__all__ = [
    "ApiError",
    "AsyncClient",
    "BudgetExceeded",
    "CheckpointConflict",
    "Client",
    "ClientError",
    "Event",
    "Forbidden",
    "IdempotencyKeyReused",
    "InternalError",
    "InvalidInput",
    "LeaseLost",
    "MemoryConflict",
    "Node",
    "NodeInput",
    "NotDeadLettered",
    "NotFound",
    "Operation",
    "Overtaken",
    "PlanChanged",
    "Preview",
    "PromotionRefused",
    "RequirementDead",
    "Retry",
    "Run",
    "RunNotRevertible",
    "RunTooLarge",
    "ScheduleSettled",
    "StepKeyReused",
    "Task",
    "TaskCancelled",
    "TaskClosed",
    "TokenReused",
    "TooComplex",
    "TooManyStreams",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "VersionConflict",
    "executions",
    "jobs",
    "work",
]

"""`invalidate`: knocks out one belief and all that falls with it, in one transaction."""

from __future__ import annotations

from dataclasses import asdict

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.requests import (
    check_effect,
    check_idempotency_key,
    check_plan,
    once,
)
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import check_version, require_node
from retrograph.rules.cascade import Seeds
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import check_text
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.records import RunRecord
from retrograph.storage.write import Write


def invalidate(scope: Scope, fleet_id: int, request: Invalidation) -> RunRecord:
    """Runs the cascade from a root; one that raises nothing is recorded as `NO_CHANGE`.

    Raises `NotFound`, `InvalidInput`, `VersionConflict`, `PlanChanged`, `RunTooLarge`,
    `IdempotencyKeyReused`.
    """
    check_invalidation(request)
    _check_effective_at(scope, request.effective_at)
    return scope.write(fleet_id, lambda write: invalidate_once(write, request))


def check_invalidation(request: Invalidation) -> None:
    """Checks a request's own fields; raises `InvalidInput`."""
    check_text(request.reason, ("input", "reason"))
    check_effect(request.effect, ("input", "effect"))
    check_idempotency_key(request.idempotency_key)


def invalidate_once(write: Write, request: Invalidation) -> RunRecord:
    """Runs a request, or finds the run that it made before under its idempotency key."""
    asked = request_as_json(request)
    return once(write, request.idempotency_key, asked, lambda: _run(write, request))


def _run(write: Write, request: Invalidation) -> RunRecord:
    root = require_node(write.snapshot, request.root, ("input", "root"))
    check_version(root, request.expected_version, ("input", "expectedVersion"))
    fallen = write.cascade(Seeds(roots={root.id: request.effect}))
    check_plan(fallen, request.expected_plan)
    order = RunOrder(root.id, request.effect, request.reason, request.effective_at)
    return record_run(write, order, fallen)


def _check_effective_at(scope: Scope, effective_at: int | None) -> None:
    if effective_at is not None and effective_at > scope.store.now():
        raise InvalidInput(
            "That instant has not come yet; schedule the request, or leave the instant out.",
            path=("input", "effectiveAt"),
            code="INSTANT_IN_FUTURE",
        )


def request_as_json(request: Invalidation) -> dict[str, object]:
    """The request as its idempotency key knows it."""
    instants = {"effective_at": str(request.effective_at)}
    root = {"id": str(request.root.id), "key": request.root.key}
    fields = asdict(request) | instants | {"root": root, "effect": request.effect.name}
    return {"request": "invalidate"} | fields

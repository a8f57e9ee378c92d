"""What the two requests that start a cascade share: plans, idempotency, effects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.errors import InvalidInput, PlanChanged
from retrograph.rules.limits import MAX_KEY_LENGTH, check_text
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.idempotency import record_request, recorded_run
from retrograph.storage.records import RunRecord
from retrograph.storage.runs import runs_by_id
from retrograph.storage.verdicts import Verdict
from retrograph.storage.write import Write


def check_effect(effect: Validity, path: tuple[str, ...]) -> None:
    """A cascade only raises severity, so its root's effect is an unhealthy validity."""
    if is_healthy(effect):
        raise InvalidInput(
            "Give an effect that is not healthy: POTENTIALLY_STALE, DEFINITELY_STALE, INVALID or "
            "SUPERSEDED.",
            path=path,
        )


def check_plan(verdict: Verdict, expected: str | None) -> None:
    """Raises `PlanChanged` where another cascade was expected than the one that would run."""
    if expected is not None and expected != (present := verdict.plan_hash()):
        raise PlanChanged(present, path=("input", "expectedPlan"))


def check_idempotency_key(key: str | None) -> None:
    """A key is a text of bounded length."""
    if key is not None:
        check_text(key, ("input", "idempotencyKey"), MAX_KEY_LENGTH)


def once(
    write: Write, key: str | None, request: dict[str, object], act: Callable[[], RunRecord]
) -> RunRecord:
    """Acts, or returns the run that the same request made before under the same key."""
    if key is None:
        return act()
    asked = hash_of(request)
    known = recorded_run(write, key, asked)
    if known is not None:
        return runs_by_id(write.snapshot, [known])[known]
    run = act()
    record_request(write, key, asked, run.id)
    return run


def hash_of(request: dict[str, object]) -> str:
    """The hash by which a request is known again; for its idempotency key."""
    return hashlib.sha256(canonical_json(request, field=("input",)).encode()).hexdigest()

"""Idempotency keys: the same request again gets the first answer, and nothing is done twice."""

from __future__ import annotations

from sqlalchemy import insert, select

from retrograph.rules.errors import IdempotencyKeyReused
from retrograph.storage.has_key import has_key
from retrograph.storage.scheduled import scheduled_by_key
from retrograph.storage.tables import idempotency
from retrograph.storage.write import Write


def recorded_run(write: Write, key: str, request_hash: str) -> int | None:
    """The run that this request made before, if it did.

    Raises `IdempotencyKeyReused` where the key names a request with other content, one that waits
    for its hour included.
    """
    scheduled = scheduled_by_key(write.snapshot, key)
    if scheduled is not None:
        _check_same(scheduled.order.request_hash, request_hash)
    known = write.snapshot.connection.execute(
        select(idempotency.c.request_hash, idempotency.c.run_id).where(
            idempotency.c.tenant_id == write.snapshot.tenant_id,
            idempotency.c.fleet_id == write.snapshot.fleet_id,
            has_key(idempotency.c.key, key),
        )
    ).one_or_none()
    if known is None:
        return None
    _check_same(known.request_hash, request_hash)
    return int(known.run_id)


def record_request(write: Write, key: str, request_hash: str, run_id: int) -> None:
    """Remembers what a request made."""
    write.snapshot.connection.execute(
        insert(idempotency).values(
            tenant_id=write.snapshot.tenant_id,
            fleet_id=write.snapshot.fleet_id,
            key=key,
            request_hash=request_hash,
            run_id=run_id,
            created_at=write.instant,
        )
    )


def _check_same(stored: str, given: str) -> None:
    if stored != given:
        raise IdempotencyKeyReused(
            "This idempotency key was used for another request; take a new key for a new request.",
            path=("input", "idempotencyKey"),
        )

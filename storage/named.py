"""Runs the named queries of the engine at hand."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CursorResult, text

from retrograph.sql.loader import queries
from retrograph.storage.snapshot import Snapshot


def run_named(snapshot: Snapshot, name: str, **values: object) -> CursorResult[Any]:
    """Executes the query under `-- name: {name}`; tenant and fleet are always bound."""
    statement = text(queries(snapshot.profile.name)[name])
    scope = {"tenant_id": snapshot.tenant_id, "fleet_id": snapshot.fleet_id}
    return snapshot.connection.execute(statement, scope | values)

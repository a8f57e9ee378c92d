"""Runs the named queries of the engine at hand."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import CursorResult, TextClause, bindparam, text

from retrograph.sql.loader import queries
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Moment

_INSTANT = bindparam("instant", type_=Moment)


def run_named(snapshot: Snapshot, name: str, **values: object) -> CursorResult[Any]:
    """Executes the query under `-- name: {name}`; tenant and fleet are always bound."""
    statement = _statement(snapshot.profile.name, name)
    scope = {"tenant_id": snapshot.tenant_id, "fleet_id": snapshot.fleet_id}
    return snapshot.connection.execute(statement, scope | values)


@cache
def _statement(engine: str, name: str) -> TextClause:
    query = queries(engine)[name]
    return text(query).bindparams(*([_INSTANT] if ":instant" in query else ()))

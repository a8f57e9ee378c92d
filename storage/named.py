"""Runs the named queries of the engine at hand."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from sqlalchemy import Connection, CursorResult, TextClause, bindparam, text
from sqlalchemy.types import TypeEngine

from retrograph.sql.loader import queries
from retrograph.storage.id_set import JsonList
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Moment

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_TYPES: dict[str, TypeEngine[Any]] = {
    "instant": Moment,
    **dict.fromkeys(("fleet_ids", "passing", "roots", "touched"), JsonList()),
}
"""The types of those parameters that don't travel as they are."""


def run_named(snapshot: Snapshot, name: str, **values: object) -> CursorResult[Any]:
    """Executes the query under `-- name: {name}`; tenant and fleet are always bound."""
    scope = {"tenant_id": snapshot.tenant_id, "fleet_id": snapshot.fleet_id}
    return execute_named(snapshot.connection, snapshot.profile.name, name, **scope, **values)


def execute_named(
    connection: Connection, engine: str, query: str, /, **values: object
) -> CursorResult[Any]:
    """Executes a query of an engine that is no fleet's."""
    return connection.execute(_statement(engine, query), values)


@cache
def _statement(engine: str, name: str) -> TextClause:
    query = queries(engine)[name]
    typed = _TYPES.keys() & _PARAMETER.findall(query)
    return text(query).bindparams(*(bindparam(key, type_=_TYPES[key]) for key in typed))

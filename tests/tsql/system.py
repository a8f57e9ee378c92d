"""Procedures of the server that the project calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tests.tsql.database import Database
from tests.tsql.errors import ServerError
from tests.tsql.schema import Schema

Values = dict[str, Any]


class Caller(Protocol):
    """The session that calls."""

    database: Database
    schema: Schema
    context: dict[str, tuple[Any, bool]]
    """Values by lower-case key, and whether they are fixed until the session ends."""


def _set_context(caller: Caller, values: Values) -> tuple[int, Values]:
    key = str(values["key"]).lower()
    if caller.context.get(key, (None, False))[1]:
        raise ServerError(15664, f"Cannot set key '{key}': it was set as read_only.")
    caller.context[key] = values.get("value"), bool(values.get("read_only", 0))
    return 0, {}


def _take_lock(caller: Caller, values: Values) -> tuple[int, Values]:
    if values["lockowner"] != "Session" or values["lockmode"] != "Exclusive":
        raise NotImplementedError("an application lock that is not exclusive and the session's")
    resource = _resource(values)
    taken = caller.database.locks.take(resource, caller, int(values.get("locktimeout", -1)))
    return taken, {}


def _release_lock(caller: Caller, values: Values) -> tuple[int, Values]:
    if values["lockowner"] != "Session":
        raise NotImplementedError("an application lock that is not the session's")
    caller.database.locks.release(_resource(values), caller)
    return 0, {}


def _resource(values: Values) -> str:
    resource = str(values["resource"])
    if len(resource) > 255:
        raise NotImplementedError("an application lock with a long name")
    return resource


def _draw(caller: Caller, values: Values) -> tuple[int, Values]:
    schema, _, name = str(values["sequence_name"]).partition(".")
    if schema.lower() not in caller.schema.schemas or name.lower() not in caller.schema.sequences:
        raise ServerError(208, f"Invalid object name '{values['sequence_name']}'.")
    count = int(values["range_size"])
    if count < 1:
        raise ServerError(11709, "The range size must be positive.")
    return 0, {"range_first_value": caller.database.draw(name.lower(), count)}


CALLS: dict[str, Callable[[Caller, Values], tuple[int, Values]]] = {
    "sp_getapplock": _take_lock,
    "sp_releaseapplock": _release_lock,
    "sp_sequence_get_range": _draw,
    "sp_set_session_context": _set_context,
}

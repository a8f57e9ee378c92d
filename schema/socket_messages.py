"""Which shape a message of graphql-transport-ws must have, before anybody reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograph.schema.persisted import EXTENSION

MAX_ID_LENGTH = 1_000
"""Characters of an operation's id, which stands in every message to it: thousands of events."""


def is_message(message: object) -> bool:
    """Whether a message has the shape that its type demands; a type nobody knows passes."""
    if not isinstance(message, Mapping) or not isinstance(message.get("type"), str):
        return False
    if message["type"] in {"subscribe", "complete"}:
        return _is_id(message.get("id")) and (
            message["type"] == "complete" or _is_request(message.get("payload"))
        )
    return isinstance(message.get("payload"), Mapping | None)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_LENGTH


def _is_request(payload: Any) -> bool:
    return (
        isinstance(payload, Mapping)
        and (isinstance(payload.get("query"), str) or _names_document(payload))
        and isinstance(payload.get("variables"), Mapping | None)
        and isinstance(payload.get("operationName"), str | None)
        and isinstance(payload.get("extensions"), Mapping | None)
    )


def _names_document(payload: Mapping[str, Any]) -> bool:
    """Whether a document is named by its hash instead of being given."""
    extensions = payload.get("extensions")
    named = isinstance(extensions, Mapping) and EXTENSION in extensions
    return named and payload.get("query") is None

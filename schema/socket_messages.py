"""Which shape a message of graphql-transport-ws must have, before anybody reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograph.schema.persisted import EXTENSION


def is_message(message: object) -> bool:
    """Whether a message has the shape that its type demands; a type nobody knows passes."""
    if not isinstance(message, Mapping) or not isinstance(message.get("type"), str):
        return False
    if message["type"] in {"subscribe", "complete"}:
        identified = isinstance(message.get("id"), str) and message["id"] != ""
        return identified and (message["type"] == "complete" or _is_request(message.get("payload")))
    return isinstance(message.get("payload"), Mapping | None)


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

"""Events as those read them who speak no GraphQL: a JSON object each."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from retrograph.resolvers.nodes import load_known
from retrograph.resolvers.scope import Scope
from retrograph.rules.cursor import encode_event_cursor
from retrograph.rules.instant import format_instant
from retrograph.storage.records import EventRecord, NodeRecord


def event_objects(
    scope: Scope, fleet_id: int, at: int | None, events: Sequence[EventRecord]
) -> list[bytes]:
    """The JSON text of each event, with the id and the key of its node, which never change."""
    ids = {event.node_id for event in events if event.node_id is not None}
    nodes = load_known(scope, fleet_id, at, ids)
    return [_object(event, nodes) for event in events]


def _object(event: EventRecord, nodes: dict[int, NodeRecord]) -> bytes:
    node = None if event.node_id is None else nodes.get(event.node_id)
    return orjson.dumps(
        {
            "cursor": encode_event_cursor(event.at, event.ordinal),
            "type": event.type.name,
            "at": format_instant(event.at),
            "fleetId": str(event.fleet_id),
            "node": node and {"id": str(node.id), "key": node.key},
            "runId": None if event.run_id is None else str(event.run_id),
            "detail": None if event.detail is None else orjson.Fragment(event.detail),
        }
    )

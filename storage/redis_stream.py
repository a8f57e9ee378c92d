"""The outbox as Redis Streams, one a fleet, for consumers that are no GraphQL clients.

The id of an entry is the event's cursor, `<instant>-<ordinal>`: what is published again Redis
refuses, since no id may come before the last one.
"""

from __future__ import annotations

from typing import Any

from redis import Redis, RedisError, ResponseError

from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.storage.nudges import redis_client
from retrograph.storage.relays import Batch, Position

KEY = "retrograph:events:{tenant_id}:{fleet_id}"
"""The stream of a fleet; each entry has the field `event`, a JSON object."""

_PUBLISH = """
for place = 2, #ARGV, 2 do
    local words = {'XADD', KEYS[1], ARGV[place], 'event', ARGV[place + 1]}
    if ARGV[1] ~= '0' then
        words = {'XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], ARGV[place], 'event', ARGV[place + 1]}
    end
    local answer = redis.pcall(unpack(words))
    if answer.err and not string.find(answer.err, 'equal or smaller', 1, true) then
        return answer
    end
end
return 'OK'
"""
"""Adds entries in their order and stops at the first that fails: a later one would bar it."""


class RedisStreams:
    """Publishes to the Redis at a URL; a stream keeps about `length` entries, 0: all of them."""

    def __init__(self, url: str, length: int) -> None:
        self._client: Redis = redis_client(url)
        self._length = length
        self._server: object = None

    def forgot(self) -> bool:
        """Whether this is another server than before, or one started anew."""
        server = self._ask(self._client.info, "server")["run_id"]
        changed = server != self._server
        self._server = server
        return bool(changed)

    def last(self, tenant_id: int, fleet_id: int) -> Position | None:
        """The last event that was ever added to a stream."""
        try:
            found = self._client.xinfo_stream(_key(tenant_id, fleet_id))
        except RedisError as error:
            if isinstance(error, ResponseError) and "no such key" in str(error):
                return None
            raise self._failed(error) from error
        at, _, ordinal = found["last-generated-id"].decode().partition("-")
        return int(at), int(ordinal)

    def deliver(self, batch: Batch) -> None:
        """Adds events to the stream of a fleet; those that it has are refused, and are there."""
        entries: list[Any] = [self._length]
        for (at, ordinal), event in zip(batch.positions, batch.objects, strict=True):
            entries += [f"{at}-{ordinal}", event]
        key = _key(batch.tenant_id, batch.fleet_id)
        self._ask(self._client.eval, _PUBLISH, 1, key, *entries)

    def close(self) -> None:
        """Gives back the connections."""
        self._client.close()

    def _ask(self, command: Any, *words: Any) -> Any:
        try:
            return command(*words)
        except RedisError as error:
            raise self._failed(error) from error

    def _failed(self, error: RedisError) -> DeliveryFailed:
        self._server = None  # whatever answers next is looked at anew
        return DeliveryFailed(f"Redis doesn't take the events: {error}. They are sent again.")


def _key(tenant_id: int, fleet_id: int) -> str:
    return KEY.format(tenant_id=tenant_id, fleet_id=fleet_id)

"""Nudges between processes through Redis: a commit of one wakes the subscribers of all at once.

A nudge carries no data, only where to look (docs/adr/0005): one that is lost costs the time until
the next poll, and never an event. So Redis may be slow, away or started anew at any time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Condition, Event, Thread
from uuid import uuid4

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from retrograph.rules.errors import ConfigurationError

CHANNEL = "retrograph:nudges"
"""Where nudges are published, as `<process> <tenant> <fleet>`."""
SECONDS = 1.0
"""How long Redis may take to answer, and how long to wait until it is tried again."""
MOST_WAITING = 10_000
"""Fleets that wait to be told of; beyond, nudges are dropped: polling finds their events."""

Heard = Callable[[int, int], None]

_log = logging.getLogger(__name__)


class Nudges:
    """Tells other processes of this one's commits, and hears of theirs, in threads of its own.

    `heard(tenant_id, fleet_id)` is called in one of them for the commits of others. Raises
    `ConfigurationError` for what is no URL of a Redis; one that is away is waited for.
    """

    def __init__(self, url: str, heard: Heard) -> None:
        self._client = redis_client(url)
        self._name = uuid4().hex
        self._heard = heard
        self._waiting: dict[tuple[int, int], None] = {}
        self._news = Condition()
        self._closed = Event()
        self.listening, self.away = Event(), Event()
        """Are set while Redis is heard, and from when it was missed until it is heard again."""
        self._threads = [
            Thread(target=work, name=f"retrograph-nudges-{work.__name__}", daemon=True)
            for work in (self._send, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def tell(self, tenant_id: int, fleet_id: int, _instant: int = 0) -> None:
        """Has the others told that a fleet may have news; quick, whatever Redis does."""
        with self._news:
            if len(self._waiting) < MOST_WAITING:
                self._waiting[tenant_id, fleet_id] = None
            self._news.notify()

    def close(self) -> None:
        """Tells and hears no more."""
        self._closed.set()
        with self._news:
            self._news.notify()
        for thread in self._threads:
            thread.join()
        self._client.close()

    def _send(self) -> None:
        while fleets := self._taken():
            try:
                with self._client.pipeline(transaction=False) as pipeline:
                    for tenant_id, fleet_id in fleets:
                        pipeline.publish(CHANNEL, f"{self._name} {tenant_id} {fleet_id}")
                    pipeline.execute()
            except RedisError as error:
                self._miss(error)

    def _taken(self) -> list[tuple[int, int]]:
        """The fleets to tell of, as soon as there are any; none at the end."""
        with self._news:
            while not self._waiting and not self._closed.is_set():
                self._news.wait()
            fleets = list(self._waiting)
            self._waiting.clear()
        return [] if self._closed.is_set() else fleets

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                self._hear()
            except RedisError as error:
                self._miss(error)
                self._closed.wait(SECONDS)

    def _hear(self) -> None:
        with self._client.pubsub() as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(CHANNEL)
            try:
                while not self._closed.is_set():
                    message = channel.get_message(timeout=SECONDS / 4)
                    if message is not None and message["type"] == "subscribe":
                        self._arrive()
                    elif message is not None and message["type"] == "message":
                        self._take(message["data"])
            finally:
                self.listening.clear()

    def _take(self, data: bytes) -> None:
        try:
            name, tenant_id, fleet_id = data.split()
            fleet = int(tenant_id), int(fleet_id)
        except ValueError:
            _log.warning("what came from Redis is no nudge: %r", data[:100])
            return
        if name != self._name.encode():
            self._heard(*fleet)

    def _arrive(self) -> None:
        if self.away.is_set():
            _log.warning("Redis is back")
        self.away.clear()
        self.listening.set()

    def _miss(self, error: RedisError) -> None:
        """Says once that Redis is away; until it is back, polling finds the commits of others."""
        if not self.away.is_set() and not self._closed.is_set():
            _log.warning("Redis is away, so events of other processes come later: %s", error)
        self.away.set()


def redis_client(url: str) -> Redis:
    """A client that gives up soon and tries nothing twice; raises `ConfigurationError`."""
    try:
        client = Redis.from_url(
            url,
            socket_timeout=SECONDS,
            socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # what it can't take is refused only here
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"--redis is no URL of a Redis ({error}); give one like redis://host:6379.",
            path=("redis",),
        ) from error
    return client

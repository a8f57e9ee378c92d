"""What a Prometheus server reads of this process: the names and meanings of its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from retrograph.resolvers.queues import Backlog, backlog_of
from retrograph.rules.instant import SECOND
from retrograph.storage.store import Store
from retrograph.storage.tallies import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
KEPT_SECONDS = 10
"""How old what was read of the database may be: a scrape costs nothing until then."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What a process has open: subscriptions, the feeds that they share, and who follows one."""

    subscriptions: int
    feeds: int
    followers: int
    told: int


class Metrics:
    """The metrics of a store and of the process that serves it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._backlog: Backlog | None = None

    def exposition(self, streams: Streams) -> bytes:
        """The metrics of now, in Prometheus' text format.

        The open tasks of every fleet are read at most every `KEPT_SECONDS`, by one scrape at a
        time; ages are those of now.
        """
        now = self._store.now()
        with self._lock:
            known = self._backlog
            if known is None or not 0 <= now - known.at < KEPT_SECONDS * SECOND:
                self._backlog = known = backlog_of(self._store)
        registry = CollectorRegistry()
        registry.register(_Figures(self._store, streams, known, now))
        return generate_latest(registry)


class _Figures(Collector):
    def __init__(self, store: Store, streams: Streams, backlog: Backlog, now: int) -> None:
        self._store = store
        self._streams = streams
        self._backlog = backlog
        self._now = now

    def collect(self) -> Iterable[Metric]:
        yield from self._queues()
        yield from self._relays()
        yield from self._written()
        yield from self._listening()

    def _queues(self) -> Iterator[Metric]:
        """The depth and the age of the queues of revalidation, over all tenants."""
        depth = GaugeMetricFamily(
            "retrograph_revalidation_tasks", "Open revalidation tasks.", labels=["status"]
        )
        age = GaugeMetricFamily(
            "retrograph_revalidation_oldest_task_age_seconds",
            "Seconds since the oldest open task of the status was opened; 0 without one.",
            labels=["status"],
        )
        for status, queue in self._backlog.queues.items():
            depth.add_metric([status.name], queue.depth)
            age.add_metric([status.name], self._age(queue.oldest))
        yield depth
        yield age

    def _relays(self) -> Iterator[Metric]:
        lag = GaugeMetricFamily(
            "retrograph_relay_lag_seconds",
            "Seconds since the oldest event that a relay has not dispatched yet; 0 without one.",
            labels=["relay"],
        )
        events = CounterMetricFamily(
            "retrograph_relay_events", "Events that a relay has dispatched.", labels=["relay"]
        )
        for name, relay in sorted(self._backlog.relays.items()):
            lag.add_metric([name], self._age(relay.oldest))
            events.add_metric([name], relay.dispatched)
        yield lag
        yield events

    def _written(self) -> Iterator[Metric]:
        tallies, graphs = self._store.tallies, self._store.graph_requests
        yield CounterMetricFamily(
            "retrograph_events_written",
            "Events that this process has committed.",
            value=tallies.events,
        )
        yield _histogram("retrograph_cascade_impacts", "Impacts of a cascade.", tallies.sizes)
        yield _histogram(
            "retrograph_cascade_seconds", "Seconds to decide a cascade.", tallies.seconds
        )
        found = CounterMetricFamily(
            "retrograph_graph_cache_requests", "Requests for a warm graph.", labels=["result"]
        )
        for result, count in _sorted(graphs):
            found.add_metric([result], count)
        yield found

    def _listening(self) -> Iterator[Metric]:
        streams = self._streams
        for name, text, value in (
            ("subscriptions", "Subscriptions that are open.", streams.subscriptions),
            ("feeds", "Feeds that subscriptions share.", streams.feeds),
            ("feed_followers", "Subscriptions that follow a feed live.", streams.followers),
        ):
            yield GaugeMetricFamily(f"retrograph_{name}", text, value=value)
        yield CounterMetricFamily(
            "retrograph_feed_events", "Events that feeds have worked out.", value=streams.told
        )

    def _age(self, since: int | None) -> float:
        return 0.0 if since is None else max(0, self._now - since) / SECOND


def _histogram(name: str, text: str, counted: Histogram) -> Metric:
    bounds = [*map(str, counted.bounds), "+Inf"]
    buckets = list(zip(bounds, accumulate(counted.counts), strict=True))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=counted.sum)


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items())

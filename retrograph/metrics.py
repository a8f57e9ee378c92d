"""What a Prometheus server reads of this process: the names and meanings of its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from retrograph.resolvers.queues import all_queues
from retrograph.storage.queues import Queue
from retrograph.storage.store import Store
from retrograph.storage.task_records import TaskStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECOND = 1_000_000


def exposition(store: Store) -> bytes:
    """The metrics of now, in Prometheus' text format; reads the open tasks of every fleet."""
    registry = CollectorRegistry()
    registry.register(_Queues(all_queues(store), store.now()))
    return generate_latest(registry)


class _Queues(Collector):
    """The depth and the age of the queues of revalidation, over all tenants."""

    def __init__(self, queues: Mapping[TaskStatus, Queue], now: int) -> None:
        self._queues = queues
        self._now = now

    def collect(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "retrograph_revalidation_tasks", "Open revalidation tasks.", labels=["status"]
        )
        age = GaugeMetricFamily(
            "retrograph_revalidation_oldest_task_age_seconds",
            "Seconds since the oldest open task of the status was opened; 0 without one.",
            labels=["status"],
        )
        for status, queue in self._queues.items():
            opened = self._now if queue.oldest is None else queue.oldest
            depth.add_metric([status.name], queue.depth)
            age.add_metric([status.name], max(0, self._now - opened) / _SECOND)
        return depth, age

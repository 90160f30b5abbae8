"""The counters of a server, in Prometheus' form; each server has a registry of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from worlds.extras.remote.status import Folder

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds

_ANSWERED = "Requests answered; 499 is one whose client went away, 599 one whose answer broke off."
_TOOK = "Time to answer, streamed bodies included."


class Metrics:
    """Counters of one server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: Any = {"registry": self.registry}
        self.requests = Counter("worlds_http_requests", _ANSWERED, ("route", "method", "status"), **own)
        self.seconds = Histogram("worlds_http_request_seconds", _TOOK, ("route", "method"), buckets=_BUCKETS, **own)
        self.running = Gauge("worlds_http_requests_running", "Requests being answered.", **own)
        self.turned_away = Counter("worlds_busy", "Requests refused because too many waited or ran.", **own)
        self.rate_limited = Counter("worlds_rate_limited", "Requests refused because a client asked too often.", **own)
        self.worlds = Gauge("worlds_worlds", "Worlds that are served.", **own)

    def watch(self, pool: Callable[[], Mapping[str, int]]) -> None:
        """Read the figures of the pool whenever the metrics are read."""
        self.registry.register(_Watched(pool))

    def watch_replica(self, replica: Path) -> None:
        """Tell how a replica stands to its primary whenever somebody looks."""
        self.registry.register(_Followed(Folder(replica)))

    def text(self) -> bytes:
        """All metrics, in the text format of Prometheus."""
        return generate_latest(self.registry)


class _Watched(Collector):
    def __init__(self, pool: Callable[[], Mapping[str, int]]) -> None:
        self._pool = pool

    def describe(self) -> Iterator[Metric]:
        """Nothing: the registry need not ask the pool before it runs."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The figures of now."""
        state = self._pool()
        workers = GaugeMetricFamily("worlds_workers", "Worker processes that are alive.", labels=["kind"])
        for kind in ("readers", "writers"):
            workers.add_metric([kind], state[kind])
        yield workers
        yield GaugeMetricFamily("worlds_jobs_running", "Jobs that workers do.", state["busy"])
        yield GaugeMetricFamily("worlds_jobs_waiting", "Jobs that wait for a worker.", state["waiting"])
        yield CounterMetricFamily(
            "worlds_workers_killed", "Workers that were killed or died; others took their place.", state["killed"]
        )


class _Followed(Collector):
    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """The figures of now."""
        told = self._folder.told()
        if told is None:
            return
        gauge, counter = GaugeMetricFamily, CounterMetricFamily
        for kind, name, help, value in (
            (gauge, "age_seconds", "Time since the replica had all that the primary had.", told.age),
            (gauge, "failing", "1 while the replica's follower cannot follow.", told.error is not None),
            (gauge, "revision", "The replica's last revision.", told.revision),
            (gauge, "frames", "Pages since the whole was fetched, that included.", told.frames),
            (counter, "fetched", "Times that the whole was fetched.", told.fetched),
            (counter, "conflicts", "Writes that another writer was faster than.", told.conflicts),
            (counter, "retries", "Writes that were done anew for that.", told.retries),
        ):
            yield kind(f"worlds_replica_{name}", help, value)

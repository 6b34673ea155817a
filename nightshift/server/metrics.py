"""Provides metrics in the format of Prometheus. No metric contains a task, a text or a path.

Counters count the events of the log. They start at 0 with each start of the daemon, as Prometheus expects. Gauges are
read when the metrics are requested. The metrics have a registry of their own.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nightshift.core.events import Event, Kind, Level
from nightshift.core.status import DaemonStatus, OverallState
from nightshift.core.tasks.states import CircuitState, DaemonState, Ending, Status
from nightshift.server.context import AppContext

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
RUN_S = (1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800)
LATENCY_S = (0.1, 0.3, 1, 3, 10, 30, 60, 120, 300)
_MODEL = ("backend", "model")
_log = logging.getLogger(__name__)


class Tally:
    """Counters and histograms, updated from the events of the log."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"nightshift_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, labels: Sequence[str], buckets: Sequence[float]) -> Histogram:
            return Histogram(f"nightshift_{name}", text, labels, buckets=buckets, registry=registry)

        self._events = counter("events", "Log events", "level")
        self._endings = counter("task_endings", "Ended tasks, by ending", "ending")
        self._runs = histogram("task_run_seconds", "Time from claim until the worker released the task", ("to",), RUN_S)
        self._calls = counter("model_calls", "Model replies", *_MODEL)
        self._tokens = counter("model_tokens", "Tokens of prompts (in) and replies (out)", *_MODEL, "direction")
        self._cost = counter("model_cost_usd", "Cost of the replies whose price is known", *_MODEL)
        self._unpriced = counter("model_unpriced_calls", "Replies whose price is unknown", *_MODEL)
        self._errors = counter("model_errors", "Failed requests, by error", *_MODEL, "error")
        self._latency = histogram("model_latency_seconds", "Duration of replies", _MODEL, LATENCY_S)
        self._claimed = dict[int, datetime]()
        for level in Level:
            self._events.labels(level)
        for ending in Ending:
            self._endings.labels(ending)

    def note(self, events: Sequence[Event]) -> None:
        """Count events. Malformed events are skipped, because this runs on the writer's thread, which must not fail."""
        for event in events:
            self._events.labels(event.level).inc()
            try:
                self._count(event)
            except (KeyError, TypeError, ValueError):  # the data was cut, or written by an earlier version
                _log.debug("event %d (%s) is not counted", event.id, event.kind, exc_info=True)

    def _count(self, event: Event) -> None:
        data = event.data
        if event.kind is Kind.TASK_CLAIMED and event.task_id is not None and event.at is not None:
            self._claimed[event.task_id] = event.at
        elif event.kind is Kind.MODEL_CALLED:
            self._count_reply(data)
        elif event.kind is Kind.MODEL_FAILED:
            self._errors.labels(data["backend"], data["model"], data["error"]).inc()
        elif event.kind in {Kind.TASK_MOVED, Kind.TASK_RECOVERED}:
            if data.get("ending"):
                self._endings.labels(Ending(data["ending"])).inc()
            if data.get("from") == Status.RUNNING and event.task_id in self._claimed and event.at is not None:
                ran = event.at - self._claimed.pop(event.task_id)
                self._runs.labels(Status(data["to"])).observe(max(0.0, ran.total_seconds()))

    def _count_reply(self, data: Any) -> None:
        model = (data["backend"], data["model"])
        self._calls.labels(*model).inc()
        self._tokens.labels(*model, "in").inc(data["tokens_in"])
        self._tokens.labels(*model, "out").inc(data["tokens_out"])
        self._latency.labels(*model).observe(data["latency_s"])
        if data["cost_usd"] is None:
            self._unpriced.labels(*model).inc()
        else:
            self._cost.labels(*model).inc(data["cost_usd"])


class Gauges(Collector):
    """Gauges whose values are read when the metrics are requested."""

    def __init__(self, context: AppContext, clients: Callable[[], int]) -> None:
        self._context, self._clients = context, clients

    def collect(self) -> Iterator[Metric]:
        """Yield all gauges with their current values."""
        status = self._context.status()
        yield _gauge("build_info", "Version of the running daemon", ("version",), [((status.version,), 1)])
        states = [((state,), state == status.state) for state in DaemonState]
        yield _gauge("state", "1 for the current state of the daemon", ("state",), states)
        overall = [((state,), state is status.overall.state) for state in OverallState]
        yield _gauge("overall_state", "1 for the state shown on the pages", ("state",), overall)
        yield _gauge("uptime_seconds", "Time since the daemon started", (), [((), status.uptime_s)])
        yield from self._queue(status)
        yield from _models(status)
        yield _gauge("stream_clients", "Clients that follow the live log", (), [((), self._clients())])
        if self._context.loop_lag_s:
            yield _gauge("loop_lag_seconds", "Delay of the workers' event loop", (), [((), self._context.loop_lag_s())])
        yield from _disk(self._context.database.path)

    def _queue(self, status: DaemonStatus) -> Iterator[Metric]:
        counts = self._context.queue.counts()
        yield _gauge("tasks", "Tasks by status", ("status",), [((each,), count) for each, count in counts.items()])
        oldest = self._context.reads.find_oldest_queued()
        age_s = (self._context.clock() - oldest).total_seconds() if oldest else 0.0
        yield _gauge("oldest_queued_seconds", "Age of the oldest task that may be started", (), [((), max(0.0, age_s))])
        busy = sum(worker.task_id is not None for worker in status.workers)
        workers = [(("busy",), busy), (("idle",), len(status.workers) - busy)]
        yield _gauge("workers", "Workers by state", ("state",), workers)
        yield _gauge("holds", "Reasons to start no task", ("source",), [((hold.source,), 1) for hold in status.holds])
        yield _gauge("approvals_open", "Decisions that wait for the owner", (), [((), status.approvals)])
        yield _gauge("commits_unread", "Commits that the owner has not read", (), [((), status.unread)])


class Metrics:
    """The metrics of one daemon.

    Args:
        context: the services whose state is read.
        clients: returns the number of clients that follow the live log.
    """

    def __init__(self, context: AppContext, clients: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        tally = Tally(self._registry)
        self._registry.register(Gauges(context, clients))
        ProcessCollector(registry=self._registry)
        self.close = context.events.subscribe(tally.note)

    def text(self) -> bytes:
        """Return all metrics in the format of `MEDIA`."""
        return generate_latest(self._registry)


def _gauge(
    name: str, text: str, labels: Sequence[str], values: Sequence[tuple[Sequence[str], float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"nightshift_{name}", text, labels=labels)
    for each, value in values:
        family.add_metric(each, float(value))
    return family


def _models(status: DaemonStatus) -> Iterator[Metric]:
    models = {(model.name, model.model): model for model in status.models}
    up = [(name, model.available) for name, model in models.items()]
    yield _gauge("model_up", "1 if a backend is available", _MODEL, up)
    circuits = [((*name, state), model.circuit == state) for name, model in models.items() for state in CircuitState]
    yield _gauge("model_circuit", "1 for the state of a backend's circuit breaker", (*_MODEL, "state"), circuits)


def _disk(path: Path) -> Iterator[Metric]:
    files = {"main": path, "wal": path.with_name(f"{path.name}-wal")}
    sizes = [((name,), file.stat().st_size if file.exists() else 0) for name, file in files.items()]
    yield _gauge("database_bytes", "Size of the database's files", ("file",), sizes)
    free = shutil.disk_usage(path.parent).free
    yield _gauge("disk_free_bytes", "Free space on the disk that the database is on", (), [((), free)])

"""The metrics for Prometheus.

The parser of Prometheus reads them, and they describe the daemon's activity without naming any task.
"""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Ending
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on

CALLED = {
    "backend": "ollama", "model": "qwen2.5-coder:7b", "tokens_in": 1200, "tokens_out": 230, "latency_s": 1.5,
    "cost_usd": 0.25,
}  # fmt: skip
Figures = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def figures(client: Client) -> Figures:
    got = client.get("/metrics")
    assert got.status == 200
    assert got.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(got.text))
    assert len({family.name for family in families}) == len(families)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def read_figure(values: Figures, name: str, **labels: str) -> float:
    return values[f"nightshift_{name}", tuple(sorted(labels.items()))]


def settle(context: AppContext) -> None:
    """Wait until subscribers have heard of all earlier events.

    Subscribers hear of a commit after its futures are done and before the next commit begins. The first job here may
    share its commit with the events emitted just before; the second cannot.
    """
    for _ in range(2):
        context.database.write(lambda _: None).result()


def emit(context: AppContext, kind: Kind, data: dict[str, object]) -> None:
    context.events.emit(Event(kind=kind, data=data))
    settle(context)


def test_the_queue_the_workers_and_the_models_are_measured(context: AppContext, client: Client) -> None:
    submit(context, "Add a secret feature to /srv/shop")
    work_on(context)
    submit(context, "another")
    values = figures(client)
    assert (read_figure(values, "tasks", status="done"), read_figure(values, "tasks", status="queued")) == (1, 1)
    assert 0 <= read_figure(values, "oldest_queued_seconds") < 600
    assert (read_figure(values, "workers", state="busy"), read_figure(values, "workers", state="idle")) == (1, 1)
    model = {"backend": "ollama", "model": "qwen2.5-coder:7b"}
    assert read_figure(values, "model_up", **model) == 1
    assert read_figure(values, "model_circuit", **model, state="closed") == 1
    assert read_figure(values, "model_circuit", **model, state="open") == 0
    assert (read_figure(values, "state", state="running"), read_figure(values, "state", state="paused")) == (1, 0)
    assert read_figure(values, "build_info", version="0.1.0") == 1
    assert read_figure(values, "uptime_seconds") == 3725.5
    assert read_figure(values, "loop_lag_seconds") == 0.001
    assert read_figure(values, "database_bytes", file="main") > 0
    assert read_figure(values, "disk_free_bytes") > 0


def test_what_happened_is_counted_since_the_start(context: AppContext, client: Client) -> None:
    submit(context, "one")
    work_on(context)
    submit(context, "two")
    work_on(context, passes=False)
    emit(context, Kind.MODEL_CALLED, CALLED)
    emit(context, Kind.MODEL_CALLED, {**CALLED, "cost_usd": None})
    emit(context, Kind.MODEL_FAILED, {"backend": "ollama", "model": "qwen2.5-coder:7b", "error": "ModelUnavailable"})
    emit(context, Kind.MODEL_CALLED, {"cut": True})  # long data are stored outside the event
    values, model = figures(client), {"backend": "ollama", "model": "qwen2.5-coder:7b"}
    assert read_figure(values, "task_endings_total", ending=Ending.COMMITTED) == 1
    assert read_figure(values, "task_endings_total", ending=Ending.STUCK) == 1
    assert read_figure(values, "task_endings_total", ending=Ending.BUDGET) == 0
    assert read_figure(values, "task_run_seconds_count", to="done") == 1
    assert read_figure(values, "task_run_seconds_count", to="failed") == 1
    assert read_figure(values, "model_calls_total", **model) == 2
    assert read_figure(values, "model_tokens_total", **model, direction="in") == 2400
    assert read_figure(values, "model_tokens_total", **model, direction="out") == 460
    assert (
        read_figure(values, "model_cost_usd_total", **model),
        read_figure(values, "model_unpriced_calls_total", **model),
    ) == (0.25, 1)
    assert read_figure(values, "model_errors_total", **model, error="ModelUnavailable") == 1
    assert read_figure(values, "model_latency_seconds_sum", **model) == 3.0
    assert read_figure(values, "events_total", level="INFO") > 6


def test_no_task_and_none_of_its_texts_is_named(context: AppContext, client: Client) -> None:
    submit(context, "Add a secret feature", repo="/srv/shop", metadata={"who": "me"})
    work_on(context, suffix=" and a hidden reason")
    text = client.get("/metrics").text
    for word in ("secret", "shop", "hidden", "task_id", "agent/"):
        assert word not in text

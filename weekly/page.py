"""The report as Markdown. Texts of tasks and tests are foreign, so they are escaped and cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from core.events import Kind
from core.states import Status
from weekly.advice import recommendations
from weekly.figures import EngineFigures, Spread, Summary, TaskFigures, duration_s
from weekly.wording import escaped, share, span


def report_name(since: datetime, until: datetime) -> str:
    """The ISO week that the span ends in; for spans much shorter than a week, its last day or minute."""
    last = until - timedelta(seconds=1)
    if until - since >= timedelta(days=6):
        return f"{last:%G-W%V}"
    return f"{last:%Y-%m-%d}" if until - since >= timedelta(days=1) else f"{last:%Y-%m-%dT%H%M}"


def render(summary: Summary) -> str:
    """The report as Markdown."""
    title = f"# Nightshift, {report_name(summary.since, summary.until)}"
    span = f"{summary.since:%Y-%m-%d %H:%M} to {summary.until:%Y-%m-%d %H:%M} UTC"
    parts = [title, span, *_advice(summary), *_tasks(summary.tasks), *_models(summary)]
    parts += [*_engine(summary.engine), *_commits(summary)]
    return "\n\n".join([*parts, *_failures(summary), *_events(summary)]) + "\n"


def _advice(summary: Summary) -> list[str]:
    advice = recommendations(summary)
    listed = "\n".join(f"- {text}" for text in advice)
    return ["## Recommendations", listed or "Nothing stands out."]


def _tasks(tasks: TaskFigures) -> list[str]:
    if not tasks.ended:
        return ["## Tasks", f"{tasks.submitted} submitted, none ended, {tasks.open_at_end} open at the end."]
    done = tasks.count(Status.DONE)
    figures = [
        ("submitted", tasks.submitted),
        ("ended", tasks.ended),
        ("done", share(done, tasks.ended)),
        ("failed", share(tasks.count(Status.FAILED), tasks.ended)),
        ("cancelled", share(tasks.count(Status.CANCELLED), tasks.ended)),
        ("done at the first try", share(tasks.first_try, done)),
        ("open at the end", tasks.open_at_end),
    ]
    times = [
        ("iterations", *(f"{value:g}" for value in _three(tasks.iterations))),
        ("time from first start to end", *map(span, _three(tasks.duration_s))),
        ("wait in the queue", *map(span, _three(tasks.queue_wait_s))),
    ]
    kinds = [(escaped(kind or "not said"), share(*counts)) for kind, counts in tasks.by_kind.items()]
    slow = [
        (task.id, span(duration_s(task)), task.ending or task.status, task.iterations, escaped(task.description))
        for task in tasks.slowest
    ]
    return [
        "## Tasks",
        _table(("figure", "value"), figures),
        _table(("", "median", "95 %", "most"), times),
        "### Endings",
        _table(("ending", "tasks"), tasks.by_ending.items()),
        "### Kinds",
        _table(("kind", "done"), kinds),
        "### Slowest",
        _table(("task", "time", "ending", "iterations", "description"), slow),
    ]


def _models(summary: Summary) -> list[str]:
    if not summary.models and not summary.backend_failures:
        return ["## Models", "No model was called."]
    rows = [
        (
            escaped(model.backend),
            escaped(model.model),
            model.calls,
            model.tokens_in,
            model.tokens_out,
            "unknown" if model.unpriced_tokens and not model.cost_usd else f"{model.cost_usd:.4f}",
            f"{model.latency_s.median:.1f}",
            f"{model.latency_s.p95:.1f}",
        )
        for model in summary.models
    ]
    head = ("backend", "model", "calls", "tokens in", "tokens out", "USD", "median s", "95 % s")
    failed = [(escaped(name or "unknown"), count) for name, count in summary.backend_failures.items()]
    parts = ["## Models", _table(head, rows)]
    return [*parts, "### Failed calls", _table(("backend", "calls"), failed)] if failed else parts


def _engine(engine: EngineFigures) -> list[str]:
    if not (engine.saved or engine.solved or engine.declined):
        return []
    rows = [
        ("replies saved", share(engine.saved, engine.replies)),
        ("tasks solved without any model", engine.solved),
        ("searches without an answer", f"{engine.declined}, {span(engine.declined_s)} together"),
    ]
    return ["## The built-in engine", _table(("figure", "value"), rows)]


def _commits(summary: Summary) -> list[str]:
    total = sum(summary.commits.values())
    if not total:
        return ["## Commits", "None."]
    text = f"{total} commits, {share(summary.integrated, total)} of them integrated."
    return ["## Commits", text, _table(("verdict", "commits"), summary.commits.items())]


def _failures(summary: Summary) -> list[str]:
    if not summary.failures:
        return ["## Commonest failures", "None was stored."]
    rows = [(escaped(f.signature), f.count, f.solved) for f in summary.failures]
    return ["## Commonest failures", _table(("failure", "times", "fix known"), rows)]


def _events(summary: Summary) -> list[str]:
    named = {
        Kind.LESSON_STORED: "lessons stored",
        Kind.LESSON_RECALLED: "lessons recalled",
        Kind.STUCK: "loops found stuck",
        Kind.CONFLICT: "conflicts while integrating",
        Kind.MODEL_FALLBACK: "fallbacks to another model",
        Kind.TASK_RECOVERED: "tasks recovered from a dead daemon",
        Kind.DAEMON_STARTED: "starts of the daemon",
        Kind.WORKER_ERROR: "errors of workers",
        Kind.PUSHED: "pushes",
        Kind.PUSH_FAILED: "failed pushes",
    }
    rows = [(what, summary.happened(kind)) for kind, what in named.items() if summary.happened(kind)]
    return ["## What else happened", _table(("event", "times"), rows)] if rows else []


def _three(spread: Spread) -> tuple[float, float, float]:
    return spread.median, spread.p95, spread.most


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)

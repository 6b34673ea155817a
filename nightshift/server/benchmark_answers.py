"""Answers of the API on the benchmark: the report's elements, runs and their progress, items and outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from nightshift.core.clock import Moment
from nightshift.report.benchmark.markdown import document
from nightshift.report.benchmark.results import Item, Result
from nightshift.report.benchmark.running import waiting
from nightshift.report.benchmark.store import BenchmarkStore, Mode, Run, RunState
from nightshift.report.benchmark.stored import known_repo, newest_mode, report_of
from nightshift.report.html import Document
from nightshift.server.context import AppContext
from nightshift.server.query import Query
from nightshift.server.schemas import Answer

MOST_ITEMS = 500
"""So many items come with the page, the newest commits."""


class BenchmarkRepository(Answer):
    """A repository that was mined, and how many items it has."""

    repo: str
    items: int


class BenchmarkRun(Answer):
    """A run of arms; `done` of `total` attempts have a result, those of earlier runs among them.

    `broken` is one whose process is gone without a word; it can be gone on with like one that was stopped.
    """

    key: str
    mode: Mode
    arms: tuple[str, ...]
    rounds: int
    state: Literal["running", "stopped", "done", "broken"]
    reason: str
    done: int
    total: int
    cost_usd: float
    tokens: int
    started_at: Moment
    changed_at: Moment


class BenchmarkOutcome(Answer):
    """Outcome of an item under an arm."""

    arm: str
    solved: bool
    outcome: str
    cost_usd: float
    seconds: float
    iterations: int


class BenchmarkItem(Answer):
    """A commit that is an item; `lines` of source were changed, `tests` fail before it and pass after it."""

    commit: str
    subject: str
    lines: int
    tests: int
    committed_at: Moment
    outcomes: list[BenchmarkOutcome]


class Benchmark(Answer):
    """The benchmark of a repository; `repo`, `mode` and `page` are null where nothing was mined yet.

    `said` is the last that the run of this page told, `cost_usd` what all runs have cost, broken off attempts included.
    """

    repositories: list[BenchmarkRepository]
    repo: str | None
    mode: Mode | None
    page: Document | None
    runs: list[BenchmarkRun]
    items: list[BenchmarkItem]
    is_running: bool
    said: str
    cost_usd: float


class BenchmarkQuery(Query):
    """Of what to tell."""

    repo: str | None = Field(None, max_length=4096, description="a folder in the repository; the first one without it")
    mode: Mode | None = Field(None, description="what models were given; without it as in the newest run")


class BenchmarkIn(BaseModel):
    """A run to begin: an arm for each model, as `openai=gpt-5-mini` or `built-in`."""

    model_config = ConfigDict(extra="forbid")

    repo: Annotated[str, Field(min_length=1, max_length=4096)]
    models: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=20)]
    mode: Mode = Mode.SHOWN
    items: Annotated[StrictInt, Field(ge=1, le=1_000_000)] | None = None
    budget_usd: Annotated[StrictFloat, Field(gt=0, le=1_000_000)] | None = None


class BenchmarkStarted(Answer):
    """A run begins in a process of its own, or is asked to end: what it does is told by `GET /api/benchmark`."""

    repo: str


def nothing(context: AppContext) -> Benchmark:
    """The answer where nothing was mined."""
    state = context.benchmark.state()
    return Benchmark(
        repositories=[], repo=None, mode=None, page=None, runs=[], items=[], is_running=state.is_running,
        said=state.said, cost_usd=0.0,
    )  # fmt: skip


def told(context: AppContext, store: BenchmarkStore, query: BenchmarkQuery) -> Benchmark:
    """The answer for a repository.

    Raises:
        BenchmarkError: nothing is known of it.
    """
    every = store.items()
    names = sorted({item.repo for item in every})
    if not names:
        return nothing(context)
    runs = store.runs()
    repo = known_repo(store, query.repo) if query.repo else (runs[-1].repo if runs else names[0])
    mode = query.mode or newest_mode(store, repo)
    state = context.benchmark.state()
    begun = [run for run in runs if run.state is RunState.RUNNING]
    last = max(begun, key=lambda run: run.changed_at).key if begun else ""  # one at a time; the others were killed
    return Benchmark(
        repositories=[BenchmarkRepository(repo=name, items=sum(one.repo == name for one in every)) for name in names],
        repo=repo,
        mode=mode,
        page=document(report_of(store, repo, mode, context.model_cutoffs())),
        runs=[
            _run(store, run, is_under_way=state.is_running and run.key == last)
            for run in reversed(runs)
            if run.repo == repo
        ],
        items=_items([one for one in every if one.repo == repo], store.results(repo, mode)),
        is_running=state.is_running,
        said=state.said,
        cost_usd=store.spent()[0],
    )


def _run(store: BenchmarkStore, run: Run, *, is_under_way: bool) -> BenchmarkRun:
    total = len(run.arms) * len(run.items) * run.rounds
    cost_usd, tokens = store.spent(run.key)
    gone = run.state is RunState.RUNNING and not is_under_way
    return BenchmarkRun(
        key=run.key, mode=run.mode, arms=run.arms, rounds=run.rounds,
        state="broken" if gone else run.state.value, reason=run.reason,
        done=total - len(waiting(store, run)), total=total, cost_usd=cost_usd, tokens=tokens,
        started_at=run.started_at, changed_at=run.changed_at,
    )  # fmt: skip


def _items(items: Sequence[Item], results: Sequence[Result]) -> list[BenchmarkItem]:
    newest = sorted(items, key=lambda one: one.committed_at, reverse=True)[:MOST_ITEMS]
    outcomes = defaultdict[str, list[BenchmarkOutcome]](list)
    for one in results:
        outcomes[one.item].append(BenchmarkOutcome.from_values(one))
    return [
        BenchmarkItem(
            commit=item.commit, subject=item.subject, lines=item.lines, tests=len(item.fail_to_pass),
            committed_at=item.committed_at,
            outcomes=outcomes[item.key],
        )
        for item in newest
    ]  # fmt: skip

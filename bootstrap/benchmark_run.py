"""Lets arms of the benchmark try items: each in a home of its own, by the same services as the daemon's tasks."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path

from benchmark.arms import settings_of
from benchmark.commit_parts import CommitParts, read_parts
from benchmark.results import Arm, Item, Result
from benchmark.running import Budget, in_order, work
from benchmark.store import BenchmarkStore, Mode, Run, RunState
from benchmark.validation import environment_of, job_of
from benchmark.version import version
from bootstrap.benchmark import Opened
from bootstrap.single import run_single
from bootstrap.verify import suites
from config import Settings, settings_at
from core.clock import Clock, utc_now
from core.errors import BenchmarkError, InvalidTask, SandboxError
from core.events import Event, Kind
from core.quiet_hours import quiet
from core.states import Ending, Status
from core.submission import parse_spec
from core.tasks import Task, TaskSpec
from core.verdicts import Result as Ended
from db import spending
from db.database import Database
from db.event_log import EventLog
from maintenance.instance_lock import is_held
from taskqueue import pauses
from taskqueue import store as tasks
from test_runner import SuiteRunner

NICE = 10
LOOK_AGAIN_S = 20.0
MOST_REFUSED = 1000


class Attempts:
    """Attempts of one run (`benchmark.running.Attempting`).

    Args:
        settings: the owner's; an arm changes some of them.
        here: the repository, and what the benchmark knows of it.
        run: whose attempts.
        clock: dates results.
        tell: is told in words what happens meanwhile.
    """

    def __init__(
        self, settings: Settings, here: Opened, run: Run, *, clock: Clock = utc_now, tell: Callable[[str], None]
    ) -> None:
        self._settings, self._here, self._run, self._clock, self._tell = settings, here, run, clock, tell
        self._home = settings.benchmark_dir / run.key

    async def __call__(self, arm: Arm, item: Item, limit_usd: float | None) -> Result | None:
        """See `Attempting`; a home that was left by a kill is gone on with."""
        home = self._home / arm.name
        copy = home / "repositories" / item.commit
        parts = await asyncio.to_thread(self._prepared, item, copy)
        try:
            spec = _spec(item, parts, copy, shown=self._run.mode is Mode.SHOWN)
        except InvalidTask as error:
            self._tell(f"{item.commit[:10]}: cannot be a task: {error}")
            return self._result(arm, item, outcome=Ending.REFUSED)
        task, unreadable = await self._tried(spec, self._of_arm(arm, home, limit_usd))
        if task.status is Status.CANCELLED:
            return None
        solved = task.ending is Ending.COMMITTED and (
            self._run.mode is Mode.SHOWN or await self._passes(item, parts, copy, task.commit or "")
        )
        return self._result(arm, item, outcome=task.ending or task.status, task=task, solved=solved, bad=unreadable)

    def clear(self) -> None:
        """Remove the homes: results are stored elsewhere."""
        shutil.rmtree(self._home, ignore_errors=True)

    def _prepared(self, item: Item, copy: Path) -> CommitParts:
        """The item's commit as a task, and a repository of its parent without its history.

        Those of earlier items are done with. This one stays until its result is stored: after a kill it has the commit.
        """
        for earlier in copy.parent.iterdir() if copy.parent.exists() else ():
            if earlier != copy:
                shutil.rmtree(earlier, ignore_errors=True)
        if not (copy / ".git" / "refs" / "heads" / "main").exists():  # written last
            shutil.rmtree(copy, ignore_errors=True)
            self._here.git.copy_of(item.repo, item.parent, copy)
        git = self._here.git
        return read_parts(git.tree(item.repo, item.parent), git.tree(item.repo, item.commit))

    def _of_arm(self, arm: Arm, home: Path, limit_usd: float | None) -> Settings:
        own = settings_of(arm, self._settings.recall_limit, limit_usd)
        read = settings_at(self._settings, own.flags)
        return read.model_copy(update={**own.unset, "home": home, "folders": None})

    async def _tried(self, spec: TaskSpec, settings: Settings) -> tuple[Task, int]:
        """The task as it ended, and how many replies could not be read.

        A task that was stopped by hand stays cancelled; the item is then tried as another one.
        """
        for number in count(1):
            events = list[Event]()
            task = await run_single(replace(spec, key=f"{spec.key}:{number}"), settings, events.append)
            if events or task.status is not Status.CANCELLED:
                break
        return task, await asyncio.to_thread(_refused, settings.db_path, task.id)

    async def _passes(self, item: Item, parts: CommitParts, copy: Path, commit: str) -> bool:
        """Whether the tests that were held out pass on what an arm committed."""
        found = await suites(self._settings, self._here.folder)()
        if not isinstance(found.suite, SuiteRunner):
            raise SandboxError(f"nothing can be judged, because nothing can be run: {found.why_not}")
        tree = await asyncio.to_thread(self._here.git.tree, str(copy), commit)
        environment = await environment_of(tree, found.environments)
        seen = await found.suite.observe(job_of(tree, parts, environment.digest, {}))
        passed = {one.id for one in seen.results if one.result is Ended.PASSED}
        return passed.issuperset(item.fail_to_pass)

    def _result(
        self, arm: Arm, item: Item, *, outcome: str, task: Task | None = None, solved: bool = False, bad: int = 0
    ) -> Result:
        spent = task.spent if task else None
        began, ended = (task.started_at, task.ended_at) if task else (None, None)
        return Result(
            item=item.key,
            arm=arm.name,
            solved=solved,
            outcome=str(outcome),
            cost_usd=spent.cost_usd if spent else 0.0,
            tokens_in=spent.tokens_in if spent else 0,
            tokens_out=spent.tokens_out if spent else 0,
            seconds=(ended - began).total_seconds() if began and ended else 0.0,
            iterations=task.iterations if task else 0,
            format_errors=bad,
            finished_at=self._clock(),
            version=version(),
        )


def _refused(path: Path, task_id: int) -> int:
    """How many replies could not be used, those before a kill among them."""
    with Database(path, readonly=True) as database:
        return len(EventLog(database).after(0, limit=MOST_REFUSED, task_id=task_id, kind=Kind.REPLY_REFUSED))


def _spec(item: Item, parts: CommitParts, copy: Path, *, shown: bool) -> TaskSpec:
    return parse_spec({
        "description": item.statement,
        "repo": str(copy),
        "language": str(parts.language),
        "key": f"benchmark:{item.commit}",
        **({"tests": dict(parts.tests), "files": dict(parts.support)} if shown else {}),
    })  # fmt: skip


async def run_arms(
    settings: Settings,
    here: Opened,
    arms: Sequence[Arm],
    *,
    mode: Mode,
    most: int | None = None,
    budget_usd: float | None = None,
    tell: Callable[[str], None],
    clock: Clock = utc_now,
) -> Run:
    """Work through a repository's items with these arms, or go on with it; gives the run as it stands then.

    Args:
        settings: the owner's: his budgets and quiet hours are kept, and his own tasks go first.
        here: the repository.
        arms: what is compared.
        mode: what models are given.
        most: so many items, drawn from all; None for all.
        budget_usd: what this and earlier calls for the run may cost together.
        tell: is told in words what happens.
        clock: the time.

    Raises:
        BenchmarkError: there are no items, or an arm of such a name was another one.
        NightshiftError: nothing can be run here.
    """
    items = here.store.items(here.repo)
    if not items:
        raise BenchmarkError(f"{here.repo}: there are no items; find some with `nightshift bench mine {here.repo}`")
    for arm in arms:
        here.store.add_arm(arm)
    run = here.store.begin_run(here.repo, mode, [arm.name for arm in arms], in_order(items)[:most], clock())
    _swept(settings, here.store)
    attempts = Attempts(settings, here, run, clock=clock, tell=tell)
    os.nice(NICE)  # the owner's own work and its sandboxes go first
    ended = await work(
        here.store, run, attempts,
        budget=_budget(settings, here.store, run, budget_usd, clock),
        may_go_on=_after_others(settings, clock, tell),
        clock=clock,
        tell=lambda result: tell(_told(result, here.store)),
    )  # fmt: skip
    if ended.state is RunState.DONE:
        attempts.clear()
    return ended


def _swept(settings: Settings, store: BenchmarkStore) -> None:
    """Remove the homes of runs that are done and whose process was killed before it did so."""
    for run in store.runs():
        if run.state is RunState.DONE:
            shutil.rmtree(settings.benchmark_dir / run.key, ignore_errors=True)


def _told(result: Result, store: BenchmarkStore) -> str:
    subject = next((one.subject for one in store.items() if one.key == result.item), result.item)
    words = "solved" if result.solved else f"not solved ({result.outcome})"
    return f"{result.arm}: {words} in {result.seconds:.0f} s: {subject[:60]}"


def _budget(settings: Settings, store: BenchmarkStore, run: Run, budget_usd: float | None, clock: Clock) -> Budget:
    """What is left of the run's own budget and of the owner's, which his tasks and the benchmark share."""

    def of_run() -> float | None:
        return None if budget_usd is None else budget_usd - store.spent_since(run.started_at)[0]

    def of_day() -> float | None:
        return _left(settings, store, settings.day_cost_usd, clock().replace(hour=0, minute=0, second=0, microsecond=0))

    def of_all() -> float | None:
        return _left(settings, store, settings.total_cost_usd, datetime.min.replace(tzinfo=clock().tzinfo))

    return Budget(of_run, of_day, of_all)


def _left(settings: Settings, store: BenchmarkStore, limit_usd: float | None, since: datetime) -> float | None:
    if limit_usd is None:
        return None
    of_tasks = 0.0
    if settings.db_path.exists():
        with Database(settings.db_path, readonly=True) as database:
            of_tasks = spending.since(database.reader(), since).cost_usd
    return limit_usd - of_tasks - store.spent_since(since)[0]


def _after_others(settings: Settings, clock: Clock, tell: Callable[[str], None]) -> Callable[[], Awaitable[None]]:
    """Waits while it is quiet, and while the daemon of this home has work."""

    async def wait() -> None:
        said = ""
        while why := _why_wait(settings, clock()):
            if why != said:
                tell(f"waits: {why}")
                said = why
            await asyncio.sleep(LOOK_AGAIN_S)

    return wait


def _why_wait(settings: Settings, now: datetime) -> str:
    if hours := quiet(settings.quiet_hours, now.astimezone()):
        return f"it is quiet ({hours})"
    if not settings.db_path.exists():
        return ""
    with Database(settings.db_path, readonly=True) as database:
        counts, paused = tasks.counts(database.reader()), pauses.read(database.reader()).reasons
    if paused:
        return f"paused ({paused[0].reason})"
    # Without a daemon what is queued waits for one, and not for its turn.
    working = counts[Status.RUNNING] + (counts[Status.QUEUED] if is_held(settings.lock_file) else 0)
    return f"{working} of your own tasks go first" if working else ""

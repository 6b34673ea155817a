"""Runs the benchmark's arms (model configurations that are compared) on its items.

Each arm has a home of its own and the same services as the daemon.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time
from itertools import count
from pathlib import Path

from nightshift.app.benchmark import Opened
from nightshift.app.single import PutDown, run_single
from nightshift.app.verify import suites
from nightshift.config.load import Settings, settings_at
from nightshift.config.places import find_places, is_held
from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import BenchmarkError, InvalidTask, SandboxError
from nightshift.core.events import Event, Kind
from nightshift.core.quiet_hours import quiet
from nightshift.core.tasks.benchmark_results import Arm, BrokenOff, Item, Result
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tasks.verdicts import Result as Ended
from nightshift.core.text.formats import duration
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.queue import pauses
from nightshift.queue import store as tasks
from nightshift.report.benchmark.arms import settings_of
from nightshift.report.benchmark.commit_parts import CommitParts, read_parts
from nightshift.report.benchmark.running import Asked, Budget, Turn, in_order, work
from nightshift.report.benchmark.validation import environment_of, job_of
from nightshift.storage.db import spending
from nightshift.storage.db.benchmark_store import BenchmarkStore, Mode, Run, RunState
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventFilter, EventLog
from nightshift.verdict.runner import SuiteRunner

NICE = 10
LOOK_AGAIN_S = 20.0
PATIENCE_S = 900.0
"""Total seconds that an attempt waits for a model that does not answer; after that the run stops."""
BY_HAND = "stopped by hand"
MOST_EVENTS = 100_000


class Attempts:
    """Makes the attempts of one run (implements `report.benchmark.running.Attempting`).

    Args:
        settings: the owner's settings; an arm changes some of them.
        here: the repository and its benchmark data.
        run: the run that the attempts belong to.
        clock: gives the times of results.
        tell: receives messages about the progress.
        put_down: signals that an attempt is to be interrupted and continued later.
    """

    def __init__(
        self,
        settings: Settings,
        here: Opened,
        run: Run,
        *,
        clock: Clock = utc_now,
        tell: Callable[[str], None],
        put_down: PutDown | None = None,
    ) -> None:
        self._settings, self._here, self._run, self._clock, self._tell = settings, here, run, clock, tell
        self._put_down = put_down or PutDown(patience_s=PATIENCE_S)
        self._home = settings.benchmark_dir / run.key

    async def __call__(self, turn: Turn, limit_usd: float | None) -> Result | BrokenOff:
        """Make one attempt, as `Attempting` requires.

        An attempt that a killed process left in its home is continued.
        """
        arm, item = turn
        home = self._home / arm.name
        copy = home / "repository"  # one copy for all items, because lessons are stored for each repository
        parts = await asyncio.to_thread(self._prepare, turn, copy)
        try:
            spec = _spec(turn, parts, copy, shown=self._run.mode is Mode.SHOWN)
        except InvalidTask as error:
            self._tell(f"{item.commit[:10]}: cannot be a task: {error}")
            return self._result(arm, item, outcome=Ending.REFUSED)
        try:
            task = await self._try_item(spec, self._of_arm(arm, home, limit_usd))
        finally:
            await asyncio.to_thread(self.note_spent, arm.name)
        if broken := self._break_off(task, home, limit_usd):
            return broken
        solved = task.ending is Ending.COMMITTED and (
            self._run.mode is Mode.SHOWN or await self._passes(item, parts, copy, task.commit or "")
        )
        if self._put_down.asked.is_set():  # the same Ctrl-C may also have ended the run of the held-out tests
            return BrokenOff(reason=BY_HAND)
        events = await asyncio.to_thread(_events_of, _db_of(home), task.id)
        return self._result(arm, item, outcome=task.ending or task.status, task=task, solved=solved, events=events)

    def note_spent(self, arm: str) -> None:
        """Store an arm's spending from its own ledger, because the results omit interrupted attempts."""
        if (path := _db_of(self._home / arm)).exists():
            with Database(path, readonly=True) as database:
                days = spending.by_day(database.reader())
            self._here.store.note_spent(self._run.key, arm, days)

    def _break_off(self, task: Task, home: Path, limit_usd: float | None) -> BrokenOff | None:
        """Return why an attempt gives no result for its arm, or None if it gives one.

        An attempt gives no result if it was interrupted, or if the budget of the run stopped it.
        """
        if task.status is Status.SCHEDULED and not self._put_down.asked.is_set():
            return BrokenOff(reason=f"the model does not come back: {task.reason}")
        if task.status not in {*ENDED, Status.WAITING} or task.ending is Ending.USER:
            return BrokenOff(reason=BY_HAND)
        if limit_usd is not None and _is_cut_off(_db_of(home), task):
            return BrokenOff(reason=f"the budget is spent: {task.reason}")
        return None

    def clear(self) -> None:
        """Remove the homes of the arms; the results are stored elsewhere."""
        shutil.rmtree(self._home, ignore_errors=True)

    def _prepare(self, turn: Turn, copy: Path) -> CommitParts:
        """Split the item's commit into the parts of a task, and copy its parent commit without history.

        Returns the parts. The copy stays until the next attempt begins, because the attempt's commit is in it and is
        still needed if this process is killed.
        """
        item, git, noted = turn.item, self._here.git, copy.with_name("repository.txt")
        if not noted.exists() or noted.read_text() != item.commit:
            noted.unlink(missing_ok=True)
            shutil.rmtree(copy, ignore_errors=True)
            git.copy_of(item.repo, item.parent, copy)
            noted.write_text(item.commit)
        return read_parts(git.tree(item.repo, item.parent), git.tree(item.repo, item.commit))

    def _of_arm(self, arm: Arm, home: Path, limit_usd: float | None) -> Settings:
        own = settings_of(arm, self._settings.recall_limit, limit_usd)
        read = settings_at(self._settings, own.flags)
        return read.model_copy(update={**own.unset, "home": home, "folders": None})

    async def _try_item(self, spec: TaskSpec, settings: Settings) -> Task:
        """Run the task and return its state; a task that ended for lack of budget runs again as a new task."""
        for number in count(1):
            events = list[Event]()
            numbered = replace(spec, key=f"{spec.key}:{number}")
            task = await run_single(numbered, settings, events.append, self._put_down, self._settings)
            if events or not _is_cut_off(settings.db_path, task):
                return task
        raise AssertionError("numbers do not end")

    async def _passes(self, item: Item, parts: CommitParts, copy: Path, commit: str) -> bool:
        """Check whether the held-out tests pass on the commit that an arm made."""
        opened_suite = await suites(self._settings, self._here.folder)()
        if not isinstance(opened_suite.suite, SuiteRunner):
            raise SandboxError(f"nothing can be judged, because nothing can be run: {opened_suite.why_not}")
        tree = await asyncio.to_thread(self._here.git.tree, str(copy), commit)
        environment = await environment_of(tree, opened_suite.environments)
        seen = await opened_suite.suite.observe(job_of(tree, parts, environment.digest, {}))
        passed = {result.id for result in seen.results if result.result is Ended.PASSED}
        return passed.issuperset(item.fail_to_pass)

    def _result(
        self,
        arm: Arm,
        item: Item,
        *,
        outcome: str,
        task: Task | None = None,
        solved: bool = False,
        events: Sequence[Event] = (),
    ) -> Result:
        spent = task.spent if task else None
        return Result(
            item=item.key,
            arm=arm.name,
            solved=solved,
            outcome=str(outcome),
            cost_usd=spent.cost_usd if spent else 0.0,
            tokens_in=spent.tokens_in if spent else 0,
            tokens_out=spent.tokens_out if spent else 0,
            seconds=seconds_of_work(events),
            iterations=task.iterations if task else 0,
            format_errors=sum(event.kind is Kind.REPLY_REFUSED for event in events),
            finished_at=self._clock(),
        )


def _db_of(home: Path) -> Path:
    return find_places(home).db_path


def _is_cut_off(path: Path, task: Task) -> bool:
    """Check whether an attempt stopped at its own USD limit.

    An attempt that stops at another limit of the owner counts as a failure.
    """
    if task.status is not Status.WAITING:
        return False
    asked = [event for event in _events_of(path, task.id) if event.kind is Kind.ASKED]
    return bool(asked) and str(asked[-1].data.get("subject")).startswith("budget:cost_usd:")


def seconds_of_work(events: Sequence[Event]) -> float:
    """Return the seconds that a task was RUNNING, excluding waiting times and times without a daemon."""
    seconds, began, last = 0.0, None, None
    for event in events:
        if began and event.data.get("from") == Status.RUNNING:
            ended = last if event.kind is Kind.TASK_RECOVERED else event.at  # its daemon had died before this event
            seconds, began = seconds + ((ended or began) - began).total_seconds(), None
        if event.data.get("to") == Status.RUNNING:
            began = event.at
        last = event.at
    return seconds


def _events_of(path: Path, task_id: int) -> list[Event]:
    """Read the events of a task, including those before a kill."""
    with Database(path, readonly=True) as database:
        return EventLog(database).after(0, limit=MOST_EVENTS, wanted=EventFilter(task_id=task_id))


def _spec(turn: Turn, parts: CommitParts, copy: Path, *, shown: bool) -> TaskSpec:
    return parse_spec({
        "description": turn.item.statement,
        "repo": str(copy),
        "language": str(parts.language),
        "key": f"benchmark:{turn.item.commit}",
        **({"tests": dict(parts.tests), "files": dict(parts.support)} if shown else {}),
    })  # fmt: skip


async def run_arms(
    settings: Settings,
    here: Opened,
    arms: Sequence[Arm],
    asked: Asked,
    *,
    tell: Callable[[str], None],
    clock: Clock = utc_now,
) -> Run:
    """Run arms on a repository's items, or continue an equal earlier run; return the final state of the run.

    Args:
        settings: the owner's settings. Budgets and quiet hours apply, and the owner's own tasks have priority.
        here: the repository and its benchmark data.
        arms: the arms that are compared.
        asked: the requested items.
        tell: receives messages about the progress.
        clock: gives the current time.

    Raises:
        AlreadyRunning: another run is in progress.
        BenchmarkError: there are no items, or an earlier arm of the same name had different settings.
        NightshiftError: nothing can be run here.
    """
    items = here.store.items(here.repo)
    if not items:
        raise BenchmarkError(f"{here.repo}: there are no items; find some with `nightshift bench mine {here.repo}`")
    with InstanceLock(settings.benchmark_lock_file):
        for arm in arms:
            here.store.add_arm(arm)
        names, drawn = [arm.name for arm in arms], in_order(items)[: asked.items]
        run = here.store.begin_run(here.repo, asked.mode, names, drawn, clock())
        return await _work_on(settings, here, run, asked.budget_usd, tell, clock)


async def _work_on(
    settings: Settings, here: Opened, run: Run, budget_usd: float | None, tell: Callable[[str], None], clock: Clock
) -> Run:
    with _stop_by_signals(tell) as asked:
        _swept(settings, here.store)
        put_down = PutDown(asked=asked, patience_s=PATIENCE_S)
        attempts = Attempts(settings, here, run, clock=clock, tell=tell, put_down=put_down)
        for arm in run.arms:
            attempts.note_spent(arm)  # a kill may have prevented this at the time
        os.nice(NICE)  # the owner's own work and its sandboxes have priority
        ended = await work(
            here.store, run, attempts,
            budget=_budget(settings, here.store, run, budget_usd, clock),
            may_begin=_after_others(settings, clock, tell, asked),
            clock=clock,
            tell=lambda result: tell(_describe_end(result, here.store)),
        )  # fmt: skip
        if ended.state is RunState.DONE:
            attempts.clear()
        return ended


@contextmanager
def _stop_by_signals(tell: Callable[[str], None]) -> Iterator[asyncio.Event]:
    """Yield an event that SIGINT and SIGTERM set; a second signal ends the process at once."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        asked.set()
        release()
        tell("stopping; the replies that the running attempt has paid for are kept")

    def release() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield asked
    finally:
        release()


def _swept(settings: Settings, store: BenchmarkStore) -> None:
    """Remove the homes of completed runs whose process was killed before it removed them."""
    for run in store.runs():
        if run.state is RunState.DONE:
            shutil.rmtree(settings.benchmark_dir / run.key, ignore_errors=True)


def _describe_end(result: Result, store: BenchmarkStore) -> str:
    subject = next((item.subject for item in store.items() if item.key == result.item), result.item)
    words = "solved" if result.solved else f"not solved ({result.outcome})"
    return f"{result.arm}: {words} in {duration(result.seconds)}: {subject[:60]}"


def _budget(settings: Settings, store: BenchmarkStore, run: Run, budget_usd: float | None, clock: Clock) -> Budget:
    """Return the budget of a run: what is left of its own limit, and of the owner's limits, which tasks use too."""

    def of_run() -> float | None:
        return None if budget_usd is None else budget_usd - store.spent(run.key)[0]

    def of_day() -> float | None:
        return _usd_left(settings, store, settings.day_cost_usd, clock().date())

    def of_all() -> float | None:
        return _usd_left(settings, store, settings.total_cost_usd, None)

    return Budget(of_run, of_day, of_all)


def _usd_left(settings: Settings, store: BenchmarkStore, limit_usd: float | None, since: date | None) -> float | None:
    if limit_usd is None:
        return None
    of_tasks = 0.0
    if settings.db_path.exists():
        with Database(settings.db_path, readonly=True) as database:
            midnight = datetime.combine(since, time(), UTC) if since else None
            of_tasks = spending.since(database.reader(), midnight).cost_usd
    return limit_usd - of_tasks - store.spent(since=since)[0]


def _after_others(
    settings: Settings, clock: Clock, tell: Callable[[str], None], asked: asyncio.Event
) -> Callable[[], Awaitable[str]]:
    """Return a function that waits during quiet hours and while this home has tasks to work on."""

    async def wait() -> str:
        last_reason = ""
        while not asked.is_set() and (why := _why_wait(settings, clock())):
            if why != last_reason:
                tell(f"waits: {why}")
                last_reason = why
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), LOOK_AGAIN_S)
        return BY_HAND if asked.is_set() else ""

    return wait


def _why_wait(settings: Settings, now: datetime) -> str:
    if hours := quiet(settings.quiet_hours, now.astimezone()):
        return f"quiet hours ({hours})"
    if not settings.db_path.exists():
        return ""
    with Database(settings.db_path, readonly=True) as database:
        counts, paused = tasks.counts(database.reader()), pauses.read(database.reader()).reasons
    if paused:
        return f"paused ({paused[0].reason})"
    # Queued tasks count only if a daemon runs. Without a daemon they wait for its start, and not for a free worker.
    is_daemon_up = is_held(settings.lock_file, settings.db_lock_file)
    working = counts[Status.RUNNING] + (counts[Status.QUEUED] if is_daemon_up else 0)
    return f"{working} of your own tasks go first" if working else ""

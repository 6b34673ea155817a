"""Makes the daemon's periodic jobs from the settings: state, backups, checkpoints, reports, pruning and disk space."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from nightshift.app.outlook import OutlookWatch
from nightshift.app.services import Services
from nightshift.app.store import StoreServices, check_all
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, Clocks
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import ENDED, Status
from nightshift.maintenance import orphans
from nightshift.maintenance.backup import Backup
from nightshift.maintenance.checkpoint import Checkpoint
from nightshift.maintenance.clock_watch import ClockWatch
from nightshift.maintenance.conditions import Condition, Reason, at_quiet_hours, in_debt, on_battery
from nightshift.maintenance.disk import DiskGuard
from nightshift.maintenance.pruning import Keep, Pruner
from nightshift.maintenance.scheduler import PeriodicJob, Scheduler, Sleep
from nightshift.maintenance.state_file import StateKeeper, how_it_ended
from nightshift.maintenance.workspace import Workspace
from nightshift.queue import checkpoints
from nightshift.queue.pauses import renew_review_debt
from nightshift.server.context import Busy
from nightshift.storage.db import clock_seen
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments


class Reporter:
    """Writes the reports of one database. Thread-safe; blocks while it reads.

    Args:
        settings: returns the settings, which name the folder of reports.
        store: the database, and the masker of its texts.
        clock: gives the current time.
    """

    def __init__(self, settings: Callable[[], Settings], store: StoreServices, clock: Clock) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self._lock = threading.Lock()

    def of_span(self, since: datetime, until: datetime) -> Path:
        """Write the report of the time span since ≤ t < until, and return the path of its Markdown file.

        Raises:
            OSError: the folder cannot be written.
            StoreError: the database cannot be read.
        """
        from nightshift.report.weekly import summarise, write_report  # noqa: PLC0415  needed once a week

        with self._lock:
            summary = summarise(self._store.db, since, until)
            return write_report(summary, self._settings().reports_dir, self._store.mask)

    def of_week(self, week: str) -> Path:
        """Write the report of a week such as `2026-W47`, or of the time since the last checkpoint if `week` is empty.

        Raises:
            ValueError: there is no such week, or the week has not begun.
            Busy: the folder cannot be written.
            StoreError: the database cannot be read.
        """
        from nightshift.report.weeks import choose_span  # noqa: PLC0415  as above

        span = choose_span(self._store.db, week, self._clock(), self._settings().checkpoint_days)
        try:
            return self.of_span(*span)
        except OSError as error:
            raise Busy(f"the report cannot be written: {error}") from error


MINUTE_S, HOUR_S, WEEK_S = 60.0, 3600.0, 7 * 86_400.0
DISK_S = 30.0


class Cleanup:
    """Makes the jobs that limit the disk space of a daemon that runs for months: pruning, packing and the disk guard.

    Args:
        settings: returns the current settings.
        store: the database and the services that use it.
        services: the workers' services whose data grow.
        clock: gives the current time.
    """

    def __init__(
        self, settings: Callable[[], Settings], store: StoreServices, services: Services, clock: Clock
    ) -> None:
        self._settings, self._store, self._services, self._clock = settings, store, services, clock
        self._pruner = self._make_pruner()

    def jobs(self) -> list[PeriodicJob]:
        """List the jobs with their intervals."""
        return [
            PeriodicJob(name="disk", every_s=DISK_S, run=self._make_guard().look),
            PeriodicJob(name="layers", every_s=24 * HOUR_S, run=self._sweep_layers, first_s=HOUR_S),
            PeriodicJob(name="pruning", every_s=HOUR_S, run=self._pruner.run, first_s=120.0),
            PeriodicJob(name="points of commits", every_s=10 * MINUTE_S, run=self._count_points, first_s=MINUTE_S),
            PeriodicJob(name="packing", every_s=MINUTE_S, run=self._make_workspace().run, first_s=MINUTE_S),
            PeriodicJob(name="idle repositories", every_s=MINUTE_S / 2, run=self._close_idle),
            PeriodicJob(
                name="check of the database",
                every_s=WEEK_S,
                run=partial(check_all, self._store),
                first_s=WEEK_S if self._store.is_checked else 0.0,
            ),
        ]

    async def _close_idle(self) -> None:
        await asyncio.to_thread(self._services.git.maintenance.close_idle)

    def _make_pruner(self) -> Pruner:
        store = self._store
        return Pruner(
            store.db,
            store.events,
            store.state,
            keep=lambda: _keep(self._settings()),
            clock=self._clock,
            quiet=self._is_quiet,
            report_since=lambda: checkpoints.read(store.db.reader()).last,
        )

    def _make_workspace(self) -> Workspace:
        store = self._store
        return Workspace(
            self._services.git.maintenance,
            store.db,
            store.state,
            store.events,
            keep_days=lambda: self._settings().keep_work_days,
            quiet=self._is_quiet,
            clock=self._clock,
        )

    def _make_guard(self) -> DiskGuard:
        return DiskGuard(
            _places(self._settings()),
            reserve_mb=lambda: self._settings().disk_reserve_mb,
            free_space=self._free_space,
            queue=self._store.queue,
            emit=self._store.events.emit,
        )

    def _is_quiet(self) -> bool:
        return not self._store.queue.counts()[Status.RUNNING]

    async def _sweep_layers(self) -> None:
        for store in (self._services.layers, self._services.environments):
            if store is not None:
                await asyncio.to_thread(store.sweep)

    async def _count_points(self) -> None:
        from nightshift.report.ranking import count_points  # noqa: PLC0415  needed now and then

        store = self._store
        while await asyncio.to_thread(count_points, store.db, CommitLedger(store.db, store.events), self._clock()):
            pass

    async def _free_space(self) -> None:
        await asyncio.to_thread(_drop_caches, self._settings(), self._services.layers, self._services.environments)
        await self._pruner.run()


def _places(settings: Settings) -> dict[str, Path]:
    """Return the folders that use disk space, by the name of their content."""
    return {
        "the database": settings.db_path.parent,
        "the workspace": settings.workspace,
        "the log": settings.log_file.parent,
        "temporary files": Path(tempfile.gettempdir()),
    }


def _drop_caches(settings: Settings, layers: LayerStore | None, environments: Environments | None) -> None:
    """Remove cached data that no job uses now; the data are made again when they are needed."""
    for store in (layers, environments):
        if store is not None:
            store.sweep(keep_mb=0)
    old = time.time() - HOUR_S
    for folder in (settings.state_dir / "staging", settings.state_dir / "trials"):
        for tree in folder.glob("*.tree"):
            with contextlib.suppress(FileNotFoundError):
                if tree.stat().st_mtime < old:
                    tree.unlink()


async def sweep_orphans(settings: Settings, events: EventLog) -> None:
    """Remove and report the leftovers of a killed daemon of this home; call this only while holding the home's lock."""
    where = orphans.Places(
        lock=settings.lock_file,
        port=settings.port_file,
        scratch=settings.state_dir,
        drafts=(
            settings.state_dir,
            settings.state_dir / "staging",
            settings.state_dir / "trials",
            settings.reports_dir,
            settings.db_path.parent,
            settings.backups_dir,
        ),
        shared=(settings.state_file, settings.seal_file),
        workspace=settings.workspace,
        packages=settings.packages_dir,
    )
    swept = await asyncio.to_thread(orphans.sweep, where)
    if swept.event:
        events.emit(swept.event)


def _keep(settings: Settings) -> Keep:
    return Keep(
        events_days=settings.keep_events_days,
        work_days=settings.keep_work_days,
        calls_days=settings.keep_calls_days,
        lessons_days=settings.keep_lessons_days,
        lessons=settings.keep_lessons,
        database_mb=settings.database_max_mb,
    )


LOOK_S = 2.0
"""Seconds between runs of jobs that the owner waits for, such as a checkpoint."""
"""Seconds between checks whether the day's budget is sufficient."""
HOURLY = ("state", "backup")
QUESTIONS_S = 30.0
"""Maximum seconds between two searches for questions that nobody answered in time."""
# Seconds that a stop waits for a backup.
STOP_BACKUP_S = 5.0
CLOCK_S, NOTE_S = 5.0, 300.0
"""Two intervals in seconds: `CLOCK_S` between comparisons of the clocks, and `NOTE_S` between writes of the current
time to the database. The next start reads the written time.
"""


class Maintenance:
    """The daemon's periodic jobs: hourly state and backups, checkpoints, and pauses that begin and end automatically.

    Args:
        settings: returns the current settings; called again wherever a setting may change while the daemon runs.
        store: the database and the services that use it.
        status: returns the daemon's status.
        clocks: all clocks of the machine.
        exchanged: returns a sentence for the owner if files of the program were replaced.
        sleep: waits for the next job.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: StoreServices,
        status: Callable[[], DaemonStatus],
        clocks: Clocks,
        exchanged: Callable[[], str] = lambda: "",
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._settings, self._store = settings, store
        self.last_run = ""
        self._clock = clocks.wall
        self._state = StateKeeper(settings().state_file, store.state, status, store.events.emit, clocks.wall)
        self._watch = ClockWatch(store.db, store.queue, store.events, clocks)
        self.checkpoint = Checkpoint(
            db=store.db,
            queue=store.queue,
            days=lambda: settings().checkpoint_days,
            write_report=Reporter(settings, store, clocks.wall).of_span,
            clock=clocks.wall,
            steady=self._watch.steady,
            monotonic=clocks.monotonic,
        )
        store.state.with_each_commit(
            lambda conn: renew_review_debt(store.queue.transaction(conn), settings().review_debt)
        )
        self.outlook = OutlookWatch(settings, store, clocks)
        causes = {**_causes(settings, store.state, clocks.wall), PauseSource.PROGRAM: exchanged}
        self._conditions = [Condition(queue=store.queue, source=each, reason=causes[each]) for each in causes]
        self._backup = Backup(
            settings().db_path,
            settings().backups_dir,
            clocks.wall,
            lambda: (settings().backups_keep, settings().backups_daily, 2 * settings().database_max_mb << 20),
            store.events.emit,
        )
        self.scheduler = Scheduler(self._jobs(), store.events.emit, monotonic=clocks.monotonic, sleep=sleep)

    def _jobs(self) -> list[PeriodicJob]:
        """List all jobs; add new jobs here."""
        hourly_s = self._settings().state_interval_s
        return [
            PeriodicJob(name="clock", every_s=CLOCK_S, run=self._watch.look),
            PeriodicJob(name="last time seen", every_s=NOTE_S, run=self._watch.note),
            PeriodicJob(name="questions", every_s=_questions_s(self._settings()), run=self._assume),
            PeriodicJob(name="checkpoint", every_s=LOOK_S, run=self.checkpoint.look),
            PeriodicJob(name="state", every_s=hourly_s, run=self._state.save),
            *(PeriodicJob(name=f"hold: {each.source}", every_s=LOOK_S, run=each.look) for each in self._conditions),
            PeriodicJob(name="backup", every_s=hourly_s, run=self._backup.make, first_s=self._backup.find_first_s()),
        ]

    def prepare_reload(self, settings: Settings) -> Callable[[], None]:
        """Prepare the change of the jobs' intervals (an `app.reload.ReloadHook`).

        Everything else in this class reads the settings each time.
        """

        def apply() -> None:
            for name in HOURLY:
                self.scheduler.pace(name, settings.state_interval_s)
            self.scheduler.pace("questions", _questions_s(settings))

        return apply

    async def take_over(self) -> None:
        """Recover the state of the last run and begin the pauses that apply, before the API serves any request.

        First the last run's clock is compared with the current one, then the last run's tasks are returned to the
        queue.
        """
        seen, before = clock_seen.last_seen(self._store.db.reader()), self._state.last_run()
        await self._watch.begin()
        left = await asyncio.wrap_future(self._store.queue.recover())
        self.last_run = how_it_ended(before, seen, [task.id for task in left if task.status not in ENDED])
        await self.checkpoint.begin_if_due()
        for each in self._conditions:
            await self.scheduler.do(f"hold: {each.source}", each.look)

    async def close(self) -> None:
        """Run the final jobs, after the last task has stopped.

        A job that fails is reported and the others still run.
        """
        await self.scheduler.do("last time seen", self._watch.note)
        await self.scheduler.do("backup", partial(self._backup.make, STOP_BACKUP_S))
        await self.scheduler.do("state", lambda: self._state.save(clean=True))

    async def _assume(self) -> None:
        """Let tasks continue with their own assumptions if their question was not answered in time."""
        before = self._clock() - timedelta(seconds=self._settings().clarify_wait_s)
        await asyncio.wrap_future(self._store.queue.assume(before))


def _questions_s(settings: Settings) -> float:
    """Return the seconds between two checks for overdue questions; never more than the time limit of a question."""
    return max(1.0, min(QUESTIONS_S, settings.clarify_wait_s))


def _causes(settings: Callable[[], Settings], state: StateStore, clock: Clock) -> Mapping[PauseSource, Reason]:
    """Return the reasons of the pauses that begin and end automatically."""
    return {
        PauseSource.REVIEW: in_debt(state, lambda: settings().review_debt),
        PauseSource.QUIET: at_quiet_hours(lambda: settings().quiet_hours, clock),
        PauseSource.BATTERY: on_battery(lambda: settings().pause_on_battery),
    }

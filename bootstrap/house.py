"""The house-keeping of a daemon, put together: what is looked after, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta

from bootstrap.reporting import Reporter
from bootstrap.store import Store
from config import Settings
from core.clock import Clock, Clocks
from core.queueing import PauseSource
from core.states import ENDED
from core.status import DaemonStatus
from db import clock_seen
from db.state_store import StateStore
from maintenance.backup import Backup
from maintenance.checkpoint import Checkpoint
from maintenance.clock_watch import ClockWatch
from maintenance.conditions import Condition, Reason, at_quiet_hours, in_debt, on_battery
from maintenance.scheduler import Chore, Housekeeper, Sleep
from maintenance.state_keeper import StateKeeper, told
from taskqueue.pauses import renew_review_debt

LOOK_S = 2.0
"""How often is looked for what an owner waits for, such as a checkpoint."""
HOURLY = ("state", "backup")
QUESTIONS_S = 30.0
"""How often is looked at most for questions that nobody has answered in time."""
CLOCK_S, NOTE_S = 5.0, 300.0
"""How often the clocks are compared, and how often the time is noted for the next start."""


class House:
    """Looks after the daemon: state by the hour, backups, checkpoints.

    Args:
        settings: what holds now; asked again where a setting may change while the daemon runs.
        store: the database and its rooms.
        status: what the daemon says about itself.
        clocks: all clocks of the machine.
        sleep: waits for the next chore.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: Store,
        status: Callable[[], DaemonStatus],
        clocks: Clocks,
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
        causes = _causes(settings, store.state, clocks.wall)
        self._conditions = [Condition(queue=store.queue, source=each, reason=causes[each]) for each in causes]
        self._backup = Backup(
            settings().db_path,
            settings().backups_dir,
            clocks.wall,
            lambda: (settings().backups_keep, settings().backups_daily),
            store.events.emit,
        )
        self.keeper = Housekeeper(self._chores(), store.events.emit, monotonic=clocks.monotonic, sleep=sleep)

    def _chores(self) -> list[Chore]:
        """All chores; a new one gets its line here."""
        hourly_s = self._settings().state_interval_s
        return [
            Chore(name="clock", every_s=CLOCK_S, run=self._watch.look),
            Chore(name="last time seen", every_s=NOTE_S, run=self._watch.note),
            Chore(name="questions", every_s=_questions_s(self._settings()), run=self._assume),
            Chore(name="checkpoint", every_s=LOOK_S, run=self.checkpoint.look),
            Chore(name="state", every_s=hourly_s, run=self._state.save),
            *(Chore(name=f"hold: {each.source}", every_s=LOOK_S, run=each.look) for each in self._conditions),
            Chore(name="backup", every_s=hourly_s, run=self._backup.make),
        ]

    def take(self, settings: Settings) -> Callable[[], None]:
        """Go on under other settings (an `bootstrap.reload.Taker`); what is not done here asks for them each time."""

        def put() -> None:
            for name in HOURLY:
                self.keeper.pace(name, settings.state_interval_s)
            self.keeper.pace("questions", _questions_s(settings))

        return put

    async def take_over(self) -> None:
        """Take over what the last run left, and hold back what must not begin: before anything can be asked of us.

        Its clock is compared with ours first, then its tasks are given back.
        """
        seen, before = clock_seen.last_seen(self._store.db.reader()), self._state.last_run()
        await self._watch.begin()
        left = await asyncio.wrap_future(self._store.queue.recover())
        self.last_run = told(before, seen, [task.id for task in left if task.status not in ENDED])
        await self.checkpoint.begin_if_due()
        for each in self._conditions:
            await self.keeper.do(f"hold: {each.source}", each.look)

    async def close(self) -> None:
        """What is done last, when nothing runs any more; a part that fails is told and ends no other."""
        await self.keeper.do("last time seen", self._watch.note)
        await self.keeper.do("backup", self._backup.make)
        await self.keeper.do("state", lambda: self._state.save(clean=True))

    async def _assume(self) -> None:
        """Go on with what is assumed where a question has waited long enough."""
        before = self._clock() - timedelta(seconds=self._settings().clarify_wait_s)
        await asyncio.wrap_future(self._store.queue.assume(before))


def _questions_s(settings: Settings) -> float:
    """A wait that is shorter than the pause between two looks is kept to as well."""
    return max(1.0, min(QUESTIONS_S, settings.clarify_wait_s))


def _causes(settings: Callable[[], Settings], state: StateStore, clock: Clock) -> Mapping[PauseSource, Reason]:
    """The holds that come and go by themselves."""
    return {
        PauseSource.REVIEW: in_debt(state, lambda: settings().review_debt),
        PauseSource.QUIET: at_quiet_hours(lambda: settings().quiet_hours, clock),
        PauseSource.BATTERY: on_battery(lambda: settings().pause_on_battery),
    }

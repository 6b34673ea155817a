"""The life cycle of the daemon, from taking the lock to writing the last log line.

The start follows the dependencies: lock, database, recovery, server, sandbox and workers. The stop uses the reverse
order, and drains running tasks or returns them to the queue in between. The workers use the event loop of the main
thread. The web server has its own thread and event loop, and the watcher of `tasks.yaml` has its own thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from nightshift.app import extras
from nightshift.app.commit_actions import CommitActions, make_commit_services
from nightshift.app.forges import connections_of, forge_hook, forge_job, open_poller
from nightshift.app.hub import HubMember, open_hub
from nightshift.app.maintenance import Cleanup, Maintenance, sweep_orphans
from nightshift.app.notices import notification_jobs
from nightshift.app.reload import LiveSettings, ReloadHook
from nightshift.app.services import Services
from nightshift.app.settings_service import settings_port
from nightshift.app.store import StoreServices, notices, open_store, watch_database
from nightshift.app.terminal import startup_message, status_line
from nightshift.app.web import Actions, entrance, open_web
from nightshift.attempt import evidence
from nightshift.attempt.branch_integration import BranchIntegrator
from nightshift.attempt.pool import TaskExecutor
from nightshift.attempt.recovery import finish_landed
from nightshift.attempt.revert import Reverter
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.sweep import Sweep
from nightshift.attempt.verify import Verification
from nightshift.attempt.verifying import Verifying
from nightshift.attempt.workers import wait
from nightshift.config.load import Settings, load_access, service_manager, settings_at
from nightshift.config.models import PromptSettings
from nightshift.config.reloaded import Reloaded
from nightshift.core.clock import Clocks
from nightshift.core.errors import ConfigError, UnknownWorker
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.hub import NodeState
from nightshift.core.status import DaemonStatus, ModelStatus, Restart, lacks_model
from nightshift.core.tasks.queueing import PauseState
from nightshift.core.tasks.states import DaemonState
from nightshift.core.version import VERSION
from nightshift.maintenance import side_threads
from nightshift.maintenance.conditions import with_ends
from nightshift.maintenance.health import Vitals
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.maintenance.program_files import can_start
from nightshift.maintenance.scheduler import PeriodicJob, Sleep
from nightshift.maintenance.service_manager import ServiceManagerLink, Watchdog
from nightshift.maintenance.side_threads import SideThread, SideThreads
from nightshift.queue.intake.inbox import Inbox
from nightshift.queue.intake.watcher import Watcher
from nightshift.queue.status import INBOX_NOTICES, INBOX_TASKS, read_stored_status
from nightshift.remote.forges.poller import Poller
from nightshift.server.serving.host import Host

log = logging.getLogger("nightshift")
# Maximum number of threads for blocking calls; threads are created when needed. Some calls wait for a lock or a remote,
# and must not delay other calls. The default of asyncio depends on the number of processors; with two processors it is
# only six threads.
THREADS = 64
# Seconds that landings have to finish after the time for draining is over; then git is stopped.
LANDING_S = 2.0
# Seconds until the sandboxes are checked again. The first value applies if no sandbox works, the second if the check
# only timed out.
SANDBOX_AGAIN_S, SANDBOX_LATE_S = 60.0, 15.0
# Seconds between two checks whether the daemon can be restarted with its new files.
RESTART_LOOK_S = 30.0


class Daemon:
    """A daemon on one home. `serve` runs until the end; a signal handler of its event loop may call `stop`."""

    def __init__(
        self,
        settings: Settings,
        *,
        clocks: Clocks | None = None,
        sleep: Sleep = asyncio.sleep,
        show: Callable[[str], None] = print,
        restarts_itself: bool = False,
    ) -> None:
        self._restarts_itself, self.is_to_restart, self._change = restarts_itself, False, ""
        self._live, self._show = LiveSettings(settings, lambda: settings_at(settings)), show
        self._clocks, self._sleep = clocks or Clocks(), sleep
        self._clock = self._clocks.wall
        self._began = self._clocks.monotonic()
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()
        self._up, self._hung_up = asyncio.Event(), asyncio.Event()
        self._life = DaemonState.STARTING
        self._manager = service_manager()
        self._link = ServiceManagerLink(self._manager.socket)
        self._store: StoreServices
        self._events: Emitter
        self._vitals: Vitals
        self._services: Services
        self._reverter: Reverter
        self._integrator: BranchIntegrator
        self._verifying: Verifying
        self._executor: TaskExecutor | None = None
        self._sweep: Sweep
        self._inbox: Inbox | None = None
        self._watcher: Watcher
        self._maintenance: Maintenance
        self._poller: Poller
        self._side_threads: SideThreads
        self._hub: HubMember | None = None

    def stop(self) -> None:
        """Drain running tasks and end; a second call ends the daemon at once."""
        (self._at_once if self._asked.is_set() else self._asked).set()

    async def _restart_when_idle(self) -> None:
        """Stop for a restart if the program's files were replaced, the new files can be loaded, and nothing runs."""
        before, self._change = self._change, self._services.files.find_change()
        is_complete = bool(before) and before == self._change
        if is_complete and not self._busy() and await asyncio.to_thread(can_start):
            self.is_to_restart = True
            self._asked.set()

    def _give_up(self) -> None:
        """End at once, because the database can no longer be written."""
        self._asked.set()
        self._at_once.set()

    def reload_soon(self) -> None:
        """Read the settings and tasks.yaml again as soon as the daemon serves; faults are reported in the log."""
        self._hung_up.set()

    @property
    def _settings(self) -> Settings:
        return self._live.now

    async def serve(self) -> None:
        """Start, serve until `stop` is called, and end cleanly.

        Raises:
            AlreadyRunning: another daemon works on this home.
            NightshiftError: something that the daemon needs is missing; the message names it.
        """
        with ExitStack() as stack:
            self._settings.make_folders()
            stack.enter_context(InstanceLock(self._settings.lock_file, self._settings.db_lock_file))
            self._store = open_store(self._settings, stack, self._clock)
            self._events = Emitter(self._store.events.emit)
            loop = asyncio.get_running_loop()
            loop.set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="blocking"))
            watch_database(self._store, lambda: loop.call_soon_threadsafe(self._give_up))
            self._vitals = Vitals(self._store.db)
            self._side_threads = SideThreads(self._store.events.emit, self._clock)
            self._services = Services(self._settings, self._store, stack, self._clock)
            self._maintenance = Maintenance(
                lambda: self._settings, self._store, self.status, self._clocks, self._services.files.find_change,
                sleep=self._sleep,
            )  # fmt: skip
            await finish_landed(self._services.recovery())
            await self._maintenance.take_over()
            await sweep_orphans(self._settings, self._store.events)
            self._poller = open_poller(lambda: self._settings, self._store, self._services, stack, self._clock)
            self._add_jobs()
            commit_services = make_commit_services(self._settings, self._store, self._services)
            self._reverter, self._integrator = Reverter(commit_services), BranchIntegrator(commit_services)
            host = self._open_web(stack, loop)
            self._hub = await asyncio.to_thread(self._open_hub, host, stack)
            attempt_services = await self._services.prepare()
            if attempt_services is not None:
                self._make_pool(attempt_services)
            try:
                await self._work(host, stack)
            finally:
                await self._poller.aclose()
                await self._services.aclose()
        self._life = DaemonState.STOPPED

    def _add_jobs(self) -> None:
        """Add the periodic jobs that need more than the database."""
        scheduler, store, services = self._maintenance.scheduler, self._store, self._services
        scheduler.add(Cleanup(lambda: self._settings, store, services, self._clock).jobs())
        scheduler.add([forge_job(self._poller)])
        scheduler.add([PeriodicJob(name="side threads", every_s=side_threads.LOOK_S, run=self._side_threads.look)])
        if self._restarts_itself:
            scheduler.add([PeriodicJob(name="restart", every_s=RESTART_LOOK_S, run=self._restart_when_idle)])
        scheduler.add(notification_jobs(lambda: self._settings, store, services.models.status, self._clock))

    def _open_web(self, stack: ExitStack, loop: asyncio.AbstractEventLoop) -> Host:
        commit_actions = CommitActions(self._reverter, self._integrator, loop)
        self._verifying = Verifying(self._verification, self._store.events, loop, self._clock)
        host = open_web(
            lambda: self._settings,
            self._store,
            self.status,
            self._vitals,
            Actions(
                commit_actions=commit_actions,
                restart=self._restarts(loop),
                check_models=self._checks(loop),
                verifying=self._verifying,
                forge_hook=forge_hook(lambda: self._settings, self._poller),
            ),
            settings_port(self._live, self._up.wait, self._reload, self._store.mask, self._clock),
            self._services,
            stack,
        )
        stack.callback(commit_actions.stop)
        self._side_threads.add(SideThread(name="The web server", is_alive=lambda: host.is_alive, revive=host.start))
        return host

    def _open_hub(self, host: Host, stack: ExitStack) -> HubMember | None:
        """Join the hub that the settings name; return None if they name none.

        The hub's packages are installed if that is allowed.
        """
        if self._settings.hub_url is None:
            return None
        self._services.extras.ensure("hub")
        member = open_hub(self._settings, self._store, self._services, self._node_state, lambda: host.url, stack)
        if member:
            self._services.landing = member.landing
            if member.budget:
                self._services.models.share_budget(member.budget)
        return member

    def _hub_notice(self) -> str:
        """Return why this node works without its hub; empty if the hub works or no hub is configured."""
        if self._hub is None or not (trouble := self._hub.dispatcher.trouble):
            return ""
        return f"This node works without its hub: {trouble}. Shared tasks wait; local tasks continue."

    def _node_state(self) -> NodeState:
        """Describe this node for the hub; may be called on any thread."""
        paused = self._store.queue.pause_state().paused
        takes = self._life is DaemonState.RUNNING and self._executor is not None and not paused
        slots = self._settings.worker_count if self._executor else 0
        return NodeState(takes=takes, slots=slots, says=lambda: self.status().overall.text)

    def _verification(self, repo: str) -> Verification:
        """Return an object that verifies a repository's commits.

        It uses the daemon's sandbox as soon as the sandbox exists.
        """
        key = evidence.read_key(self._settings.seal_file)
        return Verification(self._services.git, repo, self._services.open_suite, key)

    def _restarts(self, loop: asyncio.AbstractEventLoop) -> Callable[[str], Future[Restart]]:
        """Return the function with which the server restarts a worker by name.

        Its future fails with the same errors as `TaskExecutor.restart`.
        """

        async def restart(name: str) -> Restart:
            if self._executor is None:
                raise UnknownWorker(name, ())
            return await self._executor.restart(name)

        return lambda name: asyncio.run_coroutine_threadsafe(restart(name), loop)

    def _checks(self, loop: asyncio.AbstractEventLoop) -> Callable[[], Future[Sequence[ModelStatus]]]:
        """Return the function with which the server probes the models at once."""
        models = self._services.models

        async def check() -> Sequence[ModelStatus]:
            statuses = await models.probe(sandboxed=False)
            models.look_soon()  # `watch` then releases the tasks that wait for a model that is available again
            return statuses

        return lambda: asyncio.run_coroutine_threadsafe(check(), loop)

    async def _work(self, host: Host, stack: ExitStack) -> None:
        await self._reverter.recover()
        await self._integrator.recover()
        self._open_inbox(stack)
        self._life = DaemonState.RUNNING
        self._live.serve(self._reload_hooks(), self._events)
        self._up.set()
        with contextlib.suppress(ConfigError):  # the file has changed since the start; the next read reports the error
            await asyncio.to_thread(load_access, self._settings.access.places)
        gc.collect()
        gc.freeze()  # the libraries' objects stay until the end, so the garbage collector need not scan them again
        before = self._maintenance.last_run
        self._events.emit(
            Kind.DAEMON_STARTED, f"version {VERSION}, process {os.getpid()}, {host.url}. {before}".rstrip(". ")
        )
        self._show(startup_message(self.status(), host.url, before, entrance(self._settings)))
        async with asyncio.TaskGroup() as group:
            side = [
                group.create_task(self._maintenance.scheduler.run()),
                group.create_task(self._services.models.watch(self._store.queue.models_back)),
                group.create_task(self._reload_on_hangup()),
            ]
            pool = group.create_task(self._serve_tasks(stack, lambda task: side.append(group.create_task(task))))
            heartbeats = [group.create_task(self._vitals.beat()), group.create_task(self._watchdog().run())]
            self._link.ready()
            if self._hub:
                self._hub.dispatcher.start()
            await self._until_asked(pool)
            for task in side:
                task.cancel()
            await self._drain(pool)
            if self._hub:
                await asyncio.to_thread(self._hub.dispatcher.stop)
            await self._maintenance.close()
            for task in heartbeats:
                task.cancel()
        self._events.emit(Kind.DAEMON_STOPPED, "stopped")
        if (failure := self._store.db.write_failure) and failure.damage:
            raise failure.error

    def _busy(self) -> bool:
        return self._executor is not None and self._executor.busy

    def _make_pool(self, services: AttemptServices) -> None:
        self._executor = TaskExecutor(services, workers=self._settings.worker_count, lease_s=self._settings.lease_s)
        self._sweep = Sweep(services, self._settings.workspace, lambda: not self._busy())

    async def _serve_tasks(self, stack: ExitStack, beside: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Run the worker pool, and start the sweep (`attempt.sweep`) in the background by calling `beside`.

        While no sandbox works, tasks wait, and the sandboxes are checked again and again.
        """
        while self._executor is None:
            await wait(self._asked, SANDBOX_LATE_S if self._services.is_late else SANDBOX_AGAIN_S)
            if self._asked.is_set():
                return
            if (services := await self._services.prepare()) is not None:
                self._make_pool(services)
        executor, task = self._executor, asyncio.current_task()
        self._vitals.watch(executor, lambda: task is not None and not task.done())
        stack.callback(self._store.queue.on_wake(executor.wake_from(asyncio.get_running_loop())))
        beside(self._sweep.run())
        await executor.run()

    def _open_inbox(self, stack: ExitStack) -> None:
        path, state = self._settings.tasks_file, self._store.state

        def keep(notices: Sequence[str], tasks: Sequence[int]) -> None:
            state.set(INBOX_NOTICES, notices)
            state.set(INBOX_TASKS, tasks)

        task_ids = state.get(INBOX_TASKS) or ()
        inbox = self._inbox = Inbox(self._store.queue, self._store.events.emit, path.name, keep, task_ids)
        self._watcher = Watcher(path, inbox.take, inbox.refuse, self._inbox_died)
        stack.callback(self._watcher.stop)
        self._watcher.start()
        watched = f"The watcher of {path.name}"
        self._side_threads.add(
            SideThread(name=watched, is_alive=lambda: self._watcher.is_alive, revive=self._watcher.revive)
        )

    async def _reload_on_hangup(self) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            with contextlib.suppress(ConfigError):  # `LiveSettings` has already reported it
                await self._reload()

    async def _reload(self) -> Reloaded:
        await self._up.wait()
        self._link.reloading()
        self._watcher.reread()
        try:
            done = await self._live.reload()
        finally:
            self._link.ready()
        if set(done.changed) & PromptSettings.model_fields.keys():  # parked tasks may have a model or budget now
            await asyncio.wrap_future(self._store.queue.unpark())
        return done

    def _reload_hooks(self) -> tuple[ReloadHook, ...]:
        return (
            self._store.prepare_reload,
            self._services.prepare_models,
            self._services.prepare_reload,
            self._prepare_workers,
            self._maintenance.prepare_reload,
            self._prepare_forges,
        )

    @staticmethod
    def _prepare_forges(settings: Settings) -> Callable[[], None]:
        """Check that the connections to forges are valid; the poller reads them in its next round."""
        connections_of(settings)
        return lambda: None

    def _prepare_workers(self, settings: Settings) -> Callable[[], None]:
        def apply() -> None:
            if self._executor is not None and self._services.attempt_services is not None:
                self._executor.services = self._services.attempt_services
                self._sweep.renew(self._services.attempt_services)
                self._executor.resize(settings.worker_count)

        return apply

    async def _until_asked(self, pool: asyncio.Task[None]) -> None:
        """Wait until the daemon is asked to stop, or the worker pool fails."""
        asked = asyncio.ensure_future(self._asked.wait())
        await asyncio.wait({asked, pool}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()

    async def _drain(self, pool: asyncio.Task[None]) -> None:
        self._life, executor = DaemonState.DRAINING, self._executor
        self._link.stopping()
        self._verifying.stop()
        self._vitals.stop_watching()
        if executor is not None:
            if self._busy():
                self._show(f"finishing running tasks ({self._settings.drain_s:g} s at most); a second signal stops now")
            context = asyncio.ensure_future(executor.stop(self._settings.drain_s))
            hurried = asyncio.ensure_future(self._at_once.wait())
            await asyncio.wait({context, hurried}, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            await executor.stop(0)
            await context
        await asyncio.wait({pool}, timeout=LANDING_S)
        self._services.git.close()  # a push or a lock may block a thread, and so the process's end, for a minute
        await pool

    def status(self) -> DaemonStatus:
        """Return the daemon's current state; may be called from any thread."""
        services, optional, now = self._services, self._services.extras.statuses(), self._clock()
        stored = read_stored_status(self._store.db.reader(), now, self._store.state.count_saved_replies())
        outlook = self._maintenance.outlook(stored.queue)
        daemon_status = replace(
            stored,
            state=self._state(PauseState(reasons=stored.holds)),
            uptime_s=self._clocks.monotonic() - self._began,
            workers=self._executor.statuses() if self._executor else (),
            models=services.models.status(),
            budget=services.models.budget_spent(),
            holds=with_ends(stored.holds, self._settings.quiet_hours, now),
            next_checkpoint_at=self._maintenance.checkpoint.due_at(),
            sandbox=services.sandbox_name,
            sandbox_detail=services.sandbox_detail,
            embedder=services.embedder,
            workspace=str(self._settings.workspace),
            notices=(
                *services.notices,
                *extras.notices(optional),
                *self._live.notices,
                *notices(self._store, self._clock()),
                *(self._inbox.notices() if self._inbox else ()),
                *self._side_threads.notices,
                *filter(None, (self._hub_notice(),)),
            ),
            forges=self._poller.statuses(),
            pid=os.getpid(),
            extras=optional,
        )
        # There is no forecast without a model, because no task begins or ends then.
        return (
            daemon_status
            if lacks_model(daemon_status)
            else replace(daemon_status, forecast=outlook.line, forecast_range=outlook.range)
        )

    def _state(self, pause: PauseState) -> DaemonState:
        if self._life in {DaemonState.DRAINING, DaemonState.STOPPED}:
            return self._life
        is_starting = self._executor is None and (self._life is DaemonState.STARTING or self._services.is_late)
        return DaemonState.STARTING if is_starting and not pause.paused else pause.state

    def _watchdog(self) -> Watchdog:
        return Watchdog(
            self._link,
            self._manager.watchdog_s,
            faults=self._vitals.faults,
            describe=lambda: status_line(self.status()),
        )

    def _inbox_died(self, error: Exception) -> None:
        log.error("the watcher of tasks.yaml has ended and is started again: %s", error)
        text = f"the watcher of tasks.yaml has ended: {type(error).__name__}: {error}"
        self._events.emit(Kind.WORKER_ERROR, text, level=Level.ERROR)

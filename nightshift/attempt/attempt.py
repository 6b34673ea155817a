"""One attempt at a task: open the repository, walk the agent's phases, and hand a passing change to integration.

Recovery rests on two facts. First, each finished step is stored with its state before the next one begins, so an
attempt that died continues after its last stored step. Second, git is changed before the database. If an attempt died
after its commit but before the record of it, the next run finds the commit by its trailer and records it instead of
doing the work again.
"""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass, field, replace
from functools import partial

from nightshift.agent.kinds import asks_for_documents
from nightshift.agent.machine import FIRST, Machine
from nightshift.agent.services import AgentServices
from nightshift.attempt import landed_packages, subtasks
from nightshift.attempt.draft import LEAVES_DRAFT, leave_draft
from nightshift.attempt.environment import EnvironmentChoice
from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.limits import PausableTimeLimit, TaskBudget, TimedModel
from nightshift.attempt.opening import open_workspace, scope_of
from nightshift.attempt.preflight import SuiteCheck, choose_command
from nightshift.attempt.recovery import find_landed
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.shared_integration import SharedIntegration
from nightshift.attempt.tool_log import AttemptToolLog
from nightshift.attempt.trouble import find_lack, find_trouble
from nightshift.core.code.environments import Environment
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.errors import (
    BudgetSpent,
    CommandBlocked,
    GitError,
    NeedsApproval,
    NightshiftError,
    PlaceUnready,
    TimeUp,
)
from nightshift.core.events import BlockedCommandData, Emitter, Event, Kind, Level
from nightshift.core.ports import Model
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.change_checks import holding, package_subject
from nightshift.core.tasks.forking import begin, begin_with_draft
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.preflight import state_key
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.task import Limits, OwnerMessage, Spent, Task
from nightshift.queue import store as task_store
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit as LedgerEntry
from nightshift.verdict.held.holding import hold
from nightshift.verdict.languages.authoring import CodeReader
from nightshift.verdict.languages.repository_commands.find import find

_MOST_DEPENDENCIES, _MOST_BUILT_ON = 20, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """How an attempt ended, for the queue."""

    ending: Ending
    reason: str
    iterations: int = 0
    spent: Spent = field(default_factory=Spent)
    commit: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The starting point of a task's attempts; all attempts of a fork begin at the same commit."""

    model: str = ""
    """The model that is asked first; if empty, the settings decide."""
    state: AttemptState | None = None
    """The state to begin with: the state after a step of the forked task, or the state of a draft. None means a fresh
    state.
    """
    held: bool = False
    """True if a passing change stays on the task's branch until the owner integrates it."""


class Attempt:
    """One run of one task by one worker. The properties about its current activity may be read from any thread.

    Args:
        task: the claimed task.
        services: the services of an attempt.
        worker: the name of the worker, used in events.
    """

    def __init__(self, task: Task, services: AttemptServices, worker: str) -> None:
        self.task, self.services = task, services
        self.events = Emitter(self._emit).bind(task_id=task.id, attempt=task.attempt, worker=worker)
        self.limits: Limits = task.spec.limits.over(services.defaults.limits)
        self._repository_settings, self._test_paths = RepositorySettings(), tuple[str, ...]()
        self._agent = services.defaults.agent
        self.last_line = ""
        self._state: AttemptState | None = None
        self._held, self._origin = HeldOut(), Origin()
        self._step_began = services.clock()
        self._time: PausableTimeLimit | None = None
        self._integration: Integration | None = None
        self._recorded: Landed | None = None
        self._budget = TaskBudget(task, self.limits, services)
        self._ledger = CommitLedger(services.db, services.events)
        self._environments = EnvironmentChoice(self.task, services, self.events)

    @property
    def phase(self) -> Phase | None:
        """The running phase, as the dashboard shows it: CLARIFYING counts as PLANNING. None before the first phase."""
        phase = self._state.phase if self._state else None
        return Phase.PLANNING if phase is Phase.CLARIFYING else phase

    @property
    def iteration(self) -> int:
        """The number of the current try; 0 before the first one."""
        return self._state.iteration if self._state else 0

    def _emit(self, event: Event) -> None:
        self._say(event.message)
        self.services.events.emit(event)

    def _say(self, line: str) -> None:
        self.last_line = line or self.last_line

    async def run(self) -> AttemptResult:
        """Work until the task is committed or given up.

        Raises:
            Interruption: the attempt ends for a reason outside the work itself.
            NightshiftError: a part failed; another attempt may succeed.
        """
        await asyncio.to_thread(self._apply_repository_settings)
        time = self._time = PausableTimeLimit(self.limits.wall_s)
        try:
            async with time.limit():
                result = await self._until_ended(time)
        except TimeoutError:
            raise TimeUp(f"not done within {self.limits.wall_s:g} s (limits.wall_s, TASK_TIMEOUT)") from None
        except BudgetSpent as spent:
            raise self._budget.question(spent) from spent
        if self._state:
            solved = result.ending is Ending.COMMITTED
            await self.services.memory.conclude(self._state, self.task.id, solved=solved)
        return result

    def late_s(self, now: float) -> float:
        """Return the seconds since the attempt's time limit passed; 0 before that. `now` is monotonic."""
        return self._time.late_s(now) if self._time else 0.0

    @property
    def standing(self) -> Landed | None:
        """The commit that the records have for this attempt; None if there is none."""
        return self._integration.standing if self._integration else self._recorded

    def _read_standing(self) -> Landed | None:
        """Return the commit that an earlier run of this attempt recorded, or None; reads the database."""
        rows = self._ledger.page(1, task_id=self.task.id, drafts=False)
        row = rows[0] if rows and rows[0].attempt == self.task.attempt and not rows[0].reverted_by else None
        if row is None:
            return None
        return Landed(reason=row.subject, commit=row.commit, branch=row.branch, integrated=row.integrated)

    def ended(self, ending: Ending, reason: str, commit: str | None = None, branch: str | None = None) -> AttemptResult:
        """Return the result of an attempt that ends now. If a commit has landed, the ending is always COMMITTED."""
        state, standing = self._state, self.standing
        if standing and standing.integrated and ending is not Ending.COMMITTED:
            ending, reason = Ending.COMMITTED, f"{standing.reason}; it had landed already: {reason}"
        if standing and commit is None:
            commit, branch = standing.commit, standing.branch
        return AttemptResult(
            ending=ending,
            reason=reason,
            commit=commit,
            branch=branch,
            iterations=state.iteration if state else self.task.iterations,
            spent=self._sum_spent(state) if state else self.task.spent,
        )

    async def with_draft(self, result: AttemptResult) -> AttemptResult:
        """Return the result with the attempt's draft; if a draft was due but none was made, the reason says why.

        Raises:
            StoreError: the draft could not be entered into the ledger.
        """
        if result.ending not in LEAVES_DRAFT or result.commit:
            return result
        try:
            waiting, draft = await self._leave_draft()
        except GitError as error:
            return replace(result, reason=f"{result.reason}; no draft could be left: {error}")
        if waiting:
            return replace(result, commit=waiting.id, branch=waiting.branch)
        if draft is None:
            return replace(result, reason=f"{result.reason}; no draft is left: nothing was changed")
        return replace(result, branch=draft.branch)

    async def _leave_draft(self) -> tuple[Commit | None, LedgerEntry | None]:
        """Leave a draft, unless a finished commit of the task waits on its branch.

        Returns:
            The waiting commit or None, and the draft or None.
        """
        steps, task = self.services.steps, self.task
        state = self._state or await asyncio.to_thread(steps.last_work, task.id, task.attempt)
        if state is None:
            return None, None
        workspace = await asyncio.to_thread(self._open, state)
        if waiting := await asyncio.to_thread(self.services.git.find_commit, workspace, task.id):
            return waiting, None
        held = state.still_held(self._held)
        return None, await leave_draft(task, self.services, self.events, workspace, state, held)

    def _sum_spent(self, state: AttemptState) -> Spent:
        """Return a task's usage.

        Model calls come from the ledger and include lost replies; suite time comes from the state.
        """
        return replace(self._budget.spent, suite_s=state.spent.suite_s)

    def _apply_repository_settings(self) -> None:
        """Apply the owner's repository settings, which may have changed since the task was submitted."""
        self._repository_settings = self.services.read_repository_settings(self.task.spec)
        spec = self.services.widened(self._repository_settings.apply_to(self.task.spec))
        self.task, self.limits = replace(self.task, spec=spec), spec.limits.over(self.services.defaults.limits)
        self._budget = TaskBudget(self.task, self.limits, self.services)

    def _apply_found(self, workspace: Workspace) -> None:
        """Apply what an owner's repository declares about its tests, unless the task or the settings override it.

        A declared test command judges the task only if Nightshift's own test runners would find no tests.
        """
        if workspace.is_own:
            return
        declarations = find(workspace.tree)
        self._test_paths = declarations.choose_test_paths(self._repository_settings.test_paths)
        command = choose_command(workspace.tree, self.task.spec, declarations)
        if command is not None:
            self.task = replace(self.task, spec=replace(self.task.spec, test_command=command.words))
            text = f"the task is judged by {shlex.join(command.words)} ({command.location})"
            self.events.emit(Kind.REPOSITORY_READ, text[:500])

    async def _check_suite(self, workspace: Workspace, state: AttemptState) -> str:
        """Run the suite of an owner's repository before its first task.

        Returns:
            Why the task may not continue; empty if it may.

        Raises:
            NeedsApproval: no test can judge a change, and the owner has not decided whether to continue.
        """
        services, spec = self.services, self.task.spec
        check = SuiteCheck(
            repo=str(workspace.repo), tree=workspace.tree, spec=spec, test_paths=self._test_paths,
            environment=Environment(digest=state.environment, sources=state.environment_from),
            limits=self.limits.of_run(),
        )  # fmt: skip
        key = state_key(check.repo, spec.language)
        stored = services.state.get(key)
        if stored and stored["surroundings"] == check.surroundings and not stored["fault"]:
            return ""
        assert self._time, "an attempt runs under its limit"
        async with self._time.stopped():
            result = await check.run(services.suite, services.clock())
        await asyncio.wrap_future(services.state.set(key, result))
        self.events.emit(Kind.REPOSITORY_READ, f"before any change: {result.summary}"[:500])
        ask = result.ask
        answer = self._environments.answers().get(ask.subject)
        if not result.fault or answer or asks_for_documents(spec):
            return ""
        if answer is False:
            return result.fault
        raise NeedsApproval(result.fault, (ask,))

    def _check_command(self) -> None:
        """Refuse a test command that may never run, before the task costs anything."""
        spec = self.task.spec
        blocked = self.services.hooks.first(spec.test_command, spec.allow)
        if blocked is None:
            return
        data = BlockedCommandData(argv=list(blocked.argv[:40]), pattern=blocked.rule.partition(".")[2])
        text = f"The test command never runs: {blocked.rule}: {blocked.why}"
        self.events.emit(Kind.COMMAND_BLOCKED, text[:500], level=Level.WARNING, **data)
        raise CommandBlocked(f"{text} To allow it, give the task `allow: [{blocked.rule}]`.")

    async def _until_ended(self, time: PausableTimeLimit) -> AttemptResult:
        self._check_command()
        if why := self.services.unable(self.task.spec):
            return self.ended(Ending.REFUSED, why)
        origin = self._origin = await asyncio.to_thread(_origin, self.services, self.task)
        bound = await asyncio.to_thread(self._budget.open, origin.model)
        model = TimedModel(bound, time, self._forgive_crashes)
        stored = await asyncio.to_thread(self.services.steps.last_work, self.task.id, self.task.attempt) or origin.state
        repository_path = self.services.git.place_of(self.task.spec.repo)
        try:
            workspace = await asyncio.to_thread(self._open, stored)
        except GitError as error:
            if await asyncio.to_thread(find_trouble, error, repository_path):
                raise
            return self.ended(Ending.REFUSED, str(error))
        if why := await asyncio.to_thread(find_lack, repository_path):
            raise PlaceUnready(why)
        await asyncio.to_thread(self._apply_found, workspace)
        if landed_commit := await find_landed(self.task, self.services, workspace, held=origin.held):
            return self.ended(
                Ending.COMMITTED, "its commit was found after the restore", landed_commit.id, landed_commit.branch
            )
        self._recorded = await asyncio.to_thread(self._read_standing) if stored else None
        workspace, stored = await self._rejoin(workspace, stored)
        await self._hold_out(workspace)
        state = self._going_on(stored) if stored else self._new_state(workspace)
        if state.phase is not Phase.COMMIT:  # a change that is to be committed keeps its verdict's environment
            state = await self._with_environment(workspace, state)
        if not (stored or workspace.is_own) and (why := await self._check_suite(workspace, state)):
            return self.ended(Ending.REFUSED, why)
        self._state = state
        return await self._until_landed(workspace, model, state)

    async def _until_landed(self, workspace: Workspace, model: Model, state: AttemptState) -> AttemptResult:
        """Walk the phases and land a passing change; repeat if the target moved in a way that needs another try."""
        resumed = state.phase is Phase.COMMIT
        while True:
            state = await self._walk(workspace, model, state)
            workspace = await asyncio.to_thread(self.services.git.within, workspace, scope_of(self.task, state))
            if state.phase is Phase.ABANDON:
                return self.ended(state.ending or Ending.GAVE_UP, state.reason)
            held = state.still_held(self._held)
            is_shared = self.services.landing is not None and self.task.hub_fence is not None
            self._integration = (SharedIntegration if is_shared else Integration)(
                self.task, self.services, self.events, held=held, resumed=resumed, test_paths=self._test_paths,
                stays="it waits on its branch" if self._origin.held else "", standing=self.standing,
            )  # fmt: skip
            end = await self._integration.land(workspace, state)
            if isinstance(end, Landed):
                ending = Ending.COMMITTED if end.commit else Ending.NO_CHANGE
                return self.ended(ending, end.reason, end.commit, end.branch)
            state, resumed = replace(end.state, step_no=state.step_no + 1), False
            await self._store(Step(phase=Phase.COMMIT, outcome=Outcome.REDO, state=state, note=end.why))
            workspace = await asyncio.to_thread(self._open, state)
            state = await self._with_environment(workspace, state)

    async def _with_environment(self, workspace: Workspace, state: AttemptState) -> AttemptState:
        """Add the environment of the base to a state; a state about the whole own workspace stays unchanged."""
        if workspace.is_own and state.project is None:
            return state
        return state.within(await self._environment_of(workspace.tree))

    async def _environment_of(self, tree: Tree) -> Environment:
        """Return the environment of a tree, made if necessary.

        Making the environment does not count as the attempt's time, because later tasks use it too.
        """
        assert self._time, "an attempt runs under its limit"
        async with self._time.stopped():
            return await self._environments.of(tree)

    async def _walk(self, workspace: Workspace, model: Model, state: AttemptState) -> AttemptState:
        """Walk the phases, storing each step, until the change passed or was given up; return the last state.

        Raises:
            NeedsApproval: the owner must decide something first.
            Split: the task continues as subtasks.
        """
        if state.phase is Phase.COMMIT:
            return state
        context = await asyncio.to_thread(self._context, workspace)
        async for step in self._machine(workspace, model).steps(context, state):
            await self._store(step)
            state = step.state
        if state.phase is Phase.AWAITING_APPROVAL:
            _check_asks(context.within(state.project), state)
            raise NeedsApproval("; ".join(ask.question for ask in state.asks) or state.reason, state.asks)
        if state.phase is Phase.SPLIT:
            raise subtasks.split(self.task, state, self._budget.left)
        return state

    async def _rejoin(self, workspace: Workspace, stored: AttemptState | None) -> tuple[Workspace, AttemptState | None]:
        """Return the workspace and state with which the attempt continues.

        They differ from the given ones only if the task was split and its subtasks have ended.

        Raises:
            Split: the task must still wait, because subtasks are open, or because the daemon died before it submitted
                the subtasks.
        """
        if stored is None or stored.phase is not Phase.SPLIT:
            return workspace, stored
        own_subtasks = await asyncio.to_thread(self.services.queue.subtasks, self.task.id, self.task.attempt)
        if not subtasks.have_ended(own_subtasks):
            raise subtasks.split(self.task, stored, self._budget.left)
        workspace = await asyncio.to_thread(self._open, None)
        return workspace, subtasks.go_on(replace(stored, project=workspace.scope.project), workspace.base, own_subtasks)

    async def _hold_out(self, workspace: Workspace) -> None:
        """Choose the held-out tests, which no prompt shows.

        The choice depends only on the tests' text, so a resumed attempt holds out the same ones.
        """
        share = self.services.defaults.held_out_share
        paths = await asyncio.to_thread(workspace.tree.entries)
        self._held = await asyncio.to_thread(hold, self.task.spec, paths, share)

    def _open(self, stored: AttemptState | None) -> Workspace:
        """Open the task's workspace; reads the database."""
        needed = self.task.spec.depends_on[:_MOST_DEPENDENCIES]
        waiting = (entry for id_ in needed for entry in self._ledger.page(1, task_id=id_, integrated=False))
        return open_workspace(self.services.git, self.task, self._repository_settings.target, stored, waiting)

    def _new_state(self, workspace: Workspace) -> AttemptState:
        return AttemptState(
            phase=FIRST,
            base=workspace.base,
            project=workspace.scope.project,
            attempt=self.task.attempt,
            change=dict(self.task.spec.files),
            spent=self.task.spent,
        )

    def _going_on(self, stored: AttemptState) -> AttemptState:
        """Return the state with which a resumed attempt continues.

        An attempt that waited for the owner returns to the phase that asked. If the daemon died before the questions
        were stored, the attempt waits again at once, without running that phase.
        """
        queue = self.services.queue
        asked = {each.ask.subject for each in queue.approvals(open_only=False, task_id=self.task.id)}
        asked |= holding(queue.repository_decisions(self.task.id), stored.project).keys()
        if stored.phase is not Phase.AWAITING_APPROVAL or {ask.subject for ask in stored.asks if ask.subject} - asked:
            return stored
        return replace(stored, phase=stored.held_in or FIRST, held_in=None, asks=())

    def _machine(self, workspace: Workspace, model: Model) -> Machine:
        services = AgentServices(
            model=model,
            suite=WithRegression(self.services.suite, self.services.imports, test_paths=self._test_paths),
            memory=self.services.memory,
            tree=workspace.tree,
            languages=CodeReader(),
            shell=self.services.shell,
            server_tools=self.services.server_tools,
            read_messages=self._read_messages,
            events=self.events,
            clock=self.services.clock,
            settings=self._agent,
            change_checks=self.services.change_checks,
            tool_log=AttemptToolLog(
                store=self.services.tools, fence=self.task.fence, worker=self.events.worker, say=self._say
            ),
            symbol_cache=self.services.symbol_cache,
            corpora=self.services.corpora,
            wrote=lambda path: self._ledger.holds_all(self.services.git.touching(workspace, path)),
            environment=self._environment_of,
            gauge=partial(self.services.models.gauge, wanted=self._origin.model),
            count_form=self.services.models.count_form,
        )
        return Machine(services)

    async def _read_messages(self) -> tuple[OwnerMessage, ...]:
        return self.services.queue.list_messages(self.task.id)  # takes too little time to need a thread

    def _context(self, workspace: Workspace) -> AttemptContext:
        spec, defaults = self.task.spec, self.services.defaults
        iterations = self.limits.iterations or 15
        decided = self.services.queue.approvals(open_only=False, task_id=self.task.id)
        subjects = {each.ask.subject: each.granted for each in decided if each.granted is not None and each.ask.subject}
        granted = frozenset(subject for subject, yes in subjects.items() if yes)
        return AttemptContext(
            task=self.task,
            review=defaults.review if spec.review is None else spec.review,
            audit=defaults.audit if spec.audit is None else spec.audit,
            clarify=defaults.clarify if spec.clarify is None else spec.clarify,
            split=subtasks.may_split(spec, defaults.split),
            iterations=iterations,
            warn_at=min(defaults.warn_at, iterations),
            held=self._held,
            whole_tree=not workspace.is_own,
            run_limits=self.limits.of_run(),
            granted=granted,
            denied=frozenset(subjects) - granted,
            decided=self._read_decisions(workspace),
            built_on=self._list_built_on() if workspace.is_own else (),
            answers={each.ask.subject: each.answer for each in decided if each.granted and each.answer},
        )

    def _list_built_on(self) -> tuple[str, ...]:
        """List the files that this task's dependencies changed, except tests; reads the database."""
        ids = self.task.spec.depends_on[:_MOST_DEPENDENCIES]
        entries = (entry for id_ in ids for entry in self._ledger.page(1, task_id=id_, drafts=False))
        paths = dict.fromkeys(file.path for entry in entries for file in entry.files or ())
        return tuple(path for path in paths if not is_test_path(path))[:_MOST_BUILT_ON]

    def _read_decisions(self, workspace: Workspace) -> dict[str | None, dict[str, bool]]:
        """Return the owner's decisions on the repository, for each project: subjects mapped to True (granted) or False.

        In the daemon's own workspace, packages that a project already uses count as granted.
        """
        landed = landed_packages.by_project(self.services.state) if workspace.is_own else {}
        decisions: dict[str | None, dict[str, bool]] = {
            project: dict.fromkeys(map(package_subject, packages), True) for project, packages in landed.items()
        }
        for project, answers in self.services.queue.repository_decisions(self.task.id).items():
            decisions[project] = decisions.get(project, {}) | answers
        named = set(map(package_subject, self.task.spec.packages))  # packages in the task override old decisions
        return {
            project: {each: yes for each, yes in by_subject.items() if each not in named}
            for project, by_subject in decisions.items()
        }

    async def _store(self, step: Step) -> None:
        """Store a step; the next step begins only after this method has returned."""
        now = self.services.clock()
        began, self._step_began, self._state = self._step_began, now, step.state
        self.last_line = step.note
        task = self.task
        saved = self.services.steps.save_step(
            task.id,
            task.attempt,
            task.fence,
            step,
            started_at=began,
            duration_s=(now - began).total_seconds(),
        )
        await asyncio.gather(asyncio.wrap_future(saved), self._note_progress(step.state))

    async def _forgive_crashes(self) -> None:
        """Record progress after a new reply, so that crashes are forgiven.

        Without this, a step with many calls during which the daemon is killed several times would count as crashing.
        """
        if self.task.crashes and self._state:
            await self._note_progress(self._state)

    async def _note_progress(self, state: AttemptState) -> None:
        spent, task = self._sum_spent(state), self.task
        noted = self.services.queue.progress(
            task.id, task.fence, iterations=state.iteration, spent=spent, project=state.project
        )
        await asyncio.wrap_future(noted)


def _origin(services: AttemptServices, task: Task) -> Origin:
    """Choose where a task's attempt starts: at a step of a forked task, at a draft, or afresh. Reads the database."""
    fork_origin = task_store.fork_origin(services.db.reader(), task.id)
    fork, digest = fork_origin or (None, "")
    if task.draft_attempt:
        left = services.steps.last_work(task.id, task.draft_attempt)
        state = left and begin_with_draft(left)
    else:
        left = services.steps.work(digest) if fork else None
        state = begin(left, fork) if left and fork else None
    first = state and replace(state, attempt=task.attempt, spent=task.spent)
    return Origin(model=fork.model, state=first, held=fork.held) if fork else Origin(state=first)


def _check_asks(context: AttemptContext, state: AttemptState) -> None:
    """Refuse to wait for decisions that the owner has already made: the task would come back at once, forever."""
    subjects = {ask.subject for ask in state.asks}
    if state.phase is Phase.AWAITING_APPROVAL and subjects and subjects <= context.granted | context.denied:
        raise NightshiftError(f"asked again for what its owner had decided: {', '.join(sorted(subjects))}")

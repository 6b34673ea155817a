"""Makes the services that the workers use, and finds out which sandbox and which models are available."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from nightshift.agent.services import AgentSettings, EditFormat
from nightshift.app.acp import AgentPlaces, prepare_agents
from nightshift.app.environments import SetupConsent, decisions_of, make_environments
from nightshift.app.extras import make_extras
from nightshift.app.models import chain_of, make_memory, make_models, prepare_models
from nightshift.app.repository_settings import RepositoryService
from nightshift.app.store import StoreServices
from nightshift.app.submission import choose_language_here, machine_check
from nightshift.app.suites import find_sandbox, make_checker, make_suite
from nightshift.attempt import evidence
from nightshift.attempt.recovery import RecoveryServices
from nightshift.attempt.services import AttemptServices, Defaults
from nightshift.attempt.verify import OpenedSuite
from nightshift.config.load import Settings
from nightshift.config.places import IS_CHECKOUT
from nightshift.core.clock import Clock
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.hub import LandingPort
from nightshift.core.ports import ChangeCheck, Sandbox
from nightshift.core.tasks.remarks import Gravity
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore, Language, Limits, TaskSpec
from nightshift.git.manager import GitManager
from nightshift.maintenance.program_files import ProgramFiles
from nightshift.models.base import BaseModelHandler
from nightshift.models.chain import phase_routes
from nightshift.models.gateway import ModelHandler
from nightshift.remote.mcp_client.client import ServerTools
from nightshift.remote.mcp_client.servers import McpServer, servers_of
from nightshift.sandbox.pool import Warmed, warm
from nightshift.sandbox.runtime import Runtime, list_installed_programs, open_runtime, prepare
from nightshift.storage.memory.store import LongTermMemory
from nightshift.verdict.checks.linters.check import LinterCheck
from nightshift.verdict.checks.pattern_check import PatternCheck
from nightshift.verdict.environments.dependency_check import DependencyCheck
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.languages.go.plan import refusal as go_refusal
from nightshift.verdict.languages.javascript.plan import refusal as javascript_refusal
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.shell import ShellRunner
from nightshift.verdict.suite_runs import SuiteRuns

STAGING = "staging"
"""Name of the folder of packed trees, below the daemon's state folder."""


def defaults(settings: Settings) -> Defaults:
    """Return the values for options that a task does not set."""
    return Defaults(
        limits=Limits(
            attempts=settings.max_retries,
            iterations=settings.max_iterations,
            wall_s=settings.task_timeout,
            model_calls=settings.task_model_calls,
            tokens=settings.task_tokens,
            cost_usd=settings.task_cost_usd,
            suite_s=settings.suite_timeout_s,
            memory_mb=settings.sandbox_memory_mb,
            cpus=settings.sandbox_cpus,
            pids=settings.sandbox_pids,
            work_mb=settings.sandbox_work_mb,
        ),
        warn_at=settings.warn_iterations,
        review=settings.enable_review,
        audit=settings.enable_audit,
        clarify=settings.enable_clarify,
        split=settings.enable_split,
        integrate=settings.git_integrate,
        integrate_self_tested=settings.integrate_self_tested,
        held_out_share=settings.held_out_share,
        environments=settings.environments,
        setup_scripts=settings.setup_scripts,
        agent=AgentSettings(
            prompt_tokens=settings.prompt_tokens,
            edit_format=EditFormat(settings.edit_format),
            explore=Explore(settings.explore),
            conversation_tokens=settings.conversation_tokens,
            explore_steps=settings.explore_steps,
            recall_limit=settings.recall_limit,
            review_blocks=frozenset(map(Gravity, settings.review_blocks)),
            audit_blocks=frozenset(map(Gravity, settings.audit_blocks)),
            review_rounds=settings.review_rounds,
            critical_left=settings.critical_left,
            change_tests=settings.change_tests,
            read_together=_one_model_reads(settings),
            clear_enough=settings.clear_enough,
        ),
    )


def servers_of_settings(settings: Settings) -> tuple[McpServer, ...]:
    """Return the MCP servers that the settings define.

    Raises:
        ConfigError: the definitions have faults; the message lists them.
    """
    tokens = settings.mcp_tokens
    return servers_of(settings.mcp_servers, lambda name: tokens[name].get_secret_value() if name in tokens else "")


def _one_model_reads(settings: Settings) -> bool:
    """Check whether the review and the audit use the same model."""
    asked = phase_routes(settings.phase_models)
    return settings.routing == "fixed" and asked.get(Phase.REVIEW) == asked.get(Phase.AUDIT)


def make_git(settings: Settings, store: StoreServices, clock: Clock) -> GitManager:
    """Make the git manager that the settings define."""
    return GitManager(
        workspace=settings.workspace,
        author=_author(settings),
        auto_push=settings.git_auto_push,
        remove_branches=settings.git_remove_branches,
        emit=store.events.emit,
        clock=clock,
        environ=settings.process_environment,
        home=evidence.home_id(evidence.read_or_make_key(settings.seal_file)),
    )


def _author(settings: Settings) -> Author:
    return Author(name=settings.git_author_name, email=settings.git_author_email)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxServices:
    """Services for making verdicts. They are found once and do not depend on the settings.

    Attributes:
        sandbox: runs untrusted code.
        runtime: the interpreter and the libraries inside the sandbox.
        layers: packages that tasks may use.
        environments: the environments that repositories declare.
        imports: caches the imports of files by their content.
    """

    sandbox: Sandbox
    runtime: Runtime
    layers: LayerStore
    environments: Environments
    imports: ImportCache


class Services:
    """Services that the workers need; `prepare` finds out which of them can be used.

    A temporary home, such as that of a benchmark's arm, uses the environments of its owner's home, and the decisions on
    setup scripts that the owner made there.

    Attributes:
        files: the program's own files, as they were at the start.
        models: the gateway to all models.
        memory: long-term memory.
        git: gives access to the repositories.
        repository_settings: the settings of each repository.
        extras: optional packages and their installer.
        prepared: set when `prepare` has ended, whatever its result.
        merge_locks: a lock for each repository, for integrations and reverts.
        attempt_services: the services of an attempt; None until a sandbox is found. Replaced when settings change.
        landing: lets only one node at a time move a shared branch; None if this machine belongs to no hub.
        layers: packages that tasks may use; None until a sandbox is found.
        environments: the environments that repositories declare; None until a sandbox is found.
        sandbox_name: the name of the sandbox in use; empty if there is none.
        sandbox_detail: the findings of the sandboxes' self-tests, as lines for the owner.
        is_late: True if the sandbox's self-test did not end in time.
        notices: sentences for the owner about missing or weak parts.
    """

    def __init__(
        self,
        settings: Settings,
        store: StoreServices,
        stack: ExitStack,
        clock: Clock,
        owner: Settings | None = None,
    ) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self.files = ProgramFiles(needed=(settings.runner_dir,) if IS_CHECKOUT else ())
        self._owner = owner
        self._runs: SuiteRuns | str = "the sandbox is being tested"
        self._place_agents: AgentPlaces = lambda: "the sandbox is being tested"
        self.extras = make_extras(settings, store.events.emit)
        self.models: ModelHandler = make_models(settings, store, clock, self._chain(settings))
        self.memory: LongTermMemory = make_memory(settings, store, self.extras, stack, clock)
        stack.callback(self.extras.close)  # close it before the memory, whose threads may wait for an extra
        self.git = make_git(settings, store, clock)
        self.landing: LandingPort | None = None
        self.prepared = asyncio.Event()
        self.merge_locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        stack.callback(self.git.close)
        self.repository_settings = RepositoryService(
            lambda: self._settings, store.db, self.git, store.events.emit, clock
        )
        servers_of_settings(settings)  # raises for invalid servers
        self._checker = make_checker(settings)
        store.queue.check_new = self._check_new(settings)
        store.queue.choose_language = self._choose_language
        self.sandbox_name, self.sandbox_detail, self.is_late = "", "being tested", False
        self.notices: tuple[str, ...] = ()
        self.attempt_services: AttemptServices | None = None
        self.layers: LayerStore | None = None
        self.environments: Environments | None = None
        self._warmed: Warmed | None = None
        self._sandbox_services: SandboxServices | None = None

    @property
    def embedder(self) -> str:
        """Description of the embedder in use, and of the reason why no other embedder is used."""
        return self.memory.description

    async def prepare(self) -> AttemptServices | None:
        """Check the sandboxes and the models, all at once, and make the services of attempts.

        Returns None if no untrusted code can be run here now. Then `notices` says what to install, and the method may
        be called again. `prepared` is set at the end in every case.

        Raises:
            GitError: git is missing or too old.
        """
        try:
            return await self._prepare()
        finally:
            self.prepared.set()

    async def open_suite(self) -> OpenedSuite:
        """Wait until `prepare` has ended; return the suite in the daemon's sandbox, or the reason why there is none."""
        await self.prepared.wait()
        if self.attempt_services is None:
            return OpenedSuite(suite=None, why_not=self.sandbox_detail)
        parts = self.attempt_services
        return OpenedSuite(suite=parts.suite, environments=parts.environments)

    async def _prepare(self) -> AttemptServices | None:
        if not IS_CHECKOUT:  # in a checkout, `make` has prepared the files
            await asyncio.to_thread(prepare, self._settings.runner_dir, list_installed_programs())
        runtime = open_runtime(self._settings.runner_dir, programs=list_installed_programs())
        choice, _, _ = await asyncio.gather(
            find_sandbox(self._settings, runtime, self._settings.state_dir, self.extras),
            self.models.probe(sandboxed=False),
            asyncio.to_thread(self.git.doctor),
        )
        self.sandbox_detail, self.is_late, self.notices = choice.report, choice.is_late, ()
        if choice.sandbox is None:
            self._runs = f"nothing can be run: {choice.report}"
            again = "It is tried again each minute."
            self.notices = (f"Nothing is executed, so no task is started: {choice.report}. {again}",)
            return None
        self.sandbox_name = choice.sandbox.name
        self._place_agents = cache(partial(prepare_agents, self._settings, runtime, choice.sandbox.name))
        self._warmed = await warm(choice.sandbox, runtime, size=self._settings.worker_count)
        self.sandbox_detail = _with_remark(choice.report, self._warmed.remark)
        self.attempt_services = self._attempt_services(self._warmed.sandbox, runtime)
        await self.models.probe(models=False)
        return self.attempt_services

    def prepare_models(self, settings: Settings) -> Callable[[], None]:
        """Prepare the models for new settings (an `app.reload.ReloadHook`).

        Raises:
            ConfigError: a backend is unknown, or selected but not configured.
        """
        return prepare_models(self.models, settings, self._store.mask, self._chain(settings))

    def prepare_reload(self, settings: Settings) -> Callable[[], None]:
        """Check new settings and prepare everything that is made from them (an `app.reload.ReloadHook`).

        Raises:
            ConfigError: the MCP servers or the checker's rules have faults; the message lists them.
        """
        servers_of_settings(settings)
        checker, check_new = make_checker(settings), self._check_new(settings)

        def apply() -> None:
            self._settings, self._checker = settings, checker
            self._store.queue.check_new = check_new
            self.git.renew(
                _author(settings), auto_push=settings.git_auto_push, remove_branches=settings.git_remove_branches
            )
            if self.attempt_services is not None and self._sandbox_services is not None:
                self.attempt_services = replace(
                    self.attempt_services,
                    defaults=defaults(settings),
                    suite=self._suite(self._sandbox_services),
                    hooks=checker.hooks,
                    widened=checker.policy.widened,
                    change_checks=self._change_checks(self._sandbox_services),
                )

        return apply

    def recovery(self) -> RecoveryServices:
        """Return the services with which recovery completes the records of a daemon that was killed."""
        store = self._store
        return RecoveryServices(
            git=self.git,
            queue=store.queue,
            state=store.state,
            steps=store.steps,
            memory=self.memory,
            clock=self._clock,
            mask=store.mask,
            read_repository_settings=self.repository_settings.settings_for,
        )

    async def aclose(self) -> None:
        """Close the models, and the warm sandboxes that wait for jobs."""
        self.extras.close()
        await self.models.aclose()
        if self._warmed:
            await self._warmed.aclose()

    def _check_new(self, settings: Settings) -> Callable[[TaskSpec], None]:
        """Return the check of a new task; the check first applies the owner's settings for the task's repository."""
        check = machine_check(settings)
        return lambda spec: check(self.repository_settings.settings_for(spec).apply_to(spec))

    def _choose_language(self, spec: TaskSpec) -> Language:
        base = spec.base or (self.repository_settings.base_of(spec.repo) if spec.repo else None)
        return choose_language_here(replace(spec, base=base), self._settings)

    def _attempt_services(self, sandbox: Sandbox, runtime: Runtime) -> AttemptServices:
        settings, store, imports = self._settings, self._store, ImportCache()
        layers = LayerStore(settings.packages_dir, runtime, environ=settings.process_environment, clock=self._clock)
        self.layers = layers
        owner, decision = self._owner, store.queue.decision
        consent = SetupConsent(
            settings=lambda: owner or self._settings,
            decision=decisions_of(owner.db_path) if owner else decision,
            sandbox=sandbox.name,
        )
        environments = self.environments = make_environments(
            settings, runtime, self._clock, consent, owner.environments_dir if owner else None
        )
        sandbox_services = self._sandbox_services = SandboxServices(
            sandbox=sandbox, runtime=runtime, layers=layers, environments=environments, imports=imports
        )
        self._runs = SuiteRuns(
            sandbox,
            runtime,
            settings.state_dir / "trials",
            mask=store.mask,
            imports=imports,
            layers=layers,
            environments=environments,
        )
        return AttemptServices(
            unable=lambda spec: javascript_refusal(spec, runtime.node) or go_refusal(spec, runtime.go),
            db=store.db,
            queue=store.queue,
            git=self.git,
            models=self.models,
            suite=self._suite(sandbox_services),
            shell=self._shell(sandbox_services),
            environments=environments,
            memory=self.memory,
            steps=store.steps,
            tools=store.tools,
            events=store.events,
            mask=store.mask,
            state=store.state,
            defaults=defaults(settings),
            clock=self._clock,
            seal_key=evidence.read_or_make_key(settings.seal_file),
            imports=imports,
            merge_locks=self.merge_locks,
            landing=self.landing,
            exchanged=self.files.find_change,
            hooks=self._checker.hooks,
            read_repository_settings=self.repository_settings.settings_for,
            widened=self._checker.policy.widened,
            server_tools=ServerTools(
                lambda: servers_of_settings(self._settings),
                self.extras.ensure,
                settings.process_environment,
                store.mask,
            ),
            change_checks=self._change_checks(sandbox_services),
        )

    def _suite(self, sandbox_services: SandboxServices) -> SuiteRunner:
        return make_suite(
            self._settings,
            sandbox_services.sandbox,
            sandbox_services.runtime,
            staging_dir=self._settings.state_dir / STAGING,
            layers=sandbox_services.layers,
            environments=sandbox_services.environments,
            hooks=self._checker.hooks,
            mask=self._store.mask,
            imports=sandbox_services.imports,
        )

    def _change_checks(self, sandbox_services: SandboxServices) -> tuple[ChangeCheck, ...]:
        packages = DependencyCheck(
            sandbox_services.layers,
            sandbox_services.runtime,
            allowed=self._settings.allowed_deps,
            emit=self._store.events.emit,
            clock=self._clock,
            environments=sandbox_services.environments,
        )
        checks: tuple[ChangeCheck, ...] = (self._checker.change_check, packages, PatternCheck(self.memory))
        return checks if self._settings.linters == "off" else (*checks, self._linters(sandbox_services))

    def _linters(self, sandbox_services: SandboxServices) -> LinterCheck:
        async def fetch(requirement: str) -> Mapping[str, str]:
            return (await sandbox_services.layers.satisfy([requirement])).packages

        return LinterCheck(
            self._shell(sandbox_services),
            self._checker.policy,
            limits=defaults(self._settings).limits.of_run(),
            fetch=fetch if self._settings.linters == "install" else None,
            clock=self._clock,
        )

    def _shell(self, sandbox_services: SandboxServices) -> ShellRunner:
        return ShellRunner(
            sandbox_services.sandbox,
            sandbox_services.runtime,
            self._settings.state_dir / STAGING,
            mask=self._store.mask,
            layers=sandbox_services.layers,
            environments=sandbox_services.environments,
        )

    def _chain(self, settings: Settings) -> tuple[BaseModelHandler, ...]:
        """Return the backends. They ask for the runner and the place of agents only when they need them."""
        agents = lambda: self._place_agents()  # noqa: E731, PLW0108  it is replaced once there is a sandbox
        return chain_of(settings, lambda: self._runs, self.extras.ensure, agents)


def _with_remark(report: str, remark: str) -> str:
    """Return the sandbox's report with a remark inserted in its first line, after the name of the sandbox."""
    name, _, findings = report.partition("\n")
    return f"{name}, {remark}\n{findings}" if remark else report

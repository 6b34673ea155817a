"""Builds the rooms that do the work, once, and finds out which sandbox and which models there are."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from agent.atlas import Shelf
from agent.tools import AgentSettings, EditFormat
from attempt import seal
from attempt.services import Defaults, Parts
from bootstrap.checker import make_checker
from bootstrap.models import make_memory, make_models, renewed_models
from bootstrap.repair import PROGRAMS
from bootstrap.store import Store
from bootstrap.suites import find_sandbox, make_suite
from bootstrap.symbol_cache import NAME, keep, kept
from config import Settings
from core.clock import Clock
from core.dependencies import ImportCache
from core.ports import Gate, Sandbox
from core.remarks import Gravity
from core.revisions import Author
from core.tasks import Limits
from environments.dependency_gate import DependencyGate
from environments.layers import LayerStore
from git_manager import GitManager
from languages.javascript import ability
from memory.pattern_gate import PatternGate
from memory.store import LongTermMemory
from model_handler import ModelHandler
from sandbox.runtime import Runtime, open_runtime
from sandbox.warming import Warmed, warmed
from test_runner import SuiteRunner
from verdict.suite_runs import Rounds


def defaults(settings: Settings) -> Defaults:
    """What holds for a task that says nothing else."""
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
        held_out_share=settings.held_out_share,
        agent=AgentSettings(
            prompt_tokens=settings.prompt_tokens,
            edit_format=EditFormat(settings.edit_format),
            recall_limit=settings.recall_limit,
            review_blocks=frozenset(map(Gravity, settings.review_blocks)),
            audit_blocks=frozenset(map(Gravity, settings.audit_blocks)),
            review_rounds=settings.review_rounds,
            clear_enough=settings.clear_enough,
        ),
    )


def make_git(settings: Settings, store: Store, clock: Clock) -> GitManager:
    """The repositories, as the settings want them used."""
    return GitManager(
        workspace=settings.workspace,
        author=_author(settings),
        auto_push=settings.git_auto_push,
        emit=store.events.emit,
        clock=clock,
        environ=settings.process_environment,
    )


def _author(settings: Settings) -> Author:
    return Author(name=settings.git_author_name, email=settings.git_author_email)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What verdicts are made with; found once and the same under all settings."""

    sandbox: Sandbox
    runtime: Runtime
    layers: LayerStore
    imports: ImportCache


class Rooms:
    """What the workers need; `prepare` finds out what can be used.

    Attributes:
        notices: sentences for the owner about what is missing or weak.
        layers: packages that tasks may use; None until a sandbox is found.
    """

    def __init__(self, settings: Settings, store: Store, stack: ExitStack, clock: Clock) -> None:
        self._settings, self._store, self._clock, self._stack = settings, store, clock, stack
        self._runs: Rounds | str = "the sandbox is being tested"
        self.models: ModelHandler = make_models(settings, store, clock, self._engine_runs)
        self.memory: LongTermMemory = make_memory(settings, store, stack, clock)
        self.git = make_git(settings, store, clock)
        self.prepared = asyncio.Event()
        self.merge_locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        stack.callback(self.git.close)
        self._checker = make_checker(settings)
        self.sandbox_name, self.sandbox_detail = "", "being tested"
        self.notices: tuple[str, ...] = ()
        self.parts: Parts | None = None
        self.layers: LayerStore | None = None
        self._warmed: Warmed | None = None
        self._bench: _Bench | None = None

    @property
    def embedder(self) -> str:
        """The embedder in use, and why not another."""
        return self.memory.description

    async def prepare(self) -> Parts | None:
        """Try the sandboxes and look for models, all at once, and put the parts together.

        None when nothing here can run untrusted code; `notices` says what to install. `prepared` is set at the end.

        Raises:
            GitError: git is missing or too old.
        """
        try:
            return await self._prepare()
        finally:
            self.prepared.set()

    async def _prepare(self) -> Parts | None:
        runtime = open_runtime(self._settings.runner_dir, programs=PROGRAMS)
        choice, _, _ = await asyncio.gather(
            find_sandbox(self._settings, runtime, self._settings.state_dir),
            self.models.probe(engine=False),
            asyncio.to_thread(self.git.doctor),
        )
        self.sandbox_detail = choice.report
        if choice.sandbox is None:
            self._runs = f"nothing can be run: {choice.report}"
            self.notices = (f"Nothing is executed, so no task is started: {choice.report}",)
            return None
        self.sandbox_name = choice.sandbox.name
        self._warmed = await warmed(choice.sandbox, runtime, size=self._settings.worker_count)
        self.sandbox_detail = _with_remark(choice.report, self._warmed.remark)
        shelf = await asyncio.to_thread(kept, self._settings.state_dir / NAME)
        self._stack.callback(keep, shelf, self._settings.state_dir / NAME)
        self.parts = self._parts(self._warmed.sandbox, runtime, shelf)
        await self.models.probe(models=False)
        return self.parts

    def take_models(self, settings: Settings) -> Callable[[], None]:
        """See `renewed_models` (an `bootstrap.reload.Taker`)."""
        return renewed_models(self.models, settings, self._store.mask, self._engine_runs)

    def take(self, settings: Settings) -> Callable[[], None]:
        """Check other settings and make what follows from them (an `bootstrap.reload.Taker`).

        Raises:
            ConfigError: lists the faults of the checker's rules.
        """
        checker = make_checker(settings)

        def put() -> None:
            self._settings, self._checker = settings, checker
            self.git.renew(_author(settings), auto_push=settings.git_auto_push)
            if self.parts is not None and self._bench is not None:
                self.parts = replace(
                    self.parts,
                    defaults=defaults(settings),
                    suite=self._suite(self._bench),
                    hooks=checker.hooks,
                    widened=checker.policy.widened,
                    gates=self._gates(self._bench),
                )

        return put

    async def aclose(self) -> None:
        """Let go of models and of sandboxes that wait for jobs."""
        await self.models.aclose()
        if self._warmed:
            await self._warmed.aclose()

    def _parts(self, sandbox: Sandbox, runtime: Runtime, shelf: Shelf) -> Parts:
        settings, store, imports = self._settings, self._store, ImportCache()
        layers = LayerStore(settings.packages_dir, runtime, environ=settings.process_environment, clock=self._clock)
        self.layers = layers
        bench = self._bench = _Bench(sandbox=sandbox, runtime=runtime, layers=layers, imports=imports)
        self._runs = Rounds(
            sandbox, runtime, settings.state_dir / "trials", mask=store.mask, imports=imports, layers=layers
        )
        return Parts(
            unable=lambda spec: ability.refusal(spec, runtime.node),
            db=store.db,
            queue=store.queue,
            git=self.git,
            models=self.models,
            suite=self._suite(bench),
            memory=self.memory,
            steps=store.steps,
            events=store.events,
            mask=store.mask,
            state=store.state,
            defaults=defaults(settings),
            clock=self._clock,
            seal_key=seal.kept_key(settings.seal_file),
            imports=imports,
            merge_locks=self.merge_locks,
            hooks=self._checker.hooks,
            widened=self._checker.policy.widened,
            gates=self._gates(bench),
            shelf=shelf,
        )

    def _suite(self, bench: _Bench) -> SuiteRunner:
        return make_suite(
            self._settings,
            bench.sandbox,
            bench.runtime,
            staging_dir=self._settings.state_dir / "staging",
            layers=bench.layers,
            hooks=self._checker.hooks,
            mask=self._store.mask,
            imports=bench.imports,
        )

    def _gates(self, bench: _Bench) -> tuple[Gate, ...]:
        packages = DependencyGate(
            bench.layers,
            bench.runtime,
            allowed=self._settings.allowed_deps,
            emit=self._store.events.emit,
            clock=self._clock,
        )
        return self._checker.gate, packages, PatternGate(self.memory)

    def _engine_runs(self) -> Rounds | str:
        """What runs the built-in engine's candidates, or why nothing can be run yet."""
        return self._runs


def _with_remark(report: str, remark: str) -> str:
    """The sandbox's report with a remark behind its name, which is the first line."""
    name, _, findings = report.partition("\n")
    return f"{name}, {remark}\n{findings}" if remark else report

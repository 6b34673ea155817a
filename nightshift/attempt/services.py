"""The services of an attempt, and the default settings for tasks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nightshift.agent.services import AgentSettings
from nightshift.agent.symbols import SymbolCache
from nightshift.agent.tools.corpus import CorpusCache
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.code.environments import EnvironmentStore
from nightshift.core.hub import LandingPort
from nightshift.core.ports import ChangeCheck, Memory, ServerTools, Shell, Suite
from nightshift.core.tasks.held_out import SHARE
from nightshift.core.tasks.repository_settings import RepositorySettings
from nightshift.core.tasks.task import Limits, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.models.gateway import ModelHandler
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.db.tool_store import ToolStore
from nightshift.verdict.checks.hooks.hooks import CommandHooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The settings that apply where a task does not set its own."""

    limits: Limits
    warn_at: int = 12
    review: bool = False
    audit: bool = False
    clarify: bool = False
    split: bool = False
    integrate: bool = False
    integrate_self_tested: bool = False
    """True if a commit that was judged only by the agent's own tests may land in an owner's repository."""
    held_out_share: float = SHARE
    environments: Literal["trust", "ask"] = "trust"
    """Whether packages that the owner's own commits declare are installed without a question (`trust`) or after one
    (`ask`).
    """
    setup_scripts: Literal["ask", "trust", "off"] = "ask"
    """Whether setup scripts in the owner's own commits may run: after a question (`ask`), without one (`trust`), or
    never (`off`).
    """
    agent: AgentSettings = field(default_factory=AgentSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptServices:
    """All services of an attempt; `app.services` makes them."""

    db: Database
    queue: QueueManager
    git: GitManager
    models: ModelHandler
    suite: Suite
    shell: Shell
    memory: Memory
    steps: StepStore
    tools: ToolStore
    events: EventLog
    mask: Masker
    state: StateStore
    defaults: Defaults
    clock: Clock = utc_now
    seal_key: bytes = b""
    """Key that seals the notes of this home; empty if the home has no key."""
    environments: EnvironmentStore | None = None
    """Makes the environments that repositories declare. If None, runs have only the packages that every run has."""
    imports: ImportCache = field(default_factory=ImportCache)
    server_tools: ServerTools | None = None
    """Tools of external servers that the owner configured; None if there are none."""
    change_checks: tuple[ChangeCheck, ...] = ()
    """The checks of a change before any of it runs."""
    hooks: CommandHooks = field(default_factory=CommandHooks)
    """Checks whether the task's own test command may run."""
    symbol_cache: SymbolCache = field(default_factory=SymbolCache)
    corpora: CorpusCache = field(default_factory=CorpusCache)
    read_repository_settings: Callable[[TaskSpec], RepositorySettings] = lambda _spec: RepositorySettings()
    """Returns the owner's settings for the repository of a task; reads the database."""
    widened: Callable[[TaskSpec], TaskSpec] = lambda spec: spec
    """Returns a task with the permissions that the settings grant in its repository."""
    unable: Callable[[TaskSpec], str] = lambda _spec: ""
    """Returns why this machine cannot judge a task; empty if it can."""
    exchanged: Callable[[], str] = lambda: ""
    """Returns a message if program files were replaced while the daemon runs; else empty. Code that is loaded after
    that would be of another version.
    """
    landing: LandingPort | None = None
    """Gives nodes their turns to move a shared branch; None if this machine belongs to no hub."""
    merge_locks: defaultdict[Path, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """One lock for each repository (its `.git` folder), held while its target branch is moved."""

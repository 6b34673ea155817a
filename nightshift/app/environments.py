"""Makes the environments of repositories: the folder that stores them, and a maker for each kind of part."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.app import packages
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.environments import MadeEnvironment
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.change_checks import setup_subject
from nightshift.queue import approvals
from nightshift.sandbox import bubblewrap, cgroups, interpreter, job_folders
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.runtime import Runtime, list_installed_programs, open_series
from nightshift.storage.db.database import Database
from nightshift.verdict.environments.go_modules import GoModules
from nightshift.verdict.environments.making import KEEP_MB, Environments, Maker, list_made
from nightshift.verdict.environments.npm import NpmMaker
from nightshift.verdict.environments.python import PythonMaker, Series
from nightshift.verdict.environments.services import ServicesMaker
from nightshift.verdict.environments.setup import SetupMaker
from nightshift.verdict.environments.store import FolderStore
from nightshift.verdict.environments.uv import Uv


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupConsent:
    """Decides which setup scripts may run.

    Attributes:
        settings: returns the current settings.
        decision: returns the owner's latest decision on a subject that the owner was asked about.
        sandbox: the short name of the sandbox in use.
    """

    settings: Callable[[], Settings]
    decision: Callable[[str], bool | None]
    sandbox: str

    def is_given(self, digest: str) -> bool:
        """Check whether a script with this digest may run."""
        settings = self.settings()
        if settings.setup_scripts == "off":
            return False
        allowed = settings.setup_scripts == "trust" or digest in settings.allowed_setups
        return allowed or self.decision(setup_subject(digest)) is True


def make_environments(
    settings: Settings,
    runtime: Runtime,
    clock: Clock = utc_now,
    consent: SetupConsent | None = None,
    folder: Path | None = None,
) -> Environments:
    """Make the environments of one home; without `consent` no setup script runs.

    The `folder` of another home can be used. Sharing a folder is safe, because an environment is identified by the
    digest of its inputs, and appears in the folder only when it is complete.

    Raises:
        SandboxError: the folder cannot be created.
    """
    store = FolderStore(folder or settings.environments_dir, keep_mb=KEEP_MB, clock=clock)
    environment_makers = makers(settings, runtime, store, consent)
    return Environments(store, environment_makers, consent.is_given if consent else lambda _digest: False)


def decisions_of(path: Path) -> Callable[[str], bool | None]:
    """Return a function that reads the owner's latest decision on a subject that the owner was asked about.

    The function returns None if there is no database.
    """

    def decision(subject: str) -> bool | None:
        if not path.exists():
            return None
        with Database(path, readonly=True) as database:
            return approvals.latest(database.reader(), subject)

    return decision


def list_environments(settings: Settings) -> list[MadeEnvironment]:
    """List the stored environments, the most recently used first; nothing is created or removed."""
    folder = settings.environments_dir
    return list_made(job_folders.where(folder)) if folder.parent.exists() else []


def makers(
    settings: Settings, runtime: Runtime, store: FolderStore, consent: SetupConsent | None = None
) -> tuple[Maker, ...]:
    """Return the makers of all kinds of parts; the first maker may choose another interpreter."""
    python = Path(sys.executable)

    def prepare() -> Mapping[str, str]:
        if not packages.get_uv(python, settings.process_environment):
            raise SandboxError("uv, which installs packages, is missing and could not be installed")
        return packages.uv_environ(python, settings.process_environment)

    others = interpreter.others(Path.home())
    opening = threading.Lock()

    def open_other(name: str) -> Runtime:
        with opening:  # two runs may need the same Python version for the first time at once
            return open_series(settings.runner_dir, others[name], list_installed_programs())

    series = Series(usual=runtime, others=tuple(others), open=open_other)
    wheels = PythonMaker(store, Uv(packages.uv_program(python), prepare), series)
    modules = GoModules(runtime.go, settings.process_environment)
    environ = settings.process_environment
    has_npm = runtime.node and shutil.which("npm", path=environ.get("PATH"))  # Debian can have node without npm
    # Setup scripts run only under bubblewrap, and only if the daemon's jobs use bubblewrap too.
    sandbox = strong_sandbox(settings) if consent and consent.sandbox == bubblewrap.NAME else None
    setup = SetupMaker(sandbox, packages.uv_program(python), series, wheels, environ)
    return (wheels, modules, *([NpmMaker(environ)] if has_npm else []), setup, ServicesMaker())


def strong_sandbox(settings: Settings) -> BubblewrapSandbox:
    """Return a sandbox for jobs that write to the disk and connect to hosts.

    Raises:
        SandboxError: a needed program is missing.
    """
    try:
        hierarchy = cgroups.find(nice=settings.sandbox_nice)
    except cgroups.CgroupError:
        hierarchy = None
    return BubblewrapSandbox(hierarchy, nice=settings.sandbox_nice)

"""Makes the environments of repositories: where they are kept, and what makes the parts of each kind."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from bootstrap import packages
from bootstrap.repair import PROGRAMS
from config import Settings
from core.clock import Clock, utc_now
from core.environments import MadeEnvironment
from core.errors import SandboxError
from environments.go_modules import GoModules
from environments.making import KEEP_MB, Environments, Maker, kept_in
from environments.npm import NpmMaker
from environments.python import PythonMaker, Series
from environments.services import ServicesMaker
from environments.store import FolderStore
from environments.uv import Uv
from sandbox import interpreter, job_folders
from sandbox.runtime import Runtime, open_series


def make_environments(settings: Settings, runtime: Runtime, clock: Clock = utc_now) -> Environments:
    """The environments of one home.

    Raises:
        SandboxError: their folder cannot be made.
    """
    store = FolderStore(settings.environments_dir, keep_mb=KEEP_MB, clock=clock)
    return Environments(store, makers(settings, runtime, store))


def made_environments(settings: Settings) -> list[MadeEnvironment]:
    """What is kept, used last first; nothing is made, nor swept."""
    folder = settings.environments_dir
    return kept_in(job_folders.where(folder)) if folder.parent.exists() else []


def makers(settings: Settings, runtime: Runtime, store: FolderStore) -> tuple[Maker, ...]:
    """One for each kind; the first one may give another interpreter."""
    python = Path(sys.executable)

    def prepare() -> Mapping[str, str]:
        if not packages.get_uv(python, settings.process_environment):
            raise SandboxError("uv, which installs packages, is not here and cannot be had")
        return packages.uv_environ(python, settings.process_environment)

    others = interpreter.others(Path.home())
    opening = threading.Lock()

    def opened(name: str) -> Runtime:
        with opening:  # two runs may be the first to want it
            return open_series(settings.runner_dir, others[name], PROGRAMS)

    series = Series(usual=runtime, others=tuple(others), open=opened)
    wheels = PythonMaker(store, Uv(packages.uv_program(python), prepare), series)
    modules = GoModules(runtime.go, settings.process_environment)
    environ = settings.process_environment
    has_npm = runtime.node and shutil.which("npm", path=environ.get("PATH"))  # Debian has the one without the other
    return (wheels, modules, *([NpmMaker(environ)] if has_npm else []), ServicesMaker())

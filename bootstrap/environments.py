"""Makes the environments of repositories: where they are kept, and what makes the parts of each kind."""

from __future__ import annotations

from config import Settings
from core.clock import Clock, utc_now
from environments.making import KEEP_MB, Environments, Maker
from environments.store import FolderStore
from sandbox.runtime import Runtime


def make_environments(settings: Settings, runtime: Runtime, clock: Clock = utc_now) -> Environments:
    """The environments of one home.

    Raises:
        SandboxError: their folder cannot be made.
    """
    store = FolderStore(settings.environments_dir, keep_mb=KEEP_MB, clock=clock)
    return Environments(store, makers(settings, runtime))


def makers(_settings: Settings, _runtime: Runtime) -> tuple[Maker, ...]:
    """One for each kind; the first one may give another interpreter."""
    return ()

"""The packages of landed work in the daemon's own workspace, so that its whole suite can be run again with them.

Each project has its own packages, since two projects may pin different versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from nightshift.core.tasks.projects import ROOT
from nightshift.storage.db.state_store import StateStore

_KEY = "landed_packages"


def remember(store: StateStore, project: str | None, packages: Mapping[str, str]) -> Future[None]:
    """Add packages of a project, name to version.

    The newest version of a name counts. Calls must not run concurrently.
    """
    return store.set(_KEY, {**by_project(store), project or ROOT: {**read_landed(store, project), **packages}})


def read_landed(store: StateStore, project: str | None) -> dict[str, str]:
    """Return all packages with which landed work of a project was judged; None or an empty name is the root."""
    return by_project(store).get(project or ROOT, {})


def by_project(store: StateStore) -> dict[str, dict[str, str]]:
    """Return the packages of each project, by its name."""
    return dict(store.get(_KEY) or {})

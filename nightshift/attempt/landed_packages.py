"""The packages that landed work in the daemon's own workspace needs, so that its whole suite can be run again.

They are stored for each project separately, since two projects may pin different versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from nightshift.core.tasks.projects import ROOT
from nightshift.storage.db.state_store import StateStore

_KEY = "landed_packages"


def remember(store: StateStore, project: str | None, packages: Mapping[str, str]) -> Future[None]:
    """Add packages to those of a project; `packages` maps names to versions. A new version replaces the stored one.

    Calls must not run concurrently.
    """
    return store.set(_KEY, {**by_project(store), project or ROOT: {**read_landed(store, project), **packages}})


def read_landed(store: StateStore, project: str | None) -> dict[str, str]:
    """Return all packages that landed work of a project needed when it was judged; None or "" means the root."""
    return by_project(store).get(project or ROOT, {})


def by_project(store: StateStore) -> dict[str, dict[str, str]]:
    """Return the packages of each project: the project's name is mapped to package names and their versions."""
    return dict(store.get(_KEY) or {})

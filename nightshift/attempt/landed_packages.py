"""The packages of what landed in the daemon's own workspace, so that its whole suite can be run again with them.

Each project has its own, since two may pin different versions of a package.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from nightshift.core.tasks.projects import ROOT
from nightshift.storage.db.state_store import StateStore

_KEY = "landed_packages"


def remember(store: StateStore, project: str | None, packages: Mapping[str, str]) -> Future[None]:
    """Add packages of a project, name to version.

    The newest version of a name counts. Not for two at the same time.
    """
    return store.set(_KEY, {**by_project(store), project or ROOT: {**read_landed(store, project), **packages}})


def read_landed(store: StateStore, project: str | None) -> dict[str, str]:
    """All packages that anything which landed in a project was judged with; None is the root, as an empty name is."""
    return by_project(store).get(project or ROOT, {})


def by_project(store: StateStore) -> dict[str, dict[str, str]]:
    """The packages of each project, by its name."""
    return dict(store.get(_KEY) or {})

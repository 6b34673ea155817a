"""The packages of what landed in the daemon's own repository, so that its whole suite can be run again with them."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

from db.state_store import StateStore

_KEY = "landed_packages"


def remember(store: StateStore, packages: Mapping[str, str]) -> Future[None]:
    """Add packages, name to version; the newest version of a name counts. Not for two at the same time."""
    return store.set(_KEY, {**known(store), **packages})


def known(store: StateStore) -> dict[str, str]:
    """All packages that anything which landed was judged with."""
    return dict(store.get(_KEY) or {})

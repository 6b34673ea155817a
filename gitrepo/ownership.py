"""Whose a repository is: in that of another user nothing is written, unless the owner says that it is safe.

Git itself refuses such a repository when it finds one by itself; told where it is, as here, it does not look. Objects
that one user adds lie in folders which the other can no longer add to, so his own git would fail afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitrepo.discovery import Place


def fault(place: Place, user_config: Sequence[Path]) -> str | None:
    """Say why a repository may not be worked in for the sake of its owner, or None when it may.

    Args:
        place: the repository.
        user_config: files of the user's own configuration, whose `safe.directory` counts as it does for git.
    """
    owner, user = place.common.stat().st_uid, os.geteuid()
    if owner == user or _is_safe(place.root, user_config):
        return None
    return (
        f"{place.root} belongs to another user (uid {owner}; Nightshift runs as uid {user}); run Nightshift as its "
        f"owner, or say that it is safe with `git config --global --add safe.directory {place.root}`"
    )


def _is_safe(root: Path, user_config: Sequence[Path]) -> bool:
    import git  # noqa: PLC0415  see gitrepo.discovery

    config = git.GitConfigParser([str(path) for path in user_config if path.exists()])
    said = config.get_values("safe", "directory", default="") if config.has_option("safe", "directory") else []
    return any(value in {"*", str(root)} for value in said)

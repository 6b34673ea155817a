"""A home in which version 0.1.0 worked, from a compressed file (`scripts/old_home.py` made it), and its model."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.seeded_home import FOREVER, SeedModel, replace_paths

ARCHIVE = Path(__file__).resolve().parent.parent / "data" / "home-0.1.0.tar.xz"
MADE_AT = "/srv/nightshift-home"
"""The folder that the archive was made in, as its database has it."""
DATABASE = "db/agent_logs.sqlite"
HOME, OWNED, FACTS = "home", "owned", "facts.json"
"""The archive: the home, a repository of its owner's, and the lists of the API just before the last kill."""


class OldHomeModel(SeedModel):
    """Knows the tasks of the home; jobs 3 and 22 are always wrong, and 20 until a fork of it."""

    def wrong_first_of(self, n: int) -> int:
        """How many replies to job `n` are wrong."""
        return {3: FOREVER, 20: 2, 22: FOREVER, 1: 1}.get(n, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldHome:
    """The unpacked home.

    `tasks` are ids by the names that `scripts/old_home.py` gave them, such as their status or ending. The lists have
    some fields of each task, commit, lesson and report, as the old version's API had them.
    """

    home: Path
    owned: Path
    tasks: Mapping[str, int]
    rows: Sequence[Mapping[str, Any]]
    commits: Sequence[Mapping[str, Any]]
    lessons: Sequence[Mapping[str, Any]]
    reports: Sequence[Mapping[str, Any]]


def unpack(folder: Path) -> OldHome:
    """Unpack the archive into an empty folder; the database then names this folder's repositories."""
    with tarfile.open(ARCHIVE) as file:
        file.extractall(folder, filter="data")
    replace_paths(folder / HOME / DATABASE, MADE_AT, str(folder))
    return OldHome(home=folder / HOME, owned=folder / OWNED, **json.loads((folder / FACTS).read_text()))

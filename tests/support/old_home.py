"""A home that version 0.1.0 used, unpacked from an archive that `scripts/old_home.py` made, and the home's model."""

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
"""The folder in which the archive was made; the archive's database contains this path."""
DATABASE = "db/agent_logs.sqlite"
HOME, OWNED, FACTS = "home", "owned", "facts.json"
"""The archive's contents: the home, a repository of the owner, and the API's lists just before the last kill."""


class OldHomeModel(SeedModel):
    """Knows the home's tasks. Jobs 3 and 22 are always wrong, and job 20 is wrong until the task is forked."""

    def wrong_first_of(self, n: int) -> int:
        """Return how many replies to job `n` are wrong."""
        return {3: FOREVER, 20: 2, 22: FOREVER, 1: 1}.get(n, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldHome:
    """The unpacked home.

    `tasks` maps names to ids of tasks. `scripts/old_home.py` chose the names, such as the task's status or ending. The
    lists have some fields of each task, commit, lesson and report, as the old version's API returned them.
    """

    home: Path
    owned: Path
    tasks: Mapping[str, int]
    rows: Sequence[Mapping[str, Any]]
    commits: Sequence[Mapping[str, Any]]
    lessons: Sequence[Mapping[str, Any]]
    reports: Sequence[Mapping[str, Any]]


def unpack(folder: Path) -> OldHome:
    """Unpack the archive into an empty folder, and change the repositories' paths in its database to that folder."""
    with tarfile.open(ARCHIVE) as file:
        file.extractall(folder, filter="data")
    replace_paths(folder / HOME / DATABASE, MADE_AT, str(folder))
    return OldHome(home=folder / HOME, owned=folder / OWNED, **json.loads((folder / FACTS).read_text()))

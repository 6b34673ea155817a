"""Opens the benchmark of a repository in a separate process, with or without a running daemon."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nightshift.app.git_beside import git_beside
from nightshift.app.verify import suites
from nightshift.config.load import Settings
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.benchmark_results import Item
from nightshift.git.manager import GitManager
from nightshift.report.benchmark.mining import mine
from nightshift.report.benchmark.validation import Validation, validate_all
from nightshift.sandbox import orphans
from nightshift.storage.db.benchmark_store import BenchmarkStore, Dropped
from nightshift.verdict.runner import SuiteRunner

NEWEST = 2000
"""Default number of commits of a history that are examined, starting with the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A repository and its benchmark data.

    Attributes:
        repo: the path that identifies the repository.
        store: keeps items and results.
        git: reads repositories, and makes copies of single commits.
        folder: a temporary folder of this process.
    """

    repo: str
    store: BenchmarkStore
    git: GitManager
    folder: Path


@contextmanager
def open_results(settings: Settings, repo: str) -> Iterator[Opened]:
    """Open a repository and the benchmark's database.

    Args:
        settings: settings of the home that stores the results.
        repo: a checkout, or a folder in a checkout.

    Raises:
        GitError: `repo` is not a usable repository.
        StoreError: the database cannot be used.
    """
    with (
        tempfile.TemporaryDirectory(prefix=orphans.prefix("bench")) as folder,
        git_beside(settings, Path(folder)) as git,
    ):
        root = str(git.open(repo, None, 0, "").repo)
        with BenchmarkStore(settings.benchmark_db_path) as store:
            yield Opened(repo=root, store=store, git=git, folder=Path(folder))


async def validate_candidates(
    here: Opened, settings: Settings, most: int, tell: Callable[[Item | Dropped], None]
) -> None:
    """Validate mined candidates and store the valid ones as items; see `report.benchmark.validation`.

    Raises:
        SandboxError: nothing can be run here; the message says why.
    """
    opened_suite = await suites(settings, here.folder)()
    if not isinstance(opened_suite.suite, SuiteRunner):
        raise SandboxError(f"nothing can be validated, because nothing can be run: {opened_suite.why_not}")
    validation = Validation(opened_suite.suite, here.git, opened_suite.environments, here.folder / "copies")
    await validate_all(validation, here.store, here.repo, most, tell)


def mine_commits(here: Opened, most: int = NEWEST) -> int:
    """Examine the newest commits that were not examined before, and return how many were examined."""
    return mine(here.repo, here.git.changing_commits(here.repo, most), here.store)

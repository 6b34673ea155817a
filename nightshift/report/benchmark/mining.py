"""Finds commits that may become items: small, made by people, with sources and tests, and without lock and CI files.

Filters are applied in the order of `Filter`, and the first filter that a commit fails is recorded. Results are stored
in batches, so an interrupted run continues without examining these commits again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from nightshift.core.code.dependencies import is_suite
from nightshift.core.tasks.commit_message import draft_of, subject_of, task_of, trailers, undoes
from nightshift.core.tasks.revisions import ChangedFile, ChangingCommit
from nightshift.report.benchmark.commit_parts import Part, part_of
from nightshift.storage.db.benchmark_store import BenchmarkStore, Candidate, Dropped, key_of

MOST_FILES, MOST_LINES = 5, 200
"""Maximum numbers of source files and of their changed lines; added and removed lines are counted together."""
_PORTION = 100


class Filter(StrEnum):
    """A condition that excludes a commit. Conditions apply in the order of the members; values are texts for people."""

    MERGE = "merges and first commits"
    REVERTS = "reverts"
    OWN = "made by Nightshift"
    SOURCES = "no sources changed"
    TESTS = "no tests changed"
    LOCKS = "lock or CI files changed"
    FILES = f"more than {MOST_FILES} source files"
    LINES = f"more than {MOST_LINES} lines of source"
    TEXT = "files that are no text"
    UNUSABLE = "tests that cannot be run"
    PASSING = "no test fails before and passes after"
    FAILING = "its own change is not accepted"
    FLAKY = "tests that pass now and then"
    NAMES = "tests that only miss a name"
    LEAK = "words that give the change away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One row of the table of filters: a filter, the number of commits before it, and the number that it dropped."""

    filter: Filter
    before: int
    dropped: int

    @property
    def after(self) -> int:
        """The number of commits left after the filter."""
        return self.before - self.dropped


def mine(repo: str, commits: Iterable[ChangingCommit], store: BenchmarkStore) -> int:
    """Examine the commits that were not examined yet, and return their number.

    Args:
        repo: the path of the repository.
        commits: commits of its history, in any order.
        store: stores the results.
    """
    commit_ids = store.list_examined(repo)
    new = (commit for commit in commits if commit.id not in commit_ids)
    count = 0
    while portion := list(islice(new, _PORTION)):
        store.add_mined(look_at(repo, commit) for commit in portion)
        count += len(portion)
    return count


def look_at(repo: str, commit: ChangingCommit) -> Candidate | Dropped:
    """Turn a commit into a candidate, or return the filter that drops it; uses only the history."""
    key = key_of(repo, commit.id)
    if failed := next(_faults(commit), None):
        subject = subject_of(commit.message)
        filter_, reason = failed
        return Dropped(key=key, repo=repo, commit=commit.id, subject=subject, filter=filter_.name, reason=reason)
    sources = _of(commit.files, Part.SOURCE)
    return Candidate(
        key=key,
        repo=repo,
        commit=commit.id,
        parent=commit.parents[0],
        message=commit.message,
        lines=_lines(sources),
        files=len(sources),
        committed_at=commit.at,
    )


def account(store: BenchmarkStore, repo: str) -> tuple[Passed, ...]:
    """Return how many commits of a repository each filter dropped, in the order of the filters."""
    names = [dropped.filter for dropped in store.list_dropped(repo)]
    left, lines = len(store.list_examined(repo)), list[Passed]()
    for each in Filter:
        lines.append(Passed(filter=each, before=left, dropped=names.count(each.name)))
        left = lines[-1].after
    return tuple(lines)


def _faults(commit: ChangingCommit) -> Iterator[tuple[Filter, str]]:
    sources, tests = _of(commit.files, Part.SOURCE), _of(commit.files, Part.TEST)
    if len(commit.parents) != 1:
        yield Filter.MERGE, f"it has {len(commit.parents) or 'no'} parents"
    if undone := undoes(commit.message):
        yield Filter.REVERTS, f"it reverts {undone[:12]}"
    is_ours = task_of(commit.message) is not None or draft_of(commit.message)
    if is_ours and {"Verdict", "Iterations"} & trailers(commit.message).keys():
        yield Filter.OWN, "its message has Nightshift's trailers"
    if not sources:
        yield Filter.SOURCES, "it changes no file of sources"
    if not any(is_suite(file.path) for file in tests if file.added):
        yield Filter.TESTS, "it adds nothing to a file of tests"
    if steering := _of(commit.files, Part.LOCK, Part.CI):
        yield Filter.LOCKS, f"it changes {steering[0].path}"
    if len(sources) > MOST_FILES:
        yield Filter.FILES, f"it changes {len(sources)} files of sources"
    if (lines := _lines(sources)) > MOST_LINES:
        yield Filter.LINES, f"it changes {lines} lines of sources"


def _of(files: Sequence[ChangedFile], *wanted: Part) -> list[ChangedFile]:
    return [file for file in files if part_of(file.path) in wanted]


def _lines(files: Sequence[ChangedFile]) -> int:
    return sum((file.added or 0) + (file.removed or 0) for file in files)

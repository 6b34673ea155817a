"""Finds the commits that may be items: small, made by people, with sources and tests, and without locks and CI files.

Filters are asked in the order of `Filter`, and the first that a commit fails is the one that is told. Whoever is killed
goes on: what was looked at is stored in portions, and is not looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from nightshift.core.tasks.commit_message import draft_of, subject_of, task_of, trailers
from nightshift.core.tasks.revert import undoes
from nightshift.core.tasks.revisions import ChangedFile, ChangingCommit
from nightshift.report.benchmark.commit_parts import Part, part_of, tests_in
from nightshift.report.benchmark.store import BenchmarkStore, Candidate, Dropped, key_of

MOST_FILES, MOST_LINES = 5, 200
"""Of sources; lines are those added and those removed together."""
_PORTION = 100


class Filter(StrEnum):
    """A test that a commit may fail, in the order of asking; the value is the text for people."""

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

    @property
    def mined(self) -> bool:
        """Whether the history alone answers it; the others take runs of the tests."""
        return self in _MINED


_MINED = tuple(Filter)[: tuple(Filter).index(Filter.TEXT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A line of the account: a filter, the commits before it and those that it dropped."""

    filter: Filter
    before: int
    dropped: int

    @property
    def after(self) -> int:
        """The commits that are left."""
        return self.before - self.dropped


def mine(repo: str, commits: Iterable[ChangingCommit], store: BenchmarkStore) -> int:
    """Look at the commits that were not looked at yet; gives how many these are.

    Args:
        repo: the path of the repository.
        commits: of its history, in any order.
        store: keeps what is found.
    """
    commit_ids = store.list_examined(repo)
    new = (commit for commit in commits if commit.id not in commit_ids)
    count = 0
    while portion := list(islice(new, _PORTION)):
        store.add_mined(look_at(repo, commit) for commit in portion)
        count += len(portion)
    return count


def look_at(repo: str, commit: ChangingCommit) -> Candidate | Dropped:
    """Make a candidate of a commit, or name the filter that drops it, by the history alone."""
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
    """How many commits of a repository each filter dropped, in the order in which they are asked."""
    names = [dropped.filter for dropped in store.dropped(repo)]
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
    if not tests_in([file.path for file in tests if file.added]):
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

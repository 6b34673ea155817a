"""The best change of an attempt, with its verdict.

If the attempt ends without a commit, this change becomes its draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree, text_of
from nightshift.core.tasks.projects import LAID_OUT
from nightshift.core.tasks.task import Change, Files
from nightshift.core.tasks.verdicts import Result, Verdict
from nightshift.core.text.faults import name_first


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChange:
    """A change with the verdict of its run. The fields are those of `core.tasks.attempt_state.AttemptState`."""

    base: str
    verdict: Verdict
    iteration: int
    change: Change
    own_tests: Files = field(default_factory=dict)
    test_changes: Change = field(default_factory=dict)
    removed_tests: tuple[str, ...] = ()
    merged_tests: Files = field(default_factory=dict)
    summary: str = ""
    feedback: str = ""

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key: passed changes first, then those with more passing tests, then those with fewer failing tests."""
        return self.verdict.passed, self.verdict.count(Result.PASSED), -len(self.verdict.failing)


def holds_work(change: Change, given: Files, tree: Tree, *, in_project: bool) -> bool:
    """Return True if a change contains more than the owner's files and the files that every new project begins with.

    Args:
        change: The change.
        given: The files that the owner supplied with the task.
        tree: The files of the change's base.
        in_project: Whether the paths belong to a project of the workspace.
    """
    return any(
        _differs(given, path, text) and not (in_project and path in LAID_OUT and text_of(tree, path) is None)
        for path, text in change.items()
    )


def _differs(given: Mapping[str, str], path: str, text: str | None) -> bool:
    return path not in given or given[path] != text


def tests_in_words(passed: int, total: int) -> str:
    """Describe how many tests of a draft pass, such as “3 of 5 tests pass”."""
    if not total:
        return "no test was run"
    return f"{passed} of {total} tests pass" if total > 1 else f"{passed} of 1 test passes"


def describe_tests(passed: int, total: int, failing: Sequence[str], reason: str) -> str:
    """Describe the test results of a draft: the counts, and the failing tests or the reason why it was not accepted."""
    why = f"failing: {name_first(failing)}" if failing else reason
    return "; ".join(filter(None, (tests_in_words(passed, total), why)))

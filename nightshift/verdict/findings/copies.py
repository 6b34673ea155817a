"""Judges must-fail copies: copies of test files, with the original names and one changed expected value in each test.

A copy proves something only if it passes: then the test does not check its expected value. A copy that fails, hangs or
cannot be collected proves nothing, because a right program may also reject the changed value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nightshift.core.tasks.verdicts import Control, Finding, FindingKind
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.run import NativeRun, bare, file_of

SHORTEST_S, LONGEST = 5.0, 5.0
"""Timeout for a run of copies: `SHORTEST_S` seconds, plus `LONGEST` times the duration of the original tests."""


def find_passing(copies: NativeRun, native: NativeRun, tests: Collection[str]) -> list[str]:
    """Return the tests that passed and whose copies all passed as well."""
    return sorted(
        test
        for test in {bare(each) for each in native.passed if bare(each) in tests}
        if any(bare(each) == test for each in copies.passed) and not any(bare(each) == test for each in copies.failed)
    )


def find_copies(passing: list[str], roles: dict[str, Role], mended: Collection[str]) -> Iterator[Finding]:
    """Yield one finding for each test file with a test whose copies pass.

    Args:
        passing: the tests whose copies pass.
        roles: path of each test file to its role.
        mended: the base tests that failed without the change and pass with it.
    """
    for path in dict.fromkeys(map(file_of, passing)):
        test = next(each for each in passing if file_of(each) == path)
        of_base = roles.get(path) in {Role.REGRESSION, Role.COMMAND} and test in mended
        control = Control.BASE if of_base else Control.NONE
        says = f"{test} passes whatever it expects"
        yield Finding(kind=FindingKind.COPY, where=test, says=says, control=control)

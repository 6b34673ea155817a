"""Must-fail copies in place: the same test files under the same names, with one expected value of each test changed.

Only a copy that passes proves something: its test does not check its expected value. A copy that fails for another
reason, does not end or cannot be collected proves nothing, because a right program may also reject the changed value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nightshift.core.tasks.findings import Control, Finding, FindingKind
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.run import NativeRun, bare, file_of

SHORTEST_S, LONGEST = 5.0, 5.0
"""Limit of a run of copies: these seconds, plus this multiple of the tests' own time."""


def find_passing(copies: NativeRun, native: NativeRun, tests: Collection[str]) -> list[str]:
    """Return the tests that passed, and whose copies all passed as well."""
    return sorted(
        test
        for test in {bare(each) for each in native.passed if bare(each) in tests}
        if any(bare(each) == test for each in copies.passed) and not any(bare(each) == test for each in copies.failed)
    )


def find_copies(passing: list[str], roles: dict[str, Role], mended: Collection[str]) -> Iterator[Finding]:
    """Make one finding for each test file whose copies pass.

    Args:
        passing: the tests.
        roles: the role of each test file.
        mended: the tests of the base that failed without the change.
    """
    for path in dict.fromkeys(map(file_of, passing)):
        test = next(each for each in passing if file_of(each) == path)
        of_base = roles.get(path) in {Role.REGRESSION, Role.COMMAND} and test in mended
        control = Control.BASE if of_base else Control.NONE
        says = f"{test} passes whatever it expects"
        yield Finding(kind=FindingKind.COPY, where=test, says=says, control=control)

"""Must-fail copies in place: the same files of tests under the same names, one expected value of each test changed.

Only a copy that passes says anything: its test does not look at what it expects. What fails otherwise, does not end or
cannot be collected says nothing, for a right program may not like the changed value either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nightshift.core.tasks.findings import Control, Finding, FindingKind
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.run import NativeRun, bare, file_of

SHORTEST_S, LONGEST = 5.0, 5.0
"""A run of copies may take this many seconds, and so many times what the tests took."""


def find_passing(copies: NativeRun, native: NativeRun, tests: Collection[str]) -> list[str]:
    """The tests that passed, and whose copies all passed as well."""
    return sorted(
        test
        for test in {bare(each) for each in native.passed if bare(each) in tests}
        if any(bare(each) == test for each in copies.passed) and not any(bare(each) == test for each in copies.failed)
    )


def find_copies(passing: list[str], roles: dict[str, Role], mended: Collection[str]) -> Iterator[Finding]:
    """One finding for each file of tests whose copies pass.

    Args:
        passing: the tests.
        roles: whose files these are.
        mended: the tests of the base that failed without the change.
    """
    for path in dict.fromkeys(map(file_of, passing)):
        test = next(each for each in passing if file_of(each) == path)
        of_base = roles.get(path) in {Role.REGRESSION, Role.COMMAND} and test in mended
        control = Control.BASE if of_base else Control.NONE
        says = f"{test} passes whatever it expects"
        yield Finding(kind=FindingKind.COPY, where=test, says=says, control=control)

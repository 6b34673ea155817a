"""Tells whether a test ended as its text lets it, skipped or failed as expected, and not as the tested code does.

Tested code can raise what `pytest.skip` raises. So a mark counts for what pytest itself did about it, without any code
of the tree on the stack, and a call for what was raised in its own lines of the test file.
"""

from __future__ import annotations

from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.answer import CaseReport, Fault, Report
from nightshift.verdict.languages.plan import Role, SuiteFile

XFAILED = "XFailed"
"""What the recorder calls that which `pytest.xfail` raises."""


def ended_as_marked(file: SuiteFile, test: CaseReport) -> bool:
    """Tell whether a test that did not pass ended so because the text of its file says it.

    Of a test of the base it is enough that no tested code did it.

    Args:
        file: the file.
        test: one of its tests, as it was reported.
    """
    if test.outcome is not Result.SKIPPED:
        return False
    report = _deciding(test)
    if file.role is Role.REGRESSION:
        return not _skipped_by_code(test.fault, report)
    marks = file.excuses.marked.get(_name(file, test), frozenset())
    by_pytest = not _own(test.fault)
    if report.xfail and "xfail" in marks and (by_pytest or report.raised != XFAILED):
        return True
    if not report.xfail and "skip" in marks and report.when == "setup" and by_pytest:
        return True
    return raised_by_its_text(file, test.fault)


def _deciding(test: CaseReport) -> Report:
    """The report by which a test that was skipped was."""
    return next(one for one in test.reports if one.outcome != "passed" or one.xfail)


def raised_by_its_text(file: SuiteFile, fault: Fault | None) -> bool:
    """Tell whether it was a line of the file's own that skipped a test, or the file."""
    own = _own(fault)
    if file.role is Role.REGRESSION:
        return not _skipped_by_code(fault)
    return bool(own) and own[-1][0] == file.staged and own[-1][1] in file.excuses.lines


def _skipped_by_code(fault: Fault | None, report: Report | None = None) -> bool:
    """Tell whether code that is no test skipped a test, or a file, or said that it fails as expected.

    Args:
        fault: what was raised.
        report: of the phase of the test that it ended.
    """
    marked = report is not None and report.xfail and report.raised != XFAILED
    own = _own(fault)
    return bool(own) and not marked and not is_test_path(own[-1][0])


def _own(fault: Fault | None) -> list[tuple[str, int, str]]:
    """The frames that are no library's, innermost last."""
    return [frame for frame in fault.frames if not frame[0].startswith("/")] if fault else []


def _name(file: SuiteFile, test: CaseReport) -> str:
    name = test.id.partition("::")[2].partition("[")[0]
    return file.names.get(name, name)

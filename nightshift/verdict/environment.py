"""Recognises tests that fail because this machine lacks something, such as a library or the network.

The tests of a task's test command, and the tests that a task gives, judge the task. If such a test already fails before
the change, it is normally not excused, because its failure may be the reason for the task. It is excused only if no
change to the code could fix the failure and the task's text names neither the test nor what is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.verdicts import CaseResult
from nightshift.verdict.run import bare

_LIBRARY = frozenset({"ModuleNotFoundError", "ImportError"})
_MACHINE = frozenset({
    "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "gaierror", "herror", "URLError",
    "PermissionError", "FixtureLookupError", "ZoneInfoNotFoundError",
})  # fmt: skip
_MACHINE_LACKS = re.compile(
    r"(?i)unsupported locale setting|cannot open shared object file|no display name and no \$DISPLAY"
)
_NETWORK = re.compile(
    r"(?i)\b(?:connection refused|connection reset|network is unreachable|temporary failure in name resolution"
    r"|could not resolve host|no such host|name or service not known|enotfound|econnrefused)\b"
)
_MISSING = re.compile(r"(?:No module named|Cannot find (?:module|package)) '(@?\w[\w./-]*)'")
_SUITE = frozenset({"test", "tests", "suite", "pytest", "ci"})
_MENDING = frozenset({"pass", "passes", "fail", "fails", "failing", "green", "red", "broken", "fix", "mend", "repair"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task that a failure is compared with.

    Attributes:
        words: the text of the task.
        modules: the top-level modules of the task's tree.
        gives_tests: true if the task gives the failed test. Its text then names the test's file as a matter of course.
    """

    words: str
    modules: frozenset[str]
    gives_tests: bool = False


def is_to_blame(case: CaseResult, task: Task) -> bool:
    """Check whether a failed test failed because this machine lacks something that the task does not ask for.

    The result is false if the missing module is part of the task's tree, or if the task's text names the test or asks
    to repair the suite.

    Args:
        case: the result of the test.
        task: the task.
    """
    words = {word.casefold() for word in re.findall(r"\w+", task.words)}
    missing = _missing(case)
    says = case.message if case.kind != "AssertionError" else ""
    lacks = case.kind in _MACHINE or _NETWORK.search(says) or _MACHINE_LACKS.search(says)
    if not missing and not lacks:
        return False
    if missing and missing in task.modules:
        return False
    if task.gives_tests:
        # A library that is missing, or an error that passed through other code, may be what the change has to mend.
        is_named = bare(case.id).rpartition("::")[2].casefold() in words
        return not missing and not is_named and is_test_path(case.frame.partition(":")[0])
    return not (_list_named(case) | {missing}) & words and not (words & _SUITE and words & _MENDING)


def describe_lack(case: CaseResult) -> str:
    """Return the first line of a test's failure, which names what the machine lacks."""
    return f"{case.kind}: {case.message}".partition("\n")[0]


def _missing(case: CaseResult) -> str:
    """Return the name of the library that a test could not import; empty if the test failed for another reason."""
    match = _MISSING.search(case.message) if case.kind in _LIBRARY else None
    return match[1].partition(".")[0].casefold() if match else ""


def _list_named(case: CaseResult) -> set[str]:
    """Return the names that a task's text may use for a failed test.

    These are the names of the test, of its file and of the function that failed.
    """
    path, _, test = case.id.partition("[")[0].partition("::")
    file = path.rpartition("/")[2].partition(".")[0]
    function = case.frame.rpartition(" in ")[2]
    names = {file, function, *re.findall(r"\w+", test)}
    return {form.casefold() for name in names for form in (name, name.removeprefix("test_")) if form} - {"module"}

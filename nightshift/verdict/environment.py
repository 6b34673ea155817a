"""Recognises tests that fail because this machine lacks something, such as a library or the network.

If a task has a test command, the tests of that command judge the task. A test that already fails before the change is
normally not excused, because its failure may be the reason for the task. It is excused only if no change to the code
could fix the failure and the task's text names neither the test nor what is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nightshift.core.tasks.verdicts import Failure

_LIBRARY = frozenset({"ModuleNotFoundError", "ImportError"})
_MACHINE = frozenset({
    "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "gaierror", "herror", "URLError",
    "PermissionError", "FixtureLookupError",
})  # fmt: skip
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
    """

    words: str
    modules: frozenset[str]


def is_to_blame(failure: Failure, task: Task) -> bool:
    """Check whether a test failed because this machine lacks something that the task does not ask for.

    The result is false if the missing module is part of the task's tree, or if the task's text names the test or asks
    to repair the suite.

    Args:
        failure: the failure of the test.
        task: the task.
    """
    words = {word.casefold() for word in re.findall(r"\w+", task.words)}
    missing = _missing(failure)
    unreached = failure.kind in _MACHINE or (failure.kind != "AssertionError" and _NETWORK.search(failure.message))
    if not missing and not unreached:
        return False
    if missing and missing in task.modules:
        return False
    return not (_list_named(failure) | {missing}) & words and not (words & _SUITE and words & _MENDING)


def describe_lack(failure: Failure) -> str:
    """Return the first line of a failure, which names what the machine lacks."""
    return f"{failure.kind}: {failure.message}".partition("\n")[0]


def _missing(failure: Failure) -> str:
    """Return the name of the library that a test could not import; empty if the test failed for another reason."""
    match = _MISSING.search(failure.message) if failure.kind in _LIBRARY else None
    return match[1].partition(".")[0].casefold() if match else ""


def _list_named(failure: Failure) -> set[str]:
    """Return the names that a task's text may use for a failed test.

    These are the names of the test, of its file and of the function that failed.
    """
    path, _, test = failure.id.partition("[")[0].partition("::")
    file = path.rpartition("/")[2].partition(".")[0]
    function = failure.frame.rpartition(" in ")[2]
    names = {file, function, *re.findall(r"\w+", test)}
    return {form.casefold() for name in names for form in (name, name.removeprefix("test_")) if form} - {"module"}

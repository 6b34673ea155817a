"""Separates tests that fail because of this machine (no library or network) from tests that the task may be about.

A task with a test command is judged by that command's tests, and their failure before the change may be the reason for
the task. So a failing test is excused only if no change to the code could fix it and the task's text does not name it.
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
    """The task that a failure is compared with: its text, and the top-level modules of its tree."""

    words: str
    modules: frozenset[str]


def is_to_blame(failure: Failure, task: Task) -> bool:
    """Check whether a test failed because this machine lacks something that the task does not name.

    Args:
        failure: the test's failure.
        task: the task that the failure is compared with.
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
    """Return the line of a failure that names what the machine lacks."""
    return f"{failure.kind}: {failure.message}".partition("\n")[0]


def _missing(failure: Failure) -> str:
    """Return the missing library; empty if the test failed for another reason."""
    match = _MISSING.search(failure.message) if failure.kind in _LIBRARY else None
    return match[1].partition(".")[0].casefold() if match else ""


def _list_named(failure: Failure) -> set[str]:
    """Return the names of the test, of its file and of the function that failed."""
    path, _, test = failure.id.partition("[")[0].partition("::")
    file = path.rpartition("/")[2].partition(".")[0]
    function = failure.frame.rpartition(" in ")[2]
    names = {file, function, *re.findall(r"\w+", test)}
    return {form.casefold() for name in names for form in (name, name.removeprefix("test_")) if form} - {"module"}

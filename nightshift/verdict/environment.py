"""Tells a test that the machine fails from one that the task may be about: a library or a network that is not there.

The tests of a command are what its task is judged by, and that they failed before may be why there is a task. So only
what no change to the code could mend is left out, and nothing that the words of the task name.
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
    """The task that a failure is held against: its words, and the modules at the top of its tree."""

    words: str
    modules: frozenset[str]


def is_to_blame(failure: Failure, task: Task) -> bool:
    """Tell whether a test failed of what is not there on this machine, and its task does not name it.

    Args:
        failure: how it failed.
        task: what was asked.
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
    """The line of a failure that says what is not there."""
    return f"{failure.kind}: {failure.message}".partition("\n")[0]


def _missing(failure: Failure) -> str:
    """The library that is not there; empty where it failed of something else."""
    match = _MISSING.search(failure.message) if failure.kind in _LIBRARY else None
    return match[1].partition(".")[0].casefold() if match else ""


def _list_named(failure: Failure) -> set[str]:
    """The test, its file, and the function that failed."""
    path, _, test = failure.id.partition("[")[0].partition("::")
    file = path.rpartition("/")[2].partition(".")[0]
    function = failure.frame.rpartition(" in ")[2]
    names = {file, function, *re.findall(r"\w+", test)}
    return {form.casefold() for name in names for form in (name, name.removeprefix("test_")) if form} - {"module"}

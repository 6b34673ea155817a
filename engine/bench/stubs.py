"""Reads `stubs.txt`: small functions without a body, with typical tests, and checks that the search does not see.

A stub begins with a line `=== name` and its text. The lines of its tests follow below `--- tests` (each an `assert`,
all in one test), and the hidden checks below `--- hidden`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A stub: its name, its text, the lines of its tests, and the hidden checks."""

    name: str
    code: str
    tests: str
    hidden: str


def read_stubs() -> list[Task]:
    """Read all stubs, in the order of the file."""
    stubs = []
    for part in ("\n" + Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")).split("\n=== ")[1:]:
        name, _, rest = part.partition("\n")
        code, _, checks = rest.partition("--- tests\n")
        tests, _, hidden = checks.partition("--- hidden\n")
        stubs.append(Task(name=name, code=code, tests=tests, hidden=hidden.rstrip() + "\n"))
    return stubs

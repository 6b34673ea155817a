"""Reads TAP (Test Anything Protocol, versions 12 to 14) from the output of a command."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.reports.collected import Collected, Told

FORM = "TAP"
_TEST = re.compile(r"( {0,40})(not ok|ok)(?: +(\d{1,9}))?(?: +|$)(.*)")
_PLAN = re.compile(r"( *)1\.\.(\d{1,9})(?: *#.*)?")
_VERSION = re.compile(r" *TAP version 1[234]")
_DIRECTIVE = re.compile(r"(?i: *(skip|todo)\b)")
_TIME = re.compile(r"\s+# time=[\d.]+m?s(?!\S)")
"""Matches the duration that node-tap writes after a name. It differs in each run, so it is no part of the name."""


def read(lines: Iterable[str], *, is_complete: bool) -> Collected:
    """Return the reported tests; the name of a subtest begins with the name of its parent.

    In tape and node-tap each assertion is a test, often with the default name. A repeated name gets a number, so that
    no assertion hides behind the failure of another one.

    Args:
        lines: the printed lines.
        is_complete: true if no lines are missing.
    """
    reader = _Reader()
    for line in lines:
        reader.take(line.rstrip("\r"))
    return reader.ended(is_complete=is_complete)


class _Reader:
    def __init__(self) -> None:
        self._collected = Collected(FORM)
        self._waiting: list[tuple[int, Told]] = []
        self._planned: int | None = None
        self._counted, self._is_tap = 0, False
        self._details: list[str] | None = None
        self._names: list[Counter[str]] = []

    def take(self, line: str) -> None:
        if self._details is not None:
            if line.strip() in {"...", "---"} or len(self._details) > 200:
                self._explain()
            else:
                self._details.append(line.strip())
        elif line.strip() == "---" and self._waiting:
            self._details = []
        elif test := _TEST.fullmatch(line):
            self._test(len(test[1]), test[2] == "ok", test[4], test[3])
        elif plan := _PLAN.fullmatch(line):
            self._is_tap = True
            if not plan[1]:
                self._planned = int(plan[2])
        elif _VERSION.fullmatch(line):
            self._is_tap = True
        elif line.startswith("Bail out!"):
            self._is_tap = True
            self._collected.fault(line)

    def _test(self, depth: int, passed: bool, rest: str, number: str | None) -> None:
        name, directive = _divide_line(rest)
        result = Result.SKIPPED if directive else Result.PASSED if passed else Result.FAILED
        name = name.removeprefix("- ").strip() or f"test {number or self._counted + 1}"
        name = self._number(name, depth)
        self._counted += not depth
        inner = list[Told]()
        while self._waiting and self._waiting[-1][0] > depth:  # the depths in this list never decrease
            inner.append(_under(name, self._waiting.pop()[1]))
        if not depth:
            self._flush()
        self._waiting += [(depth, test) for test in reversed(inner)]
        self._waiting.append((depth, Told(id=name, result=result)))

    def _number(self, name: str, depth: int) -> str:
        """Return a name with its number among the tests of its parent that have this name; the first has none."""
        del self._names[depth + 1 :]
        self._names += [Counter() for _ in range(depth + 1 - len(self._names))]
        self._names[depth][name] += 1
        return name if self._names[depth][name] == 1 else f"{name} #{self._names[depth][name]}"

    def _explain(self) -> None:
        """Attach the YAML block below a test to that test; only its `message` and `name` are parsed."""
        lines, self._details = self._details or [], None
        depth, test = self._waiting.pop()
        message = next((line.partition(":")[2].strip(" '\"|-") for line in lines if line.startswith("message:")), "")
        kind = next((line.partition(":")[2].strip(" '\"") for line in lines if line.startswith("name:")), "")
        output = "\n".join(lines)
        self._waiting.append(
            (depth, Told(id=test.id, result=test.result, kind=kind, message=message or output, output=output))
        )

    def _flush(self) -> None:
        for _, test in self._waiting:
            self._collected.add(test)
        self._waiting = []

    def ended(self, *, is_complete: bool) -> Collected:
        if self._details is not None:
            self._explain()
        self._flush()
        if not self._is_tap:
            return Collected(FORM)
        if is_complete and self._planned is not None and self._counted != self._planned:
            self._collected.fault(f"it promises {self._planned} tests and tells of {self._counted}")
        return self._collected


def _divide_line(rest: str) -> tuple[str, str]:
    """Return the name of a test, and the directive after it: `skip`, `todo` or an empty text."""
    rest = _TIME.sub("", rest)
    at = rest.rfind("#")
    match = _DIRECTIVE.match(rest, at + 1) if at >= 0 and (at == 0 or rest[at - 1] == " ") else None
    return (rest[:at].strip(), match[1].lower()) if match else (rest.strip(), "")


def _under(name: str, test: Told) -> Told:
    return Told(
        id=f"{name} > {test.id}"[:2000], result=test.result, kind=test.kind, message=test.message, output=test.output
    )

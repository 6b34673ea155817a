"""Reads the output of `go test -json`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.reports.collected import BAD, OUTPUT, Collected, Told

FORM = "go test -json"
_RESULTS = {"pass": Result.PASSED, "fail": Result.FAILED, "skip": Result.SKIPPED}
_CHATTER = ("=== ", "--- ")


def read(lines: Iterable[str], *, is_complete: bool) -> Collected:
    """Return the reported tests; each id begins with the test's package.

    A test that began and did not end counts as an error, unless lines are missing.

    Args:
        lines: the printed lines.
        is_complete: true if no lines are missing.
    """
    reader = _Reader()
    for line in lines:
        if line.startswith("{") and '"Action"' in line:
            reader.take(line)
    return reader.ended(is_complete=is_complete)


class _Reader:
    def __init__(self) -> None:
        self._collected = Collected(FORM)
        self._open: dict[str, None] = {}
        self._printed: defaultdict[str, str] = defaultdict(str)
        self._failing = set[str]()

    def take(self, line: str) -> None:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        action, package, test = (_text(event, name) for name in ("Action", "Package", "Test"))
        name = f"{package}::{test}" if test else package
        if action == "run":
            self._open[name] = None
        elif action == "output":
            text = _text(event, "Output")
            if len(self._printed) < 10_000 and not text.lstrip().startswith(_CHATTER):
                self._printed[name] = (self._printed[name] + text)[-OUTPUT:]
        elif action in _RESULTS:
            self._end(name, package, test, _RESULTS[action], event.get("Elapsed"))

    def _end(self, name: str, package: str, test: str, result: Result, elapsed: object) -> None:
        self._open.pop(name, None)
        printed = self._printed.pop(name, "").strip("\n")
        if not test:
            if result is Result.FAILED and package not in self._failing:
                self._collected.add(Told(id=package, result=Result.ERROR, message=printed, output=printed))
            return
        if result in BAD:
            self._failing.add(package)
        duration_s = float(elapsed) if isinstance(elapsed, int | float) and 0 <= elapsed < 1e6 else 0.0
        output = printed if result in BAD else ""
        self._collected.add(Told(id=name, result=result, duration_s=duration_s, message=output, output=output))

    def ended(self, *, is_complete: bool) -> Collected:
        for name in self._open if is_complete else ():
            self._collected.add(Told(id=name, result=Result.ERROR, message="the test began but did not end"))
        return self._collected


def _text(event: Mapping[str, object], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""

"""Reads the output of `cargo test`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.reports.collected import Collected, Told
from nightshift.verdict.reports.junit import seconds

FORM = "cargo test"
_TEST = re.compile(r"test (.{1,1000}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, .*)?(?: <([\d.]+)s>)?")
_BINARY = re.compile(r" *(?:Running (?:unittests )?(\S+)(?: \(.*\))?|Doc-tests (\S+))")
_SUMMARY = re.compile(r"test result: (ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed;.*")
_SECTION = re.compile(r"---- (.+) stdout ----")
_RESULTS = {"ok": Result.PASSED, "FAILED": Result.FAILED, "ignored": Result.SKIPPED}


def read(lines: Iterable[str], *, is_complete: bool) -> Collected:
    """Return the reported tests; each id begins with the test program that ran the test.

    Args:
        lines: the printed lines.
        is_complete: true if no lines are missing.
    """
    reader = _Reader()
    for line in lines:
        reader.take(line.rstrip("\r"), is_complete=is_complete)
    return reader.ended()


class _Reader:
    def __init__(self) -> None:
        self._collected, self._binary, self._is_cargo = Collected(FORM), "", False
        self._tests: dict[str, Told] = {}
        self._section, self._texts = "", dict[str, list[str]]()

    def take(self, line: str, *, is_complete: bool) -> None:
        if section := _SECTION.fullmatch(line):
            self._section = section[1]
            self._texts[self._section] = []
        elif summary := _SUMMARY.fullmatch(line):
            self._summary(summary[1], int(summary[3]), is_complete=is_complete)
        elif self._section and line != "failures:":
            if len(self._texts[self._section]) < 100:
                self._texts[self._section].append(line[:500])
        elif test := _TEST.fullmatch(line):
            case = Told(id=test[1], result=_RESULTS[test[2]], duration_s=seconds(test[3] or ""))
            before = self._tests.get(case.id)
            if before is None or before.result is Result.PASSED:
                self._tests[case.id] = case
        elif binary := _BINARY.fullmatch(line):
            self._close()
            self._binary = binary[1] or binary[2]
        else:
            self._section = ""

    def _summary(self, ended: str, failed: int, *, is_complete: bool) -> None:
        self._is_cargo = True
        seen = sum(case.result is Result.FAILED for case in self._tests.values())
        self._close()
        if is_complete and (ended == "FAILED" or failed) and not seen:
            self._collected.fault(
                f"{self._binary or 'a test program'}: {max(failed, 1)} tests failed that it does not name"
            )

    def _close(self) -> None:
        for case in self._tests.values():
            text = "\n".join(self._texts.get(case.id, ())).strip()
            self._collected.add(
                Told(
                    id=f"{self._binary}::{case.id}" if self._binary else case.id,
                    result=case.result,
                    duration_s=case.duration_s,
                    kind="panic" if "panicked at" in text else "",
                    message=next((line for line in text.split("\n") if "panicked at" in line), text),
                    output=text,
                )
            )
        self._tests, self._texts, self._section = {}, {}, ""

    def ended(self) -> Collected:
        self._close()
        return self._collected if self._is_cargo else Collected(FORM)

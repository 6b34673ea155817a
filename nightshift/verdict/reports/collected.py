"""Collects the tests of a report. The number and length of the stored texts are limited, whatever the report's size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nightshift.core.tasks.verdicts import Result

MOST = 5000
"""Maximum number of stored tests, for failed and for other tests separately; tests beyond it are only counted."""
NAME, MESSAGE, OUTPUT = 1000, 4000, 6000
"""Maximum characters of a test's name, message and output."""
_WORST = (Result.ERROR, Result.FAILED, Result.SKIPPED, Result.PASSED)
BAD = frozenset({Result.ERROR, Result.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A test in a report.

    Attributes:
        id: the test's name, with its file, program or package if the report names it.
        result: the result of the test.
        duration_s: the duration in seconds; 0 if the report states none.
        kind: the type of the error, if the report states it.
        message: the error message.
        output: the text that the test printed, or the details of its failure.
    """

    id: str
    result: Result
    duration_s: float = 0.0
    kind: str = ""
    message: str = ""
    output: str = ""


class Collected:
    """Collects tests one by one. If several have the same id, the worst result counts.

    Attributes:
        form: the kind of report.
        faults: errors that the report states without naming a test.
        unlisted: the number of tests that are counted but not stored.
    """

    def __init__(self, form: str) -> None:
        self.form, self.unlisted = form, 0
        self.faults: list[str] = []
        self._bad, self._others = dict[str, Told](), dict[str, Told]()

    def __iter__(self) -> Iterator[Told]:
        yield from self._bad.values()
        yield from self._others.values()

    def __len__(self) -> int:
        return len(self._bad) + len(self._others) + self.unlisted

    @property
    def has_failed(self) -> bool:
        """True if the report contains any failure."""
        return bool(self._bad or self.faults)

    def add(self, test: Told) -> None:
        """Add a test with shortened texts, unless a test with the same id has the same or a worse result."""
        test = replace(
            test, id=test.id[:NAME], kind=test.kind[:100], message=test.message[:MESSAGE], output=test.output[-OUTPUT:]
        )
        before = self._bad.get(test.id) or self._others.get(test.id)
        if before and _WORST.index(before.result) <= _WORST.index(test.result):
            return
        self._others.pop(test.id, None)
        into = self._bad if test.result in BAD else self._others
        if before or len(into) < MOST:
            into[test.id] = test
        else:
            self.unlisted += 1

    def fault(self, text: str) -> None:
        """Add an error that the report states without naming a test; at most ten are stored."""
        if len(self.faults) < 10:
            self.faults.append(text[:MESSAGE])

"""Reads the reports of test commands whose runner is unknown: JUnit XML, TAP, `cargo test` and `go test -json`.

The command that writes the report also runs the tested code. So a report can make a verdict worse or add details, but
it never excuses a failing command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nightshift.verdict.answer import Session
from nightshift.verdict.reports import cargo, go_json, junit, tap
from nightshift.verdict.reports.collected import Collected, Told

LINES = {go_json.read: 20_000, tap.read: 2000, cargo.read: 2000}
"""The reader for each kind of printed report, with the maximum characters of a line; longer lines are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The content of a command's report.

    Attributes:
        form: the kind of report.
        tests: the tests, failed ones first.
        faults: errors that the report states without naming a test.
        unlisted: the number of tests that are counted but not listed.
        notes: the parts that were not read, each with the reason.
    """

    form: str
    tests: tuple[Told, ...]
    faults: tuple[str, ...] = ()
    unlisted: int = 0
    notes: tuple[str, ...] = ()


def read(session: Session) -> Reported | None:
    """Return the report of a command; None if it wrote none.

    If a command wrote several kinds of report, only one is used: the first with a failure, otherwise the first with a
    test.
    """
    files, notes = _files(session.reports)
    collected = [files, *_lines(session)]
    telling = [report for report in collected if report.has_failed] or [report for report in collected if len(report)]
    if not telling:
        return Reported(form="", tests=(), notes=notes) if notes else None
    chosen = telling[0]
    left_out = session.printed[2]
    if left_out and chosen is not files:
        notes = (*notes, f"{left_out} bytes in the middle of its output were not read")
    return Reported(
        form=chosen.form, tests=tuple(chosen), faults=tuple(chosen.faults), unlisted=chosen.unlisted, notes=notes
    )


def _files(reports: Sequence[tuple[str, str | None]]) -> tuple[Collected, tuple[str, ...]]:
    collected, notes = Collected(junit.FORM), list[str]()
    for path, text in reports:
        try:
            if text is None:
                raise junit.Unreadable("it is larger than what is read")
            junit.read(text, collected)
        except junit.Unreadable as why:
            notes.append(f"the report {path} was not read to its end: {why}")
    return collected, tuple(notes[:10])


def _lines(session: Session) -> list[Collected]:
    head, tail, left_out = session.printed
    parts = (head, tail) if left_out else (head + tail,)
    lines = [line for part in parts for line in part.split("\n")]
    return [
        reader((line for line in lines if len(line) <= most), is_complete=not left_out)
        for reader, most in LINES.items()
    ]

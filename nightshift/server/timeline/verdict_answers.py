"""Builds verdicts for the API: each test, the distinct failures, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict
from nightshift.server.formatting import Mask, short, shorten
from nightshift.server.schemas import Answer

MOST_TESTS = 1000
MOST_NAMED = 200
OUTPUT_CHARS = 20_000


class EvidenceRow(Answer):
    """Evidence of a verdict.

    The fields are those of `core.tasks.verdicts.Evidence`. Only `ids` differs: here it is the number of tests, there
    the list of their ids.
    """

    tree: str
    sandbox: str
    label: Label
    python: str
    ids: int
    twins: int
    complete: bool
    held_out: int
    held_from: list[str]
    suites: dict[str, str]
    dropped: dict[str, str]
    notes: list[str]


class VerdictRow(Answer):
    """Verdict on a run of tests.

    `tests` begins with the tests that did not pass. `left_out` counts the tests that are not listed. `unseen` holds the
    expected values of held-out cases; only the owner may see them.
    """

    passed: bool
    reason: str
    duration_s: float
    counts: dict[Result, int]
    tests: list[CaseResult]
    left_out: int
    failures: list[Failure]
    weak: list[str]
    unseen: list[str]
    evidence: EvidenceRow


def verdict_row(verdict: Verdict, mask: Mask) -> VerdictRow:
    """Return a verdict as the API shows it.

    Tests that did not pass come first. Tests above the limit are only counted.
    """
    results = sorted(verdict.results, key=lambda case: case.result is Result.PASSED)
    return VerdictRow.from_values(
        verdict,
        reason=short(verdict.reason, mask, 2000),
        counts={result: count for result in Result if (count := verdict.count(result))},
        tests=[
            replace(case, id=short(case.id, mask), message=short(case.message, mask, 2000))
            for case in results[:MOST_TESTS]
        ],
        left_out=max(0, len(results) - MOST_TESTS),
        failures=[shorten(failure, mask, OUTPUT_CHARS) for failure in verdict.failures[:MOST_NAMED]],
        weak=[short(name, mask) for name in verdict.weak[:MOST_NAMED]],
        unseen=[short(line, mask, 2000) for line in verdict.unseen[:MOST_NAMED]],
        evidence=_evidence(verdict.evidence, mask),
    )


def _evidence(evidence: Evidence, mask: Mask) -> EvidenceRow:
    def name_values(values: Mapping[str, str]) -> dict[str, str]:
        return {short(name, mask): short(value, mask) for name, value in list(values.items())[:MOST_NAMED]}

    return EvidenceRow.from_values(
        evidence,
        sandbox=short(evidence.sandbox, mask),
        python=short(evidence.python, mask),
        ids=len(evidence.ids),
        held_from=[short(name, mask) for name in evidence.held_from],
        suites=name_values(evidence.suites),
        dropped=name_values(evidence.dropped),
        notes=[short(note, mask, 1000) for note in evidence.notes[:MOST_NAMED]],
    )

"""`nightshift doctor`: prints all findings as a table, followed by how to fix each problem.

The command needs neither the daemon nor a session, so it works even when those are broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightshift.app.doctor.context import Finding, check_context
from nightshift.app.doctor.examination import Examined, examine, worst
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Printer, Table, Tone, cell

TONES: Mapping[str, Tone] = {"ok": Tone.GOOD, "note": Tone.DIM, "warning": Tone.WARN, "fault": Tone.BAD}


def doctor(out: Printer, home: Path | None, *, deep: bool) -> int:
    """Run all checks and print the findings; return 0 if there are no faults and 1 otherwise."""
    sections = examine(check_context(home, deep=deep))
    gravest = str(worst(sections))
    if out.as_json:
        out.document(
            {
                "worst": gravest,
                "findings": [_fields_of(each.section, finding) for each in sections for finding in each.findings],
            }
        )
    else:
        out.blocks(_blocks(sections))
    return Exit.FAILED if gravest == "fault" else Exit.OK


def _fields_of(section: str, finding: Finding) -> Mapping[str, str]:
    return {
        "section": section,
        "grade": str(finding.grade),
        "what": finding.what,
        "text": finding.text,
        "fix": finding.mend,
    }


def _blocks(sections: Sequence[Examined]) -> list[Block]:
    rows = [_row(each.section, finding) for each in sections for finding in each.findings]
    blocks: list[Block] = [Table(head=("section", "found", "what", "text"), rows=rows, spare=("section",))]
    mends = [(each.section, finding) for each in sections for finding in each.findings if finding.mend]
    if mends:
        blocks.append(Lines(lines=[line for section, finding in mends for line in _mend(section, finding)]))
    return [*blocks, Lines(lines=[_sum(sections)])]


def _row(section: str, finding: Finding) -> list[Cell]:
    return [cell(section), cell(finding.grade, TONES[finding.grade]), cell(finding.what), cell(finding.text)]


def _mend(section: str, finding: Finding) -> list[Cell]:
    """Return the finding's full text, which a narrow terminal cuts off in the table, and how to fix the problem."""
    tone = TONES[finding.grade]
    return [Cell(f"{finding.grade}: {section}, {finding.what}: {finding.text}", tone), Cell(f"    {finding.mend}")]


def _sum(sections: Sequence[Examined]) -> Cell:
    grades = [str(finding.grade) for each in sections for finding in each.findings]
    counts = [
        f"{count} {grade}{'s' if count > 1 else ''}"
        for grade in ("fault", "warning", "note")
        if (count := grades.count(grade))
    ]
    if not counts:
        return Cell("all is well", Tone.GOOD)
    worst = next(grade for grade in ("fault", "warning", "note") if grade in grades)
    return Cell(", ".join(counts), TONES[worst])

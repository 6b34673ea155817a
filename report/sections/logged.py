"""What is told by the log is said with a word on how far back the log goes."""

from __future__ import annotations

from report.document import Block, Paragraph, line
from report.figures import Known, Summary
from report.wording import minute, number

GONE = "no longer known"


def logged(summary: Summary, count: float, text: str = "") -> str:
    """A figure that the log tells: as it is, as the least that it was, or no longer known."""
    if summary.known is Known.NOTHING:
        return GONE
    shown = text or number(count)
    return shown if summary.known is Known.WHOLE else f"{shown} or more"


def remark(summary: Summary) -> list[Block]:
    """A remark for a section with figures of the log; none where the log is whole."""
    if summary.known is Known.WHOLE:
        return []
    if summary.known is Known.NOTHING:
        text = "The events of this time have been pruned: what the log alone told is no longer known."
    else:
        text = (
            f"Events before {minute(summary.log_since)} UTC have been pruned: "
            "figures that the log alone tells count from then."
        )
    return [Paragraph(text=line(text), aside=True)]

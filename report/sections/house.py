"""The daemon itself: how long it was up, why it rested, and what it met."""

from __future__ import annotations

from core.queueing import PauseSource
from report.daemon_figures import DaemonFigures
from report.document import Block, Paragraph, Section, Table, line
from report.figures import Known, Summary
from report.sections.logged import logged, remark
from report.wording import cut, duration, minute, number

_HOLDS = {
    PauseSource.OWNER: "you paused it",
    PauseSource.CHECKPOINT: "a checkpoint waited for you",
    PauseSource.REVIEW: "too many commits were unread",
    PauseSource.QUIET: "quiet hours",
    PauseSource.BATTERY: "on battery",
    PauseSource.DISK: "little room on the disk",
}


def section(summary: Summary) -> Section:
    """The section."""
    found = summary.daemon
    if summary.known is Known.NOTHING:
        return Section(name="daemon", title="The daemon", blocks=remark(summary))
    blocks = [Paragraph(text=line(_life(summary, found))), *_holds(found), *_notable(found), *remark(summary)]
    return Section(name="daemon", title="The daemon", blocks=blocks)


def _life(summary: Summary, found: DaemonFigures) -> str:
    up = f"Up for {duration(found.up_s)} of {duration(found.known_s)}" if found.known_s else "Up"
    share = f" ({found.up_s / found.known_s:.1%})" if found.known_s else ""
    starts = logged(summary, found.starts)
    crashes = logged(summary, found.crashes)
    return f"{up}{share}. Starts: {starts}. Ends without a word (kill, crash, power): {crashes}."


def _holds(found: DaemonFigures) -> list[Block]:
    if not found.held_s:
        return [Paragraph(text=line("Nothing held work back."))]
    rows = [
        [line(_HOLDS[source]), line(duration(held)), line("yes" if source in found.standing else "")]
        for source, held in found.held_s.items()
    ]
    return [Table(head=("work was held back", "for", "still at the end"), rows=rows, numbers=frozenset({1}))]


def _notable(found: DaemonFigures) -> list[Block]:
    if not found.notable:
        return [Paragraph(text=line("It met nothing worth a line."))]
    rows = [
        [
            line(one.what),
            line(number(one.count)),
            line(minute(one.last.at)),
            line(cut(one.last.message, 100)),
        ]
        for one in found.notable
    ]
    return [Table(head=("what", "times", "last", "said"), rows=rows, numbers=frozenset({1}), title="What it met")]

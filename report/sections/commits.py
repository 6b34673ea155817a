"""Git activity, and the commits worth reading in the order of their risk, with what to do about each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from core.events import Kind
from core.verdicts import Label
from db.report_queries import CommitRow
from report.commit_figures import CommitFigures, Repository
from report.document import (
    Block,
    Entries,
    Entry,
    Line,
    Paragraph,
    Part,
    Section,
    Stack,
    Style,
    Table,
    code,
    dim,
    line,
    of_task,
    strong,
)
from report.figures import Summary
from report.risk import HIGH, MEDIUM, Level, Ranked
from report.sections.logged import logged, remark
from report.wording import MAX_TEXT, cut, many, number

SHOWN, SETTLED = 12, 5
_LABELS = {
    Label.VERIFIED: Style.GOOD,
    Label.TESTS_PASSED: Style.PLAIN,
    Label.SELF_TESTED: Style.WARN,
    Label.EXIT_CODE: Style.BAD,
}
_LEVELS = {Level.HIGH: Style.BAD, Level.MEDIUM: Style.WARN, Level.LOW: Style.DIM}


def activity(summary: Summary) -> Section:
    """What was committed where, and what vouches for it."""
    figures = summary.commits
    if not figures.total.commits:
        return Section(name="commits", title="Git activity", blocks=[Paragraph(text=line("Nothing was committed."))])
    conflicts = logged(summary, summary.happened(Kind.CONFLICT))
    failed = logged(summary, summary.happened(Kind.PUSH_FAILED))
    text = f"Conflicts while integrating: {conflicts}. Pushes that failed: {failed}."
    blocks = [_labels(figures), _repositories(figures), Paragraph(text=line(text)), *remark(summary)]
    return Section(name="commits", title="Git activity", blocks=blocks)


def reading(summary: Summary) -> Section:
    """The commits worth reading."""
    figures = summary.commits
    waiting = [one for one in figures.ranked if not one.decided]
    settled = [one for one in figures.ranked if one.decided]
    blocks: list[Block] = [Paragraph(text=_intro(figures))]
    if figures.ranked:
        shown = [*waiting[:SHOWN], *settled[:SETTLED]]
        blocks.append(Entries(items=[_entry(one) for one in shown]))
        blocks += _rest(len(waiting) - len(waiting[:SHOWN]), len(settled) - len(settled[:SETTLED]))
    return Section(name="reading", title="Commits worth reading", blocks=blocks)


def _labels(figures: CommitFigures) -> Block:
    order = [*map(str, Label), "unknown"]
    labels = sorted(figures.labels, key=lambda name: order.index(name) if name in order else len(order))
    styles = {str(label): style for label, style in _LABELS.items()}
    parts = [
        Part(name=name.replace("_", " "), count=figures.labels[name], style=styles.get(name, Style.DIM))
        for name in labels
    ]
    return Stack(title="What vouches for them", parts=parts)


def _repositories(figures: CommitFigures) -> Block:
    names = short_names([repository.name for repository in figures.repositories])
    rows = [_row(names[one.name], one) for one in figures.repositories]
    if len(rows) > 1:
        rows.append(_row("all", figures.total))
    head = ("repository", "commits", "added", "removed", "integrated", "pushed", "reverted", "read")
    return Table(head=head, rows=rows, numbers=frozenset(range(1, len(head))))


def _row(name: str, one: Repository) -> list[Line]:
    least = " or more" if one.unknown else ""
    sizes = [
        f"{number(count)}{least}" if one.unknown < one.commits else "unknown" for count in (one.added, one.removed)
    ]
    counts = [number(count) for count in (one.integrated, one.pushed, one.reverted, one.reviewed)]
    return [line(text) for text in (cut(name, 40), number(one.commits), *sizes, *counts)]


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """A short name for each repository: the end of its path, as much of it as tells them apart."""
    found = {}
    for path in paths:
        parts = [part for part in re.split(r"[/\\]", path) if part]
        depth = next(
            (n for n in range(1, len(parts)) if sum(other.endswith("/".join(parts[-n:])) for other in paths) == 1),
            len(parts),
        )
        found[path] = "/".join(parts[-depth:]) if parts else "workspace"
    return found


def _intro(figures: CommitFigures) -> Line:
    if not figures.ranked:
        return line(f"There is none.{_older(figures)}")
    high, medium = figures.unread_at(Level.HIGH), figures.unread_at(Level.MEDIUM)
    return line(
        f"To be read are {many(figures.unread, 'new commit')}: ",
        strong(f"{number(high)} of high risk"),
        f" ({HIGH} points or more), {number(medium)} of medium ({MEDIUM} or more), "
        f"{number(figures.unread - high - medium)} of low.{_older(figures)} The riskiest come first, "
        "each with what makes up its points.",
    )


def _older(figures: CommitFigures) -> str:
    return f" {many(figures.unread_before, 'older commit')} wait as well." if figures.unread_before else ""


def _entry(one: Ranked) -> Entry:
    commit = one.commit
    state = " · taken back" if commit.reverted else " · read" if commit.reviewed else ""
    head = line(
        strong(f"{one.points} points"),
        f" ({one.level}){state} · ",
        of_task(commit.task_id, f"task {commit.task_id}"),
        " · ",
        code(commit.commit[:10]),
        f" {cut(commit.subject, MAX_TEXT)}",
    )
    reasons = [f"{reason.text} (+{reason.points})" for reason in one.reasons]
    lines = [line("; ".join(cut(reason, 160) for reason in reasons))] if reasons else []
    lines.append(line(dim(_size(commit))))
    return Entry(
        head=head,
        style=_LEVELS[one.level],
        lines=lines,
        commands=() if one.decided else _commands(one),
        settled=one.decided,
    )


def _size(commit: CommitRow) -> str:
    label = (commit.label or "no verdict").replace("_", " ")
    if commit.files is None:
        return f"{label}; size not known"
    added, removed = (sum(getattr(file, side) or 0 for file in commit.files) for side in ("added", "removed"))
    return f"{label}; +{number(added)} −{number(removed)} in {many(len(commit.files), 'file')}"


def _commands(one: Ranked) -> list[tuple[str, str]]:
    commit = one.commit
    where = f" --repo {shlex.quote(commit.asked_repo)}" if commit.asked_repo else ""
    return [
        ("look again", f"cli.py verify {commit.commit[:12]}{where}"),
        ("keep", f"cli.py --reviewed {commit.task_id}"),
        ("take back", f"cli.py --revert {commit.task_id}"),
    ]


def _rest(waiting: int, settled: int) -> list[Block]:
    parts = [f"{number(waiting)} more to read" if waiting else "", f"{number(settled)} more settled" if settled else ""]
    text = ", ".join(filter(None, parts))
    return [Paragraph(text=line(dim(f"Not listed: {text}.")))] if text else []

"""Renders the report as Markdown that reads well both raw in a terminal and rendered on a forge such as GitHub.

The text is in the template `templates/report.md`. Every value that is inserted passes through `escape`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.core.program import format_command
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Spent
from nightshift.core.text import formats
from nightshift.report import brief, wording
from nightshift.report.advice import recommendations
from nightshift.report.commit_figures import short_names
from nightshift.report.figures import Summary
from nightshift.report.learning import ENOUGH
from nightshift.report.markup import code, escape
from nightshift.report.risk import HIGH, MEDIUM
from nightshift.report.task_figures import duration_s
from nightshift.report.weeks import report_name

if TYPE_CHECKING:
    from jinja2 import Environment

_CELL_END = re.compile(r"(?<!\\)\|")
_HELPERS = {
    each.__name__: each
    for each in (
        code, duration_s, short_names, formats.tokens, formats.duration, formats.money, wording.cost, wording.cut,
        wording.interval, wording.join_words, wording.many, wording.minute, wording.number, wording.percent,
        wording.points, wording.share_of, wording.tenths, wording.words, format_command,
    )
}  # fmt: skip
"""Functions that the template can call, and use as filters."""


def render(summary: Summary) -> str:
    """Render the report as Markdown, ending with a newline. Secrets in the summary must be masked before."""
    return fill(
        "report.md",
        week=summary,
        coverage=summary.log_coverage,
        name=report_name(summary.since, summary.until),
        needs=list_needs(summary),
        in_brief=brief.line(tell_brief(summary)),
        advice=recommendations(summary),
        points_high=HIGH,
        points_medium=MEDIUM,
        enough=ENOUGH,
    )


def fill(template: str, **values: object) -> str:
    """Fill a Markdown template and align its tables."""
    text = _templates().get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", align(text)).strip() + "\n"


def tell_brief(summary: Summary) -> brief.Figures:
    """Return the figures for the brief line at the head of the report, as of the end of the span."""
    tasks, commits, spend = summary.tasks, summary.commits, summary.usage.cost
    standing = [ranked.commit for ranked in commits.ranked if not (ranked.commit.reverted or ranked.commit.discarded)]
    return brief.Figures(
        landed=sum(commit.integrated for commit in standing),
        on_branch=sum(not commit.integrated for commit in standing),
        drafts=len(summary.drafts),
        failed=tasks.count(Status.FAILED),
        common=max((len(cause.tasks) for cause in tasks.causes), default=0),
        spent=Spent(model_calls=summary.usage.calls, cost_usd=spend.usd, unpriced=int(spend.unpriced_tokens > 0)),
        needs=summary.open_asks,
        unread=commits.unread,
    )


def list_needs(summary: Summary) -> list[str]:
    """List what waits for the owner, as phrases such as `3 commits to read`."""
    unread, asks, failed = summary.commits.unread, summary.open_asks, summary.tasks.count(Status.FAILED)
    return [
        *([f"{wording.many(unread, 'commit')} to read"] if unread else []),
        *([wording.many(asks, "decision")] if asks else []),
        *([wording.many(failed, "failed task")] if failed else []),
    ]


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  only a report needs it

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,  # Jinja's HTML escaping; it skips the Markup that `finalize` returns
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= _HELPERS
    environment.globals |= _HELPERS
    return environment


def align(text: str) -> str:
    """Pad the cells of each Markdown table so that its columns align."""
    lines = groupby(text.split("\n"), lambda line: line.startswith("|"))
    return "\n".join(line for tables, group in lines for line in (_table(group) if tables else group))


def _table(lines: Iterable[str]) -> list[str]:
    head, rule, *rows = [[cell.strip() for cell in _CELL_END.split(line)[1:-1]] for line in lines]
    widths = [max(3, *map(_columns, column)) for column in zip(head, *rows, strict=True)]
    right = [cell.endswith(":") for cell in rule]
    rule = ["-" * (width - 1) + (":" if numbers else "-") for width, numbers in zip(widths, right, strict=True)]
    padded = [[_pad(*cell) for cell in zip(row, widths, right, strict=True)] for row in (head, *rows)]
    return ["| " + " | ".join(row) + " |" for row in (padded[0], rule, *padded[1:])]


def _pad(cell: str, width: int, right: bool) -> str:
    space = " " * (width - _columns(cell))
    return space + cell if right else cell + space


def _columns(text: str) -> int:
    """Return the width of a text in terminal columns."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in {"W", "F"}) for char in text
    )

"""Tasks: how they ended and how soon, what was slow, and what failed for which reasons."""

from __future__ import annotations

from collections.abc import Sequence

from core.states import Ending, Status
from report.document import (
    Block,
    Line,
    Paragraph,
    Part,
    Piece,
    Section,
    Stack,
    Style,
    Table,
    code,
    dim,
    line,
    of_task,
)
from report.figures import Summary
from report.stats import Spread
from report.task_figures import FailedGroup, TaskFigures, duration_s
from report.wording import SHORT_TEXT, cut, duration, many, number, percent, share_of

_STYLES = {
    Ending.COMMITTED: Style.GOOD,
    Ending.NO_CHANGE: Style.PLAIN,
    Ending.USER: Style.DIM,
}


def section(summary: Summary) -> Section:
    """The section."""
    tasks = summary.tasks
    if not tasks.ended:
        text = f"{many(tasks.submitted, 'task')} came in, none ended, {number(tasks.open_at_end)} were open at the end."
        return Section(name="tasks", title="Tasks", blocks=[Paragraph(text=line(text))])
    blocks = [_intro(tasks), _endings(tasks), _times(tasks), *_kinds(tasks), *_failed(tasks), _slowest(tasks)]
    return Section(name="tasks", title="Tasks", blocks=blocks)


def _intro(tasks: TaskFigures) -> Block:
    done = tasks.count(Status.DONE)
    return Paragraph(
        text=line(
            f"{number(tasks.submitted)} came in, {number(tasks.ended)} ended, {number(tasks.open_at_end)} were open "
            f"at the end. Done: {share_of(done, tasks.ended)}; at the first try: {share_of(tasks.first_try, done)}."
        )
    )


def _endings(tasks: TaskFigures) -> Block:
    parts = [
        Part(name=ending.replace("_", " "), count=count, style=_STYLES.get(ending, Style.BAD))
        for ending, count in tasks.by_ending.items()
    ]
    order = [Style.GOOD, Style.PLAIN, Style.BAD, Style.DIM]
    return Stack(title="How they ended", parts=sorted(parts, key=lambda part: order.index(part.style)))


def _times(tasks: TaskFigures) -> Block:
    rows: Sequence[tuple[str, Spread, bool]] = (
        ("iterations", tasks.iterations, False),
        ("time from first start to end", tasks.duration_s, True),
        ("wait in the queue", tasks.queue_wait_s, True),
    )
    return Table(
        head=("of those that were started", "median", "95 % within", "longest"),
        rows=[[line(name), *_three(spread, is_time)] for name, spread, is_time in rows],
        numbers=frozenset({1, 2, 3}),
    )


def _three(spread: Spread, is_time: bool) -> list[Line]:
    values = (spread.median, spread.p95, spread.most)
    return [line((duration(v) if is_time else number(v)) if spread.count else "–") for v in values]


def _kinds(tasks: TaskFigures) -> list[Block]:
    if len(tasks.kinds) < 2:
        return []
    rows = [
        [
            line(cut(each.kind) or dim("not said")),
            line(f"{number(each.done.part)} of {number(each.done.whole)}"),
            line(percent(each.done)),
            line(percent(each.first_try)),
            line(number(each.iterations.median) if each.iterations.count else "–"),
        ]
        for each in tasks.kinds
    ]
    head = ("kind", "done", "succeeded", "at the first try", "median iterations")
    return [Table(head=head, rows=rows, numbers=frozenset({1, 2, 3, 4}), title="By kind")]


def _failed(tasks: TaskFigures) -> list[Block]:
    if not tasks.failed:
        return []
    rows = [
        [line(code(group.ending)), line(number(group.count)), line(cut(group.reason)), _examples(group)]
        for group in tasks.failed
    ]
    head = ("ending", "tasks", "reason", "such as")
    return [Table(head=head, rows=rows, numbers=frozenset({1}), title="What failed, and why")]


def _examples(group: FailedGroup) -> Line:
    parts = list[str | Piece]()
    for at, task in enumerate(group.tasks):
        parts += ["; " if at <= 2 else ", "] if at else []
        parts += [of_task(task.id), f" {cut(task.description, 40)}" if at < 2 else ""]
    return line(*parts, " …" if group.count > len(group.tasks) else "")


def _slowest(tasks: TaskFigures) -> Block:
    rows = [
        [
            line(of_task(task.id)),
            line(duration(duration_s(task))),
            line(number(task.iterations)),
            line((task.ending or task.status).replace("_", " ")),
            line(cut(task.description, SHORT_TEXT)),
        ]
        for task in tasks.slowest
    ]
    head = ("task", "time", "iterations", "ending", "what")
    return Table(head=head, rows=rows, numbers=frozenset({0, 1, 2}), title="Slowest")

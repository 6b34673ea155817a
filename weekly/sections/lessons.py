"""What went wrong most often and what was learned from it; and whether recalling lessons helps."""

from __future__ import annotations

from core.shares import Share, wilson
from weekly.document import (
    Block,
    Entries,
    Entry,
    Line,
    Paragraph,
    Section,
    Style,
    Table,
    code,
    dim,
    line,
    of_task,
    strong,
)
from weekly.figures import Summary
from weekly.learning import ENOUGH, Arm, Learning, Pattern, Uplift
from weekly.sections.logged import logged, remark
from weekly.wording import cut, many, number, percent, share_of, signed, tokens


def failures(summary: Summary) -> Section:
    """The commonest failures."""
    found = summary.learning
    if not found.patterns:
        blocks: list[Block] = [Paragraph(text=line("No failure was stored."))]
        return Section(name="failures", title="Commonest failures", blocks=blocks)
    text = f"{many(found.stored, 'failure')} met and stored; a fix is known for {share_of(found.fixed, found.stored)}."
    blocks = [Paragraph(text=line(text)), Entries(items=[_pattern(one) for one in found.patterns])]
    return Section(name="failures", title="Commonest failures", blocks=blocks)


def _pattern(one: Pattern) -> Entry:
    head = line(
        strong(many(one.count, "time")),
        f" in {many(one.tasks, 'task')}, {number(one.solved)} solved: ",
        code(cut(one.signature or "no message", 100)),
    )
    lines = [line(dim("such as "), *_example(one))]
    if one.lesson:
        lines.append(line("learned: ", cut(one.lesson, 300)))
    return Entry(head=head, style=Style.GOOD if one.lesson else Style.DIM, lines=lines)


def _example(one: Pattern) -> Line:
    number, text = one.example.task_id, cut(" ".join(one.example.error.split("\n")[:2]), 200)
    return line(of_task(number, f"task {number}"), f": {text}") if number else line(text)


def memory(summary: Summary) -> Section:
    """Whether lessons help."""
    found, uplift = summary.learning, summary.learning.uplift
    text = (
        f"Learned: {many(found.fixed, 'fix', 'fixes')} of failures and {many(found.solutions, 'solution')} of tasks. "
        f"Lessons were recalled for {logged(summary, found.recalled)} plans and tries."
    )
    blocks: list[Block] = [Paragraph(text=line(text)), *remark(summary)]
    if uplift.recalled.solved.whole or uplift.without.solved.whole:
        blocks += [_arms(uplift), Paragraph(text=_word(uplift)), Paragraph(text=line(_CAUTION), aside=True)]
    return Section(name="memory", title="Does memory help?", blocks=[*blocks, *_unknown(found)])


_CAUTION = (
    "No trial: which task sees a lesson is not left to chance, and a task like an earlier one may be easier or harder "
    "than others. Counted are lessons that the first plan saw; those that were recalled after a failure would compare "
    "tasks that failed with tasks that did not. Intervals after Wilson (1927), their difference after Newcombe (1998)."
)


def _arms(uplift: Uplift) -> Block:
    return Table(
        head=("first plan", "tasks", "done", "95 % interval", "at the first try", "median iterations", "median tokens"),
        rows=[_arm("saw lessons", uplift.recalled), _arm("saw none", uplift.without)],
        numbers=frozenset({1, 2, 3, 4, 5, 6}),
    )


def _arm(name: str, arm: Arm) -> list[Line]:
    whole = arm.solved.whole
    return [
        line(name),
        line(number(whole)),
        line(percent(arm.solved)),
        line(_interval(arm.solved)),
        line(percent(arm.first_try)),
        line(number(arm.iterations.median) if whole else "–"),
        line(tokens(arm.tokens.median) if whole else "–"),
    ]


def _interval(share: Share) -> str:
    found = wilson(share)
    return f"{found.low:.0%} to {found.high:.0%}" if share.whole else "–"


def _word(uplift: Uplift) -> Line:
    interval = uplift.interval
    if interval is None:
        return line("There is nothing to compare: all tasks are on one side.")
    low, high = interval.low, interval.high
    gap = f"between {signed(round(100 * low))} and {signed(round(100 * high))} points"
    if not uplift.enough:
        return line(
            strong("Too few to tell"), f": the difference lies {gap}; {ENOUGH} tasks on each side are the least."
        )
    if low > 0:
        return line(strong("Tasks with lessons were done more often"), f": the difference lies {gap}.")
    if high < 0:
        return line(strong("Tasks with lessons were done less often"), f": the difference lies {gap}.")
    return line(strong("No difference can be told"), f": it lies {gap}, which includes none.")


def _unknown(found: Learning) -> list[Block]:
    count = found.uplift.unknown
    text = f"{many(count, 'task')} left out: what the first plan saw is not known."
    return [Paragraph(text=line(dim(text)))] if count else []

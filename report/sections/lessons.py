"""What went wrong most often and what was learned from it; and whether recalling lessons helps."""

from __future__ import annotations

from collections.abc import Callable

from core.shares import Interval, Share, wilson
from report.document import (
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
from report.figures import Summary
from report.learning import ENOUGH, Arm, Learning, Pattern, Uplift
from report.sections.logged import logged, remark
from report.wording import cut, many, number, percent, share_of, signed, tokens


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
    if uplift.shown.solved.whole or uplift.control.solved.whole:
        blocks += [
            _arms(found),
            Paragraph(text=_word(uplift)),
            *_means(uplift),
            Paragraph(text=line(_METHOD), aside=True),
        ]
    return Section(name="memory", title="Does memory help?", blocks=blocks)


_METHOD = (
    "A trial: a share of the attempts (RECALL_CONTROL_SHARE) sees no lesson, by a lot that is drawn before anything is "
    "known of them. Counted are attempts that a lesson was near to, each where its lot put it, so nothing else tells "
    "the two groups apart. Rates after Wilson (1927), their difference after Newcombe (1998), means by bootstrap; 95 %."
)


def _arms(found: Learning) -> Block:
    return Table(
        head=("attempts that", "this span", "solved", "so far", "solved", "95 % interval", "mean tries", "mean tokens"),
        rows=[
            _arm("were to see lessons", found.lately.shown, found.uplift.shown),
            _arm("saw none, by lot", found.lately.control, found.uplift.control),
        ],
        numbers=frozenset(range(1, 8)),
    )


def _arm(name: str, lately: Arm, arm: Arm) -> list[Line]:
    whole = arm.solved.whole
    return [
        line(name),
        line(number(lately.solved.whole)),
        line(percent(lately.solved)),
        line(number(whole)),
        line(percent(arm.solved)),
        line(_interval(arm.solved)),
        line(f"{sum(arm.iterations) / whole:.1f}" if whole else "–"),
        line(tokens(sum(arm.tokens) / whole) if whole else "–"),
    ]


def _interval(share: Share) -> str:
    found = wilson(share)
    return f"{found.low:.0%} to {found.high:.0%}" if share.whole else "–"


def _word(uplift: Uplift) -> Line:
    found = uplift.solved
    if found is None:
        return line("There is nothing to compare: all attempts are on one side.")
    gap = f"between {signed(round(100 * found.low))} and {signed(round(100 * found.high))} points"
    if not uplift.enough:
        return line(
            strong("Too few to tell"), f": the difference lies {gap}; {ENOUGH} attempts on each side are the least."
        )
    if found.low > 0:
        return line(strong("Attempts with lessons were solved more often"), f": the difference lies {gap}.")
    if found.high < 0:
        return line(strong("Attempts with lessons were solved less often"), f": the difference lies {gap}.")
    return line(strong("No difference can be told"), f": it lies {gap}, which includes none.")


def _means(uplift: Uplift) -> list[Block]:
    """What attempts took; said where there are enough of them."""
    tries, used = uplift.iterations, uplift.tokens
    if not uplift.enough or tries is None or used is None:
        return []
    text = (
        f"With lessons an attempt took {_more(tries, _tenths)} tries ({_reach(tries, _tenths)}) and "
        f"{_more(used, tokens)} tokens ({_reach(used, tokens)})."
    )
    return [Paragraph(text=line(text))]


def _more(found: Interval, words: Callable[[float], str]) -> str:
    return f"{words(abs(found.estimate))} {'fewer' if found.estimate < 0 else 'more'}"


def _reach(found: Interval, words: Callable[[float], str]) -> str:
    low, high = (f"{'−' if value < 0 else '+'}{words(abs(value))}" for value in (found.low, found.high))
    return f"{low} to {high}"


def _tenths(value: float) -> str:
    return f"{value:.1f}"

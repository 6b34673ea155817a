"""A benchmark's figures as Markdown; the dashboard reads the same text and draws the plot beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from markupsafe import Markup

from nightshift.core.shares import Share
from nightshift.core.text.formats import NOTHING, duration, money, tokens
from nightshift.report.benchmark.plot import rate_against_cost
from nightshift.report.benchmark.report import STRATA, ArmFigures, BenchmarkReport, Comparison
from nightshift.report.html import Document, read
from nightshift.report.markdown import aligned
from nightshift.report.markup import code, escaped, sentence
from nightshift.report.wording import interval, many, minute, percent, points, share_of

MODES = {"shown": "with the tests of the commit shown", "words": "by its words alone, with the tests held out"}
_METHOD = (
    "Two arms are compared on the items that both have worked on, by McNemar's test (mid-p); p is adjusted for the "
    "number of comparisons, after Holm. The last column is the difference that would be found four times in five."
)
_ROUNDS = "Each round tries the same items again; arms with memory know the lessons of the rounds before."
_PRICE = (
    "Costs are what is known: an arm shows $0 where its model is free, and where its price is not set (`MODEL_PRICES`)."
)


def render(report: BenchmarkReport) -> str:
    """The report as Markdown, ending with a newline."""
    parts = ["\n".join(part) for part in (_head(report), _body(report), _learning(report))]
    return aligned("\n\n".join(part for part in parts if part)).strip() + "\n"


def document(report: BenchmarkReport) -> Document:
    """The report as the page draws it: the Markdown's elements, and the plot below the arms."""
    found = read(render(report))
    if not report.arms:
        return found
    arms, *others = found.sections
    plotted = replace(arms, body=[*arms.body, rate_against_cost(report.arms)])
    return replace(found, sections=[plotted, *others])


def said(comparison: Comparison) -> Markup:
    """State the result of a comparison, in a sentence or two."""
    pairs, found = comparison.pairs, comparison.difference
    first, second = code(comparison.first), code(comparison.second)
    told = sentence(
        "{} against {}: {} points ({} against {} of {}), 95 %: {}; p: {}.",
        *(first, second, points(found.estimate), pairs.first.part, pairs.second.part, many(pairs.count, "item")),
        *(_span(comparison), _p(comparison.p_value)),
    )
    return told if comparison.is_significant else sentence("{} That may be chance: {}.", told, _needed(comparison))


def _head(report: BenchmarkReport) -> Iterator[str]:
    last = max((arm.last_at for arm in report.arms if arm.last_at), default=None)
    yield sentence("# Benchmark of {}", PurePath(report.repo).name)
    yield ""
    given = MODES.get(report.mode)
    span = f"{many(report.items, 'item')}{f', {given}' if given else ''}"
    yield sentence("{}: {}{}", code(report.repo), span, f"; last attempt {minute(last)} UTC" if last else "")
    yield ""
    if report.learning:
        for comparison in report.learning.comparisons:
            yield from (sentence("Memory in round {}: {}", len(report.learning.rounds), said(comparison)), "")
    if not report.arms:
        if not report.learning:
            yield "No arm has worked on an item yet."
        return
    best = report.arms[0]
    yield sentence("{} solves the most: {}, 95 %: {}.", code(best.arm.name), _share(best.solved), interval(best.solved))
    for comparison in report.comparisons:
        if comparison.is_uplift:
            yield ""
            yield sentence("Memory: {}", said(comparison))


def _body(report: BenchmarkReport) -> Iterator[str]:
    if not report.arms:
        return
    yield "## Arms"
    yield ""
    yield from _table(
        ("arm", "solved", "95 %", "cost an item", "cost a solved one", "tokens", "time", "iterations", "format errors"),
        [_row(arm) for arm in report.arms],
    )
    if any(not arm.cost_usd for arm in report.arms):
        yield from ("", _PRICE)
    yield from ("", "## By size of change", "")
    bounds = [f"{least + 1} to {most} lines" for least, most in zip((0, *STRATA), STRATA, strict=False)]
    yield from _table(
        ("arm", *bounds),
        [[code(arm.arm.name, in_table=True), *(_share(arm.by_lines[most]) for most in STRATA)] for arm in report.arms],
    )
    yield from ("", "## After the training of the model", "")
    yield from _cutoffs(report.arms)
    if report.comparisons:
        yield from ("", "## Compared", "")
        yield from _table(
            ("arm", "against", "items", "alone", "other alone", "points", "95 %", "p", "would be found"),
            [_compared(comparison) for comparison in report.comparisons],
        )
        yield ""
        yield _METHOD


def _learning(report: BenchmarkReport) -> Iterator[str]:
    if report.learning is None:
        return
    rounds = report.learning.rounds
    yield from ("## Rounds", "")
    named = [{arm.arm.name: _share(arm.solved) for arm in figures} for figures in rounds]
    yield from _table(
        ("arm", *(f"round {number}" for number in range(1, len(rounds) + 1))),
        [[code(name, in_table=True), *(one.get(name, "–") for one in named)] for name in named[0]],
    )
    yield from ("", _ROUNDS)


def _row(arm: ArmFigures) -> list[str]:
    one = NOTHING if arm.solved_usd is None else money(arm.solved_usd)
    return [
        code(arm.arm.name, in_table=True),
        _share(arm.solved),
        interval(arm.solved),
        money(arm.item_usd),
        one,
        tokens(arm.tokens),
        duration(arm.seconds),
        f"{arm.iterations:.1f}",
        percent(arm.format_errors),
    ]


def _compared(comparison: Comparison) -> list[str]:
    pairs, least = comparison.pairs, comparison.detectable
    return [
        *(code(name, in_table=True) for name in (comparison.first, comparison.second)),
        *map(str, (pairs.count, pairs.only_first, pairs.only_second)),
        points(comparison.difference.estimate),
        _span(comparison),
        str(escaped(_p(comparison.p_value))),
        "–" if least is None else f"{100 * least:.0f} points",
    ]


def _span(comparison: Comparison) -> str:
    found = comparison.difference
    return f"{points(found.low)} to {points(found.high)}"


def _needed(comparison: Comparison) -> str:
    least = comparison.detectable
    if least is None:
        return "so few items cannot tell these two apart"
    return f"a difference of {100 * least:.0f} points would be found four times in five"


def _cutoffs(arms: Sequence[ArmFigures]) -> Iterator[str]:
    known = [arm for arm in arms if arm.after_cutoff is not None]
    if known:
        yield from _table(
            ("arm", "trained until", "later commits", "95 %", "earlier commits"),
            [_cutoff(arm) for arm in known],
        )
    unknown = list(dict.fromkeys(arm.arm.model for arm in arms if arm.after_cutoff is None and arm.arm.model))
    if unknown:
        names = Markup(", ").join(map(code, unknown))
        if known:
            yield ""
        yield sentence(
            "Not known of {}: commits that a model was trained on inflate its rate. Set {} to tell them apart.",
            names,
            code("MODEL_CUTOFFS"),
        )


def _cutoff(arm: ArmFigures) -> list[str]:
    after = arm.after_cutoff or Share()
    before = Share(arm.solved.part - after.part, arm.solved.whole - after.whole)
    name = code(arm.arm.name, in_table=True)
    return [name, f"{arm.cutoff}", _share(after), interval(after), _share(before)]


def _share(share: Share) -> str:
    return share_of(share.part, share.whole)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)

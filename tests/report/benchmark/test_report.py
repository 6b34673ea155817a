"""The figures of a benchmark, and how its report presents them."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from nightshift.core.shares import Share, wilson
from nightshift.report.benchmark.markdown import render
from nightshift.report.benchmark.report import fold
from tests.support.benchmarks import DAY, NEWEST, REPO, arm, items, results

ITEMS = items(40, lines=(20, 21, 80, 200))
WEAK, STRONG = arm("weak", model="small"), arm("strong", model="large")


def test_an_arm_s_figures_are_those_of_its_results() -> None:
    outcomes = [
        *results(WEAK, ITEMS[:2], {0}, cost_usd=0.2, tokens_in=100, tokens_out=20, seconds=10.0, iterations=1),
        *results(WEAK, ITEMS[2:4], {0, 1}, cost_usd=0.4, tokens_in=300, tokens_out=60, seconds=30.0, iterations=4,
                 format_errors=2, finished_at=NEWEST + DAY),
    ]  # fmt: skip
    (figures,) = fold(REPO, ITEMS, [STRONG, WEAK], outcomes).arms
    assert (figures.arm, figures.solved, figures.interval) == (WEAK, Share(3, 4), wilson(Share(3, 4)))
    assert (figures.tokens, figures.seconds, figures.iterations) == (240, 20, 2.5)
    assert figures.format_errors == Share(2, 4)
    assert (figures.cost_usd, figures.item_usd, figures.solved_usd) == pytest.approx((1.2, 0.3, 0.4))
    assert figures.last_at == NEWEST + DAY


def test_each_two_arms_are_compared_on_the_items_that_both_worked_on() -> None:
    outcomes = [*results(WEAK, ITEMS[:30], range(10)), *results(STRONG, ITEMS[10:], range(25))]
    (comparison,) = fold(REPO, ITEMS, [WEAK, STRONG], outcomes).comparisons
    assert (comparison.first, comparison.second) == ("strong", "weak")
    assert (comparison.pairs.count, comparison.pairs.only_first, comparison.pairs.only_second) == (20, 20, 0)


def test_names_from_outside_are_text() -> None:
    hostile = arm("<b>|`x`", model="<script>")
    benchmark_report = fold("/home/<i>|shop", ITEMS, [hostile], results(hostile, ITEMS, range(3)))
    page = MarkdownIt("commonmark").enable("table").render(render(benchmark_report))
    assert "<script>" not in page
    assert "<b>|" not in page
    rows = [line for line in render(benchmark_report).split("\n") if line.startswith("|")]
    assert all(line.count(" | ") == rows[0].count(" | ") for line in rows[:3])

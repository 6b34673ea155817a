"""The span beside those before it: each figure as a plot, and all of them in a table."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from datetime import timedelta

from report.document import Block, Line, Paragraph, Section, Series, Table, Trend, line
from report.figures import Summary
from report.trends import Point
from report.wording import day, duration, least, minute, number, percent, signed, tokens

Value = Callable[[Point], float | None]


def section(summary: Summary) -> Section:
    """The section."""
    points = summary.trend
    before = [point for point in points[:-1] if point.began]
    if not before:
        text = "There is nothing before this span to compare it with."
        return Section(name="trends", title="Trends", blocks=[Paragraph(text=line(text))])
    text = f"Each figure over the {len(points) - 1} spans of the same length before this one; the last is this one."
    blocks: list[Block] = [
        Paragraph(text=line(text)),
        Trend(series=[_series(points, *figure) for figure in _FIGURES]),
        _table(points),
    ]
    return Section(name="trends", title="Trends", blocks=blocks)


_FIGURES: Sequence[tuple[str, Value, Callable[[float], str], bool, float | None]] = (
    ("tasks done", lambda p: float(p.done), number, True, None),
    ("succeeded", lambda p: p.success.value, lambda v: f"{v:.0%}", False, 1.0),
    ("at the first try", lambda p: p.first_try.value, lambda v: f"{v:.0%}", False, 1.0),
    ("median iterations", lambda p: p.iterations.median if p.iterations.count else None, number, False, None),
    ("median wait", lambda p: p.queue_wait_s.median if p.queue_wait_s.count else None, duration, False, None),
    ("tokens", lambda p: float(p.cost.tokens), tokens, True, None),
    ("cost, USD", lambda p: p.cost.usd if p.cost.known else None, lambda v: f"{v:,.2f}", True, None),
)


def _series(
    points: Sequence[Point], name: str, value: Value, words: Callable[[float], str], bars: bool, top: float | None
) -> Series:
    values = [value(point) if point.began else None for point in points]
    known = [v for v in values[:-1] if v is not None]
    usual, now = (statistics.median(known) if known else None), values[-1]
    return Series(
        name=name,
        values=values,
        shown=["not known" if v is None else words(v) for v in values],
        labels=[_label(point) for point in points],
        bars=bars,
        top=top,
        usual="" if usual is None else words(usual),
        change=_change(usual, now, points=top == 1.0),
    )


def _change(usual: float | None, now: float | None, *, points: bool) -> str:
    """The last value against the usual one: in points for rates, else in per cent."""
    if usual is None or now is None:
        return ""
    if points:
        gap = round(100 * (now - usual))
        return signed(gap, " points") if gap else "as usual"
    if not usual:
        return "" if not now else "was none"
    change = round(100 * (now / usual - 1))
    return signed(change, " %") if change else "as usual"


def _label(point: Point) -> str:
    last = point.until - timedelta(seconds=1)
    return f"to {day(last) if point.until - point.since >= timedelta(days=1) else minute(last)}"


def _table(points: Sequence[Point]) -> Block:
    head = ("", "done", "succeeded", "at the first try", "median iterations", "median wait", "tokens", "cost")
    rows = [_row(point) for point in reversed(points) if point.began]
    return Table(head=head, rows=rows, numbers=frozenset(range(1, len(head))))


def _row(point: Point) -> list[Line]:
    worked = point.iterations.count
    texts = (
        _label(point),
        number(point.done),
        percent(point.success),
        percent(point.first_try),
        number(point.iterations.median) if worked else "–",
        duration(point.queue_wait_s.median) if worked else "–",
        tokens(point.cost.tokens),
        least(point.cost),
    )
    return [line(text) for text in texts]

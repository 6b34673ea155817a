"""The geometry of the plots; the template writes it as SVG.

They are made by hand: nine values need no plotting library, and one would bring scripts, fonts from elsewhere or random
ids, where the page must be the same bytes each time and show without any of these. Colours are the page's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report.document import Series, Stack, Style

WIDTH, HEIGHT = 240.0, 64.0
_TOP, _GAP = 6.0, 4.0
STACK_WIDTH = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A bar, or a point by its middle; `height` is 0 for a point. `label` tells its value; `now` marks the last one."""

    x: float
    y: float
    width: float
    height: float
    label: str
    now: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot of one figure: bars, or a line in the pieces between values that are not known."""

    title: str
    told: str
    """All values in words, for those who cannot see it."""
    marks: Sequence[Mark]
    lines: Sequence[str]
    bars: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a stack, from `x` on."""

    x: float
    width: float
    name: str
    count: int
    style: Style


def plot(series: Series) -> Plot:
    """The plot of a figure over time; values grow from the ground line, which is zero."""
    known = [value for value in series.values if value is not None]
    highest = max(series.top or 0.0, *known, 0.0) or 1.0
    marks = [_mark(series, at, highest) for at in range(len(series.values))]
    values = zip(series.labels, series.shown, strict=True)
    return Plot(
        title=series.name,
        told="; ".join(f"{label}: {shown}" for label, shown in values),
        marks=[mark for mark in marks if mark is not None],
        lines=[] if series.bars else _lines(marks),
        bars=series.bars,
    )


def segments(stack: Stack) -> list[Segment]:
    """The parts of a bar, side by side."""
    whole = sum(part.count for part in stack.parts)
    found, reached = [], 0
    for part in stack.parts:
        if part.count:
            x, width = STACK_WIDTH * reached / whole, STACK_WIDTH * part.count / whole
            found.append(Segment(x=_tidy(x), width=_tidy(width), name=part.name, count=part.count, style=part.style))
        reached += part.count
    return found


def _mark(series: Series, at: int, highest: float) -> Mark | None:
    value = series.values[at]
    if value is None:
        return None
    step = WIDTH / len(series.values)
    height = (HEIGHT - _TOP) * value / highest
    label = f"{series.labels[at]}: {series.shown[at]}"
    now = at == len(series.values) - 1
    if series.bars:
        height = max(height, 1.0)
        return Mark(
            x=_tidy(step * at + _GAP / 2), y=_tidy(HEIGHT - height), width=_tidy(step - _GAP), height=_tidy(height),
            label=label, now=now,
        )  # fmt: skip
    return Mark(x=_tidy(step * (at + 0.5)), y=_tidy(HEIGHT - height), width=0, height=0, label=label, now=now)


def _lines(marks: Sequence[Mark | None]) -> list[str]:
    pieces: list[list[str]] = [[]]
    for mark in marks:
        if mark is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{mark.x},{mark.y}")
    return [" ".join(piece) for piece in pieces if len(piece) > 1]


def _tidy(value: float) -> float:
    """Two decimals: finer than any screen, and short."""
    return round(value, 2) + 0.0

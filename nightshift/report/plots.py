"""The two kinds of plots, each in block characters for Markdown and as SVG for HTML.

They are made by hand: nine values need no plotting library, and one would bring scripts, fonts from elsewhere or random
ids, where the report must be the same bytes each time and show without any of these. Colours are the page's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nightshift.report.elements import Element, element

WIDTH, HEIGHT, BAR_WIDTH = 240.0, 64.0, 1000.0
_TOP, _GAP = 6.0, 4.0
_STEPS = "▁▂▃▄▅▆▇█"
_CELLS = 40


class Tone(StrEnum):
    """The meaning of a part of a whole; it is the part's colour."""

    GOOD = "good"
    PLAIN = "plain"
    WARN = "warn"
    BAD = "bad"
    DIM = "dim"


_GLYPHS = {Tone.GOOD: "█", Tone.PLAIN: "▓", Tone.WARN: "▒", Tone.BAD: "▚", Tone.DIM: "░"}
_TONES = {glyph: tone for tone, glyph in _GLYPHS.items()}
_PART = re.compile(rf"([{''.join(_TONES)}]) (.+?) (\d+)(?:, |$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a whole."""

    name: str
    count: int
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A figure over time, oldest first; None where it is not known. `shown` are the same values in words.

    `bars` for what is counted from zero, otherwise a line. `top` is the largest value that there can be, if one is.
    """

    name: str
    values: Sequence[float | None]
    shown: Sequence[str]
    labels: Sequence[str]
    bars: bool = False
    top: float | None = None
    usual: str = ""
    """The median of the values but the last, in words."""
    change: str = ""
    """The last value against that, in words."""


def spark(series: Series) -> str:
    """The values as a row of bars, from zero to the largest; a dot where there is none."""
    highest = series.top or max((value for value in series.values if value is not None), default=0.0)
    return "".join(
        "·" if value is None else _STEPS[round(7 * value / highest) if highest else 0] for value in series.values
    )


def bar(parts: Iterable[Part]) -> str:
    """A whole in its parts, as a bar that is always as long."""
    counted = list(parts)
    whole, found, reached = sum(part.count for part in counted), "", 0
    for part in counted:
        reached += part.count
        found += _GLYPHS[part.tone] * ((round(_CELLS * reached / whole) if whole else 0) - len(found))
    return found


def legend(parts: Iterable[Part]) -> str:
    """The parts that there are with their counts; `parts_of` reads it."""
    return ", ".join(f"{_GLYPHS[part.tone]} {part.name} {part.count}" for part in parts if part.count)


def parts_of(text: str) -> list[Part]:
    """The parts that a legend names."""
    return [Part(name=name, count=int(count), tone=_TONES[glyph]) for glyph, name, count in _PART.findall(text)]


def is_bar(text: str) -> bool:
    """Tell whether a text is a bar and nothing else."""
    return len(text) == _CELLS and set(text) <= set(_TONES)


def stack(title: str, parts: Sequence[Part]) -> Element:
    """A whole in its parts, as one bar with its legend."""
    told = ", ".join(f"{part.name}: {part.count}" for part in parts)
    whole, reached, drawn = sum(part.count for part in parts) or 1, 0, []
    for part in parts:
        x, width = BAR_WIDTH * reached / whole, BAR_WIDTH * part.count / whole
        name = element("title", f"{part.name}: {part.count}")
        drawn.append(element("rect", name, class_=part.tone, x=_tidy(x), y=0, width=_tidy(width), height=20))
        reached += part.count
    names = [
        element("li", element("i", class_=part.tone), f"{part.name} ", element("b", str(part.count))) for part in parts
    ]
    box = {"viewBox": f"0 0 {BAR_WIDTH:g} 20", "preserveAspectRatio": "none", "role": "img"}
    picture = element("svg", *drawn, **box, aria_label=f"{title}: {told}")
    return element("figure", element("figcaption", title), picture, element("ul", *names), class_="stack")


def trend(series: Sequence[Series]) -> Element:
    """Several figures over the same spans of time, each as a small plot."""
    return element("div", *map(_plot, series), class_="trend")


def _plot(series: Series) -> Element:
    told = "; ".join(f"{label}: {shown}" for label, shown in zip(series.labels, series.shown, strict=True))
    ground = element("line", class_="ground", x1=0, y1=HEIGHT + 0.5, x2=WIDTH, y2=HEIGHT + 0.5)
    points = _points(series)
    drawn = [
        element("polyline", points=" ".join(f"{x},{y}" for x, y in run))
        for run in ([] if series.bars else _runs(points))
    ]
    drawn += [_mark(series, at, *point) for at, point in enumerate(points) if point]
    box = {"viewBox": f"0 0 {WIDTH:g} {HEIGHT + 2:g}", "role": "img"}
    picture = element("svg", ground, *drawn, **box, aria_label=f"{series.name}: {told}")
    compared = "; ".join(filter(None, [series.usual and f"{series.usual} usual", series.change]))
    caption = element("figcaption", f"{series.name} ", element("b", series.shown[-1]))
    return element("figure", caption, picture, element("p", compared))


def _points(series: Series) -> list[tuple[float, float] | None]:
    """Return the position of each value, the middle of its column; values grow from the ground line, which is zero."""
    known = [value for value in series.values if value is not None]
    highest = max(series.top or 0.0, *known, 0.0) or 1.0
    step = WIDTH / len(series.values)
    return [
        None if value is None else (_tidy(step * (at + 0.5)), _tidy(HEIGHT - (HEIGHT - _TOP) * value / highest))
        for at, value in enumerate(series.values)
    ]


def _runs(points: Sequence[tuple[float, float] | None]) -> list[list[tuple[float, float]]]:
    """The points between values that are not known, where there are two or more."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if len(run) > 1]


def _mark(series: Series, at: int, x: float, y: float) -> Element:
    name = element("title", f"{series.labels[at]}: {series.shown[at]}")
    now = at == len(series.values) - 1
    which = {"class": "now"} if now else {}
    if not series.bars:
        return element("circle", name, cx=x, cy=y, r=3.5 if now else 2, **which)
    width, top = WIDTH / len(series.values) - _GAP, min(y, HEIGHT - 1)
    return element("rect", name, x=_tidy(x - width / 2), y=top, width=_tidy(width), height=_tidy(HEIGHT - top), **which)


def _tidy(value: float) -> float:
    """Two decimals: finer than any screen, and short."""
    return round(value, 2) + 0.0

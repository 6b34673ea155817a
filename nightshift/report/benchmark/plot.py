"""The plot of solve rate against cost, as SVG: each arm is a point with its interval and its name."""

from __future__ import annotations

from collections.abc import Sequence

from nightshift.core.text import formats
from nightshift.core.text.formats import money
from nightshift.report.benchmark.report import ArmFigures
from nightshift.report.elements import Element, element
from nightshift.report.wording import interval, percent

WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 150.0, 12.0, 40.0
_LINE = 15.0
_TICKS = 4
_STEPS = (1, 2, 2.5, 5, 10)


def rate_against_cost(arms: Sequence[ArmFigures]) -> Element:
    """The plot; an arm of which no cheaper one solves as much is drawn full, the others pale."""
    highest = _round_up(max((arm.item_usd for arm in arms), default=0.0))
    placed = _labels_apart([(arm, _x(arm.item_usd, highest), _y(arm.solved.guess)) for arm in arms])
    told = "; ".join(f"{arm.arm.name}: {percent(arm.solved)} at {money(arm.item_usd)} an item" for arm in arms)
    best = {arm.arm.name for arm in arms if is_worth_its_price(arm, arms)}
    drawn = [
        *_axes(highest),
        *(_arm(arm, x, y, at, full=arm.arm.name in best) for arm, x, y, at in placed),
    ]
    box = {"viewBox": f"0 0 {WIDTH:g} {HEIGHT:g}", "role": "img"}
    picture = element("svg", *drawn, **box, aria_label=f"Solve rate against cost: {told}")
    return element("figure", element("figcaption", "Solve rate against the cost of an item"), picture, class_="scatter")


def is_worth_its_price(arm: ArmFigures, arms: Sequence[ArmFigures]) -> bool:
    """Whether no other arm solves as many for less, or more for no more."""
    return not any(
        (other.solved.guess, -other.item_usd) != (arm.solved.guess, -arm.item_usd)
        and other.solved.guess >= arm.solved.guess
        and other.item_usd <= arm.item_usd
        for other in arms
    )


def _arm(arm: ArmFigures, x: float, y: float, label_y: float, *, full: bool) -> Element:
    bounds = arm.interval
    told = f"{arm.arm.name}: {percent(arm.solved)}, {interval(arm.solved)}, {money(arm.item_usd)} an item"
    return element(
        "g",
        element("title", told),
        element("line", x1=x, x2=x, y1=_y(bounds.high), y2=_y(bounds.low)),
        element("circle", cx=x, cy=y, r=5),
        element("text", _short(arm.arm.name), x=_tidy(x + 10), y=_tidy(label_y + 4)),
        class_="full" if full else "pale",
    )


def _axes(highest: float) -> list[Element]:
    right, ground = WIDTH - RIGHT, HEIGHT - BOTTOM
    drawn = []
    for step in range(_TICKS + 1):
        share, x = step / _TICKS, _tidy(LEFT + (right - LEFT) * step / _TICKS)
        y = _y(share)
        drawn += [
            element("line", class_="ground", x1=LEFT, x2=right, y1=y, y2=y),
            element("text", formats.percent(share), class_="tick", x=LEFT - 8, y=_tidy(y + 4), text_anchor="end"),
            element("text", money(highest * share), class_="tick", x=x, y=ground + 17, text_anchor="middle"),
        ]
    middle = _tidy((LEFT + right) / 2)
    return [*drawn, element("text", "cost of an item", class_="tick", x=middle, y=HEIGHT - 5, text_anchor="middle")]


def _labels_apart(
    points: Sequence[tuple[ArmFigures, float, float]],
) -> list[tuple[ArmFigures, float, float, float]]:
    """Each point with the height of its label: labels that would lie over each other are moved down."""
    placed: list[tuple[ArmFigures, float, float, float]] = []
    for arm, x, y in sorted(points, key=lambda point: point[2]):
        near = [other for other in placed if abs(other[1] - x) < RIGHT]
        at = max([y, *(other[3] + _LINE for other in near)])
        placed.append((arm, x, y, at))
    return placed


def _short(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"


def _x(usd_: float, highest: float) -> float:
    return _tidy(LEFT + (WIDTH - RIGHT - LEFT) * usd_ / highest)


def _y(share: float) -> float:
    return _tidy(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share)


def _round_up(value: float) -> float:
    """The next round amount, so that ticks are; a cent where nothing costs anything."""
    if value <= 0:
        return 0.01
    size = 10.0**-20
    while size * 10 <= value:
        size *= 10
    return next(size * step for step in _STEPS if size * step >= value * (1 - 1e-9))


def _tidy(value: float) -> float:
    return round(value, 2) + 0.0

"""Puts a report's figures into words, with `core.text.formats`. The texts are escaped later, by `markdown`."""

from __future__ import annotations

from datetime import datetime

from nightshift.core.shares import Share, wilson
from nightshift.core.text import formats
from nightshift.core.text.masking import printable
from nightshift.report.model_figures import Cost

MAX_TEXT = 120


def cut(text: str, most: int = MAX_TEXT) -> str:
    """Convert a text from outside, such as a task's description, to one printable line of at most `most` characters."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def number(value: float) -> str:
    """Format a count with thousands separators; a fraction, such as a half, keeps one decimal place."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def many(count: int, noun: str, more: str = "") -> str:
    """Format a count with its noun; `more` is the plural, by default the noun with an s."""
    return f"{number(count)} {noun if count == 1 else more or noun + 's'}"


def percent(share: Share) -> str:
    """Format a share as a percentage; a dash for 0/0."""
    return formats.percent(share.value)


def points(value: float) -> str:
    """Format a difference of shares with its sign, in percentage points."""
    rounded = round(100 * value)
    return f"{'+' if rounded > 0 else '−' if rounded else ''}{abs(rounded)}"


def interval(share: Share) -> str:
    """Format the confidence interval of a share; a dash for 0/0."""
    bounds = wilson(share)
    return f"{formats.percent(bounds.low)} to {formats.percent(bounds.high)}" if share.whole else formats.NOTHING


def share_of(part: int, total: int) -> str:
    """Format a part of a total as two counts and a percentage; "none" if the total is 0."""
    return f"{number(part)} of {number(total)} ({formats.percent(part / total)})" if total else "none"


def cost(spent: Cost) -> str:
    """Format the cost of calls, as far as their prices are known."""
    return formats.money(spent.usd, spent.unpriced_tokens)


def minute(at: datetime) -> str:
    """Format a time to the minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def tenths(value: float) -> str:
    """Format a mean to one decimal place."""
    return f"{value:.1f}"


def words(name: str) -> str:
    """Return a name that the program defines, such as a setting's, with spaces in place of underscores."""
    return name.replace("_", " ")


def join_words(parts: list[str]) -> str:
    """Join words to a list for a sentence, such as `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else ""

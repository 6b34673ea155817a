"""Puts a report's figures into words, with `core.text.formats`. Nothing here escapes; `markdown` does that."""

from __future__ import annotations

from datetime import datetime

from nightshift.core.shares import Share, wilson
from nightshift.core.text import formats
from nightshift.core.text.masking import printable
from nightshift.report.model_figures import Cost

MAX_TEXT = 120


def cut(text: str, most: int = MAX_TEXT) -> str:
    """Return a foreign text as one printable line of at most `most` characters."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def number(value: float) -> str:
    """Format a count with thousands separators; halves are kept."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def many(count: int, noun: str, more: str = "") -> str:
    """Format a count with its noun."""
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
    """Format a share as a count and a percentage."""
    return f"{number(part)} of {number(total)} ({formats.percent(part / total)})" if total else "none"


def cost(spent: Cost) -> str:
    """Format the known cost of calls."""
    return formats.money(spent.usd, spent.unpriced_tokens)


def minute(at: datetime) -> str:
    """Format a time to the minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def tenths(value: float) -> str:
    """Format a mean to one decimal place."""
    return f"{value:.1f}"


def words(name: str) -> str:
    """Return one of our names without its underscores."""
    return name.replace("_", " ")


def join_words(parts: list[str]) -> str:
    """Join words to a list in a sentence."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else ""

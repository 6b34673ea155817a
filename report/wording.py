"""How figures are put in words. Nothing here escapes: `markdown` does that where it writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from core.masking import printable
from core.shares import Interval, Share, wilson
from report.model_figures import Cost

MAX_TEXT = 120
UNKNOWN = "unknown"


def cut(text: str, most: int = MAX_TEXT) -> str:
    """A foreign text as one visible line of at most `most` characters."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def number(value: float) -> str:
    """A count with its thousands apart; halves stay."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def signed(value: int, unit: str = "") -> str:
    """A change with its sign."""
    return f"{'+' if value > 0 else '−' if value else ''}{abs(value)}{unit}"


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun."""
    return f"{number(count)} {one if count == 1 else more or one + 's'}"


def percent(share: Share) -> str:
    """A share as a percentage; a dash of nothing."""
    return "–" if share.value is None else f"{share.value:.0%}"


def points(value: float) -> str:
    """A difference of shares with its sign, in points."""
    return signed(round(100 * value))


def interval(share: Share) -> str:
    """Where a share lies, with its confidence; a dash of nothing."""
    found = wilson(share)
    return f"{found.low:.0%} to {found.high:.0%}" if share.whole else "–"


def difference(found: Interval, words: Callable[[float], str]) -> tuple[str, str]:
    """By how much something is more or fewer, with its interval."""
    low, high = (f"{'−' if value < 0 else '+'}{words(abs(value))}" for value in (found.low, found.high))
    return f"{words(abs(found.estimate))} {'fewer' if found.estimate < 0 else 'more'}", f"{low} to {high}"


def share_of(part: int, whole: int) -> str:
    """A share as a count and a percentage."""
    return f"{number(part)} of {number(whole)} ({part / whole:.0%})" if whole else "none"


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 2880 else f"{minutes // 1440} d {minutes // 60 % 24} h"


def usd(value: float) -> str:
    """An amount that is known: two places, more for what is less than ten cents."""
    return f"{value:,.2f} USD" if value >= 0.1 or value == 0 else f"{value:.2g} USD"


def cost(found: Cost) -> str:
    """What calls cost, as far as that is known."""
    if not found.known:
        return UNKNOWN
    return f"{usd(found.usd)} or more" if found.unpriced_tokens else usd(found.usd)


def least(found: Cost) -> str:
    """As `cost`, in a few characters."""
    return f"≥ {usd(found.usd)}" if found.known and found.unpriced_tokens else cost(found)


def tokens(count: float) -> str:
    """A count of tokens, shortened."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:,.0f} {unit}"
    return f"{count:.0f}"


def day(at: datetime) -> str:
    """A day, in UTC."""
    return f"{at:%Y-%m-%d}"


def minute(at: datetime) -> str:
    """A minute, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def tenths(value: float) -> str:
    """A mean."""
    return f"{value:.1f}"


def words(name: str) -> str:
    """A name of ours without its underscores."""
    return name.replace("_", " ")


def listed(parts: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else ""

"""Formats shares, money, counts and durations in the same way in every text, report and answer.

`server/static/app/text.js` uses the same rules in the browser; `tests/core/text/formats.json` tests both. A value is
rounded only once, and halves are rounded away from zero, so a larger value never looks smaller.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

NOTHING = "–"
"""Placeholder for a missing value."""
_UNITS = ((1, ""), (10**3, "k"), (10**6, "M"), (10**9, "G"), (10**12, "T"))
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def percent(share: float | None) -> str:
    """Format a share between 0 and 1, such as `87 %`; nearly nothing is `< 1 %`, and nearly all is `> 99 %`."""
    if share is None:
        return NOTHING
    text = _fix(100 * share)
    if share > 0 and text == "0":
        return "< 1 %"
    return "> 99 %" if share < 1 and text == "100" else f"{text} %"


def money(usd: float, unpriced: int = 0) -> str:
    """Format US dollars: `$0`, `$0.0042`, `$1.27`, `$1,204`. With `unpriced` calls of unknown cost: `$1.27 + ?`."""
    if unpriced:
        return f"{_dollars(usd)} + ?" if usd else "$?"
    return _dollars(usd)


def compact(number: float) -> str:
    """Format a count in few characters: `950`, `12.3k`, `123k`, `4M`; below a thousand with up to two decimals."""
    if number < 0:
        return f"-{compact(-number)}"
    for size, unit in _UNITS:
        amount = number / size
        text = _fix(amount, 2 if size == 1 else 1 if amount < 99.95 else 0)
        if float(text) < 1000 or unit == "T":
            break
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{unit}"


def tokens(count: float) -> str:
    """Format a count of tokens: as an integer up to `9,999`, then as `12.3k`."""
    rounded = _fix(count)
    return f"{int(rounded):,}" if int(rounded) < 10_000 else compact(count)


def duration(seconds: float | None) -> str:
    """Format a duration in its two largest units: `340 ms`, `12.3 s`, `4 min 5 s`, `3 h`, `2 d 4 h`."""
    if seconds is None:
        return NOTHING
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{_fix(1000 * seconds)} ms"
    return f"{_fix(seconds, 1)} s" if seconds < 59.95 else _long(int(_fix(seconds)))


def coarse(seconds: float) -> str:
    """Format an estimated duration to the minute: `1 min`, `3 h 20 min`."""
    return _long(_MINUTE * max(1, int(_fix(seconds / _MINUTE))))


def ago(seconds: float) -> str:
    """Format the time since an event in its largest unit: `now`, `50 s ago`, `3 h ago`. A future time is `in 2 h`."""
    distance = int(_fix(abs(seconds)))
    if distance < 5:
        return "now"
    size, unit = next(pair for pair in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s")) if distance >= pair[0])
    return f"{distance // size} {unit} ago" if seconds > 0 else f"in {distance // size} {unit}"


def _long(seconds: int) -> str:
    for size, unit, below_size, below in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // below_size
            return f"{seconds // size} {unit}{f' {rest} {below}' if rest else ''}"
    return f"{seconds} s"


def _dollars(usd: float) -> str:
    if not usd:
        return "$0"
    if usd < 0:
        return f"-{_dollars(-usd)}"
    if usd < 0.0001:
        return "< $0.0001"
    places = 4 if usd < 0.09995 else 2 if usd < 999.995 else 0
    return f"${int(_fix(usd)):,}" if not places else f"${_fix(usd, places)}"


def _fix(value: float, places: int = 0) -> str:
    """Format like JavaScript's `toFixed`: the exact double, with halves away from zero."""
    if abs(value) >= 1e15:  # No fraction, and more digits than Decimal supports
        return f"{value:.{places}f}"
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))

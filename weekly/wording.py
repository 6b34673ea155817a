"""How figures and foreign texts are written in the report."""

from __future__ import annotations

import re

from core.masking import printable

MAX_TEXT = 120


def share(part: int, whole: int) -> str:
    """A share as a count and a percentage."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"


def span(seconds: float) -> str:
    """A length of time in its two largest units."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def escaped(text: str) -> str:
    """Foreign text as one line of Markdown that shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", _line(text))


def code(text: str) -> str:
    """A foreign name as code; the quote that would end the code is replaced."""
    return "`" + _line(text).replace("`", "'") + "`"


def _line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"

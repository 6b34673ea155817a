"""How values are written on a page: Jinja filters. What came from a model or a task is made printable first."""

from __future__ import annotations

from flask import Flask

from core.clock import to_text
from core.masking import printable


def first_line(text: str, max_chars: int = 140) -> str:
    """The first line that says something, cut to a length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    safe = printable(line)
    return safe if len(safe) <= max_chars else safe[: max_chars - 1] + "…"


def duration(seconds: float | None) -> str:
    """Seconds as people say them: `340 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def register(app: Flask) -> None:
    """Give the templates their filters."""
    app.jinja_env.filters.update(shown=printable, first_line=first_line, duration=duration, utc=to_text)

"""How values are written on a page: Jinja filters. Texts of models and tasks are masked and made printable first."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask

from core.clock import to_text
from core.costs import cost_text
from core.masking import printable
from server.schemas import Spent


def first_line(text: str, max_chars: int = 140) -> str:
    """The first line that says something, cut to a length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    safe = printable(line)
    return safe if len(safe) <= max_chars else safe[: max_chars - 1] + "…"


def cost(spent: Spent) -> str:
    """What a task cost, as far as that is known."""
    return f"USD {cost_text(spent.cost_usd, spent.unpriced)}"


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


def register(app: Flask, mask: Callable[[str], str]) -> None:
    """Give the templates their filters.

    Args:
        app: the application.
        mask: takes secrets out of texts.
    """

    def shown(text: str, max_chars: int = 200_000) -> str:
        return printable(mask(text), max_chars=max_chars)

    def masked_line(text: str) -> str:
        return first_line(mask(text))

    app.jinja_env.filters.update(shown=shown, first_line=masked_line, duration=duration, utc=to_text, cost=cost)

"""Texts of models, tasks and repositories as the API shows them: without secrets, printable, and cut where too long."""

from __future__ import annotations

from collections.abc import Callable

from core.masking import printable
from server.schemas import Answer

LINE_CHARS = 300
TEXT_CHARS = 20_000

Mask = Callable[[str], str]


class Passage(Answer):
    """A text; `chars` is its whole length, and `cut` tells that only its beginning is here."""

    text: str
    chars: int
    cut: bool


def passage(text: str, mask: Mask, most: int) -> Passage:
    """The beginning of a text, `most` characters at most. What lies behind is neither masked nor looked at."""
    kept = text[:most]
    return Passage(text=whole(kept, mask), chars=len(text), cut=len(kept) < len(text))


def whole(text: str, mask: Mask) -> str:
    """The text in full."""
    masked = mask(text)
    return printable(masked, max_chars=len(masked), max_line=len(masked))


def short(text: str, mask: Mask, most: int = LINE_CHARS) -> str:
    """The beginning of a text, cut to a length, with an ellipsis in place of what is missing."""
    shown = printable(mask(text[: 4 * most]), max_chars=4 * most)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"

"""Texts of models, tasks and repositories as the API shows them: without secrets, printable, and cut where too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from nightshift.core.text.masking import printable
from nightshift.server.schemas import Answer

D = TypeVar("D")
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
    beginning = text[:most]
    return Passage(text=full_text(beginning, mask), chars=len(text), cut=len(beginning) < len(text))


def full_text(text: str, mask: Mask) -> str:
    """The text in full."""
    masked = mask(text)
    return printable(masked, max_chars=len(masked), max_line=len(masked))


def short(text: str, mask: Mask, most: int = LINE_CHARS) -> str:
    """The beginning of a text, cut to a length, with an ellipsis in place of what is missing."""
    shown = printable(mask(text[: 4 * most]), max_chars=4 * most)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def shorten(value: D, mask: Mask, most: int = LINE_CHARS) -> D:
    """A value whose texts are `short`, its own and those of the values, lists and mappings in it."""

    def of(part: Any) -> Any:
        match part:
            case Enum():
                return part
            case str():
                return short(part, mask, most)
            case tuple():
                return tuple(map(of, part))
            case Mapping():
                return {of(name): of(each) for name, each in part.items()}
            case _ if is_dataclass(part) and not isinstance(part, type):
                return replace(part, **{each.name: of(getattr(part, each.name)) for each in fields(part)})
        return part

    shown: D = of(value)
    return shown

"""Formats texts of models, tasks and repositories for the API: masks secrets, makes them printable, cuts long ones."""

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
    """A text that may be cut.

    `chars` is the length of the full text. `cut` is true if only the beginning is included.
    """

    text: str
    chars: int
    cut: bool


def passage(text: str, mask: Mask, most: int) -> Passage:
    """Return the first `most` characters of a text. The rest is not even masked, which would take time."""
    beginning = text[:most]
    return Passage(text=full_text(beginning, mask), chars=len(text), cut=len(beginning) < len(text))


def full_text(text: str, mask: Mask) -> str:
    """Return the whole text, masked and printable."""
    masked = mask(text)
    return printable(masked, max_chars=len(masked), max_line=len(masked))


def short(text: str, mask: Mask, most: int = LINE_CHARS) -> str:
    """Return a text masked and printable, cut to `most` characters with an ellipsis if it is longer."""
    shown = printable(mask(text[: 4 * most]), max_chars=4 * most)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def shorten(value: D, mask: Mask, most: int = LINE_CHARS) -> D:
    """Return a copy of a value in which `short` has shortened every string.

    Strings inside nested dataclasses, tuples and mappings are shortened as well.
    """

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

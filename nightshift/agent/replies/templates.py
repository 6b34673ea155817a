"""Recognises text that a model copied from the instructions instead of answering.

Reply forms are shown with placeholders: words in angle brackets. A weak model sends them back unchanged, without the
brackets, or with words of the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nightshift.core.dialogue import Message

_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ,.'()]* [\w ,.'()]*>|<(?:path|number|name|file)>")
"""Matches a placeholder. It must have at least two words or be one of four known words, so that no HTML tag matches."""
_PROMPTS = Path(__file__).resolve().parent.parent / "prompts"
_AROUND = "`*_ .<>\"'"
"""Characters around a placeholder that a model adds or leaves out."""


@cache
def _placeholders() -> frozenset[str]:
    """Return the words of all placeholders with two or more words in the prompts."""
    texts = (file.read_text(encoding="utf-8") for file in _PROMPTS.rglob("*.md"))
    words = {placeholder.strip(_AROUND).lower() for text in texts for placeholder in _PLACEHOLDER.findall(text)}
    return frozenset(each for each in words if " " in each)


def is_placeholder(text: str) -> bool:
    """Check whether a text is exactly a placeholder of a form, with or without its brackets."""
    bare = " ".join(text.split()).strip(_AROUND).lower()
    return _PLACEHOLDER.fullmatch(text.strip()) is not None or bare in _placeholders()


def has_placeholder(text: str) -> bool:
    """Check whether a text contains a placeholder in brackets."""
    return _PLACEHOLDER.search(text) is not None


def is_copied(text: str, prompt: Iterable[Message]) -> bool:
    """Check whether a text is a placeholder, or occurs word for word in the prompt's instructions."""
    words = " ".join(text.split()).strip("`*_ .")
    instructions = (" ".join(message.text.split()) for message in prompt if message.role == "system")
    return is_placeholder(text) or any(words in text for text in instructions)


def without_placeholders(value: Any) -> Any:
    """Return a JSON value with an empty text in place of each placeholder."""
    if isinstance(value, dict):
        return {name: without_placeholders(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_placeholders(item) for item in value]
    return "" if isinstance(value, str) and is_placeholder(value) else value

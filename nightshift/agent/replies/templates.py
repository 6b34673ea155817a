"""Recognises what a model copied from the instructions in place of an answer.

Forms of replies are shown with placeholders: words in angle brackets. A weak model sends them back as they are, without
the brackets, or with the words of the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nightshift.core.dialogue import Message

_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ,.'()]* [\w ,.'()]*>|<(?:path|number|name|file)>")
"""At least two words, so that no tag of HTML is taken for one."""
_PROMPTS = Path(__file__).resolve().parent.parent / "prompts"
_AROUND = "`*_ .<>\"'"
"""Signs around a placeholder that a model adds or leaves out."""


@cache
def _placeholders() -> frozenset[str]:
    """The words of all placeholders of two words or more in the prompts."""
    texts = (file.read_text(encoding="utf-8") for file in _PROMPTS.rglob("*.md"))
    words = {placeholder.strip(_AROUND).lower() for text in texts for placeholder in _PLACEHOLDER.findall(text)}
    return frozenset(each for each in words if " " in each)


def is_placeholder(text: str) -> bool:
    """Tell whether a text is a placeholder of a form and nothing else, with or without its brackets."""
    bare = " ".join(text.split()).strip(_AROUND).lower()
    return _PLACEHOLDER.fullmatch(text.strip()) is not None or bare in _placeholders()


def has_placeholder(text: str) -> bool:
    """Tell whether a placeholder stands in a text, in its brackets."""
    return _PLACEHOLDER.search(text) is not None


def is_copied(text: str, prompt: Iterable[Message]) -> bool:
    """Tell whether a text is a placeholder, or stands word for word in the instructions of its prompt."""
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

"""Brace expansion: `{rm,-rf,/}` is three words."""

from __future__ import annotations

import re

MOST = 64
"""A word that would become more than this many is left as it is."""
MOST_CHARS = 1000

# Quoted characters that would otherwise be read as an expansion, moved to where no text has them.
MARKED = {ord(char): 0xF0000 + ord(char) for char in "{},"}
_BACK = {code: char for char, code in MARKED.items()}
_GROUP = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expanded(word: str) -> list[str]:
    """The words that a word stands for, itself where it has no braces."""
    words = [word]
    if len(word) > MOST_CHARS:
        return words
    while len(words) <= MOST and any(_GROUP.search(one) for one in words):
        words = [new for one in words for new in _once(one)]
    return words if len(words) <= MOST else [word]


def unmarked(word: str) -> str:
    """The word with its quoted braces in place again."""
    return word.translate(_BACK)


def _once(word: str) -> list[str]:
    match = _GROUP.search(word)
    if match is None:
        return [word]
    return [word[: match.start()] + part + word[match.end() :] for part in match[1].split(",")]

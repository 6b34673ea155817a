"""Checks whether a text can be a complete file, by the grammar of its language. Nothing is executed."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable

import yaml

from nightshift.core.code.parsing import parse

_PAIRS = {")": "(", "]": "[", "}": "{"}
_MAX_CHARS = 400_000


def _python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parse(text)


def _check_balance(text: str) -> None:
    """Raise if a bracket, comment or template string is not closed, as far as can be seen without a grammar."""
    stack: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in "([{":
            stack.append(char)
        elif char in _PAIRS and (not stack or stack.pop() != _PAIRS[char]):
            raise ValueError("a bracket is closed that was not opened")
        at = _past(text, at)
    if stack:
        raise ValueError("a bracket is left open")


def _past(text: str, at: int) -> int:
    """Return the position after the comment, string or single character that begins at `at`."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        end = text.index("*/", at + 2)  # raises if the comment never ends, as intended
        return end + 2
    return _past_string(text, at) if text[at] in "\"'`" else at + 1


def _past_string(text: str, at: int) -> int:
    """Return the position after the string's end. A quote still open at the end of a line counts as an apostrophe."""
    quote, at = text[at], at + 1
    while at < len(text):
        if text[at] == quote:
            return at + 1
        if text[at] == "\n" and quote != "`":
            return at
        at += 2 if text[at] == "\\" else 1
    if quote == "`":
        raise ValueError("a template string is left open")
    return at


_BRACED = dict.fromkeys(
    ("js", "mjs", "cjs", "jsx", "ts", "tsx", "javascript", "typescript", "css", "scss"), _check_balance
)
_CHECKS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("py", "pyi", "python", "python3"), _python),
    "json": json.loads,
    "toml": tomllib.loads,
    **dict.fromkeys(("yaml", "yml"), lambda text: list(yaml.parse(text, Loader=yaml.SafeLoader))),
    **_BRACED,
}
PROSE = frozenset({"md", "markdown", "rst", "txt", "text", "html", "htm", "csv", ""})


def kind_of(path: str, language: str = "") -> str:
    """Return the kind of a file, which selects its grammar: its extension, or the language of its fence."""
    base = path.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[1].lower() if "." in base.lstrip(".") else language


def has_grammar(kind: str) -> bool:
    """Check whether `is_complete` can return False for this kind."""
    return kind in _CHECKS


def is_complete(kind: str, text: str) -> bool:
    """Check whether the text is complete by its grammar. Without a grammar, only prose counts as complete."""
    check = _CHECKS.get(kind)
    if check is None or len(text) > _MAX_CHARS:
        return kind in PROSE
    try:
        check(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, yaml.YAMLError):
        return False
    return True

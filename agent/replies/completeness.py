"""Tells whether a text can be all of a file, by its language's own grammar. Nothing is executed."""

from __future__ import annotations

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable

import yaml

_TOKEN = re.compile(
    r"//[^\n]*|/\*[\s\S]*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|[(){}\[\]`]|/\*"
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MAX_CHARS = 400_000


def _python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(text)


def _balanced(text: str) -> None:
    """Raise unless brackets, comments and template strings are closed, as far as a look without a grammar can say."""
    stack: list[str] = []
    for piece in _TOKEN.findall(text):
        if piece in _PAIRS:
            if not stack or stack.pop() != _PAIRS[piece]:
                raise ValueError("a bracket is closed that was not opened")
        elif len(piece) == 1 or piece == "/*":
            stack.append(piece)
    if stack:
        raise ValueError("something is left open")


_BRACED = dict.fromkeys(("js", "mjs", "cjs", "jsx", "ts", "tsx", "javascript", "typescript", "css", "scss"), _balanced)
_CHECKS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("py", "pyi", "python", "python3"), _python),
    "json": json.loads,
    "toml": tomllib.loads,
    **dict.fromkeys(("yaml", "yml"), lambda text: list(yaml.parse(text, Loader=yaml.SafeLoader))),
    **_BRACED,
}
PROSE = frozenset({"md", "markdown", "rst", "txt", "text", "html", "htm", "csv", ""})


def kind_of(path: str, language: str = "") -> str:
    """What grammar a file follows: its extension, or the language of its fence."""
    base = path.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[1].lower() if "." in base.lstrip(".") else language


def has_grammar(kind: str) -> bool:
    """Tell whether `whole` can say no for this kind."""
    return kind in _CHECKS


def whole(kind: str, text: str) -> bool:
    """Tell whether the text is complete by its grammar; without one, prose is taken as it is and nothing else."""
    check = _CHECKS.get(kind)
    if check is None or len(text) > _MAX_CHARS:
        return kind in PROSE
    try:
        check(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, yaml.YAMLError):
        return False
    return True

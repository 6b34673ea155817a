"""Formats files as in a model's reply, for components that answer like a model."""

from __future__ import annotations

import re

_BACKTICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def file_block(path: str, text: str | None) -> str:
    """Return a fenced block with the file's path and whole text, or the removal of the file if the text is None."""
    where = f'path="{path}"' if " " in path else f"path={path}"
    if text is None:
        return f"```text {where} delete\n```"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    language = "python" if path.endswith(".py") else "text"
    return f"{fence}{language} {where}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"

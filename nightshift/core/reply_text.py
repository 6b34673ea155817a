"""How a file is written in a reply, for those who answer like a model without being one."""

from __future__ import annotations

import re

_BACKTICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def file_block(path: str, text: str | None) -> str:
    """Write a fenced block with its path: the whole text, or the removal where there is none."""
    where = f'path="{path}"' if " " in path else f"path={path}"
    if text is None:
        return f"```text {where} delete\n```"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    language = "python" if path.endswith(".py") else "text"
    return f"{fence}{language} {where}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"

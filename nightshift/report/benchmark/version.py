"""Names the version of the agent that worked on an item, so that a change of prompts can be told by its results.

Prompts are made of the texts and of the code of `agent/`, so it follows from both: it changes with every change that a
model may notice, and with few others.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from nightshift import agent

_CHARS = 10


@cache
def version() -> str:
    """Of the agent that this process runs, as ten hexadecimal digits."""
    return version_of(Path(agent.__file__).parent)


def version_of(folder: Path) -> str:
    """Of the agent in a folder, by its Python files and its prompts."""
    found = hashlib.blake2b(digest_size=_CHARS // 2)
    for path in sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".md"}):
        found.update(
            f"{path.relative_to(folder).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return found.hexdigest()

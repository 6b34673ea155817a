"""Finds shell text in scripts, Makefile recipes, package.json scripts and Dockerfiles.

Each text comes with its line number, so that a finding names the right line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

_SHEBANG = re.compile(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(?:\S*/)?(sh|bash|dash|zsh|ksh|python[\d.]*|node)\b")
_MAKEFILES = frozenset({"makefile", "gnumakefile"})
_MAKE_VARIABLE = re.compile(r"\$\(([A-Za-z_]\w*)\)|\$\{([A-Za-z_]\w*)\}")
_MAKE_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)\s*[:?+]?=\s*(.*)$")
_RUN = re.compile(r"^\s*RUN\s+(.*)$", re.IGNORECASE)


def interpreter(path: str, text: str) -> str | None:
    """Return the language of a file: `python`, `shell`, `javascript` or None.

    The extension takes precedence over the shebang line.
    """
    ending = PurePosixPath(path).suffix.lower()
    if ending in {".py", ".pyw", ".pyi"}:
        return "python"
    if ending in {".sh", ".bash", ".zsh", ".ksh"}:
        return "shell"
    if ending in {".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}:
        return "javascript"
    match = _SHEBANG.match(text[:200])
    if match is None:
        return None
    return "python" if match[1].startswith("python") else "javascript" if match[1] == "node" else "shell"


def shells(path: str, text: str) -> Iterator[tuple[int, str]]:
    """List the shell texts in a file, each with the number of its first line."""
    name = PurePosixPath(path).name
    if interpreter(path, text) == "shell":
        yield 1, text
    elif name.lower() in _MAKEFILES or name.endswith(".mk"):
        yield from _recipes(text)
    elif name == "package.json":
        yield from _package_scripts(text)
    elif name == "Dockerfile" or name.startswith("Dockerfile.") or name.endswith(".dockerfile"):
        yield from _image_steps(text)


def _recipes(text: str) -> Iterator[tuple[int, str]]:
    """List the recipe lines of a Makefile with their numbers; make runs each line in a separate shell.

    References to Make variables with a plain value are replaced by the value.
    """
    values = dict[str, str]()
    for number, line in _join_lines(text):
        if line.startswith("\t"):
            recipe = _MAKE_VARIABLE.sub(lambda m: values.get(m[1] or m[2], m[0]), line.lstrip("\t @-+"))
            # Unknown make variables become shell variables; `$$` is a dollar sign of the shell.
            yield number, _MAKE_VARIABLE.sub(r"${\1\2}", recipe).replace("$$", "$")
        elif (match := _MAKE_ASSIGNED.match(line)) and "$(" not in match[2]:
            values[match[1]] = match[2].strip()


def _package_scripts(text: str) -> Iterator[tuple[int, str]]:
    try:
        scripts = json.loads(text).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        return
    for name, script in scripts.items() if isinstance(scripts, dict) else ():
        if isinstance(script, str):
            at = text.find(json.dumps(name, ensure_ascii=False))
            yield (text.count("\n", 0, at) + 1 if at >= 0 else 1), script


def _image_steps(text: str) -> Iterator[tuple[int, str]]:
    for number, line in _join_lines(text):
        if (match := _RUN.match(line)) and not match[1].startswith("["):
            yield number, match[1]


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """List the lines with their numbers; a line that ends in a backslash is joined to the next line."""
    start, held = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        held += line
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        yield start, held
        start, held = 0, ""
    if held:
        yield start, held

"""Adds packages that the owner allowed for a change to the dependency file, so that a fresh clone installs them.

Each added line pins the version that the change was judged with. A package that a file already names is not added
again. If it is unclear which file declares packages, or if that file cannot be changed safely, nothing is written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from nightshift.verdict.environments.distributions import list_declared, normalise, requirement

REQUIREMENTS, PYPROJECT = "requirements.txt", "pyproject.toml"
_LIST = re.compile(r"^dependencies[ \t]*=[ \t]*\[", re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*')


def with_packages(
    files: Mapping[str, str], packages: Mapping[str, str], *, create: bool, may_pin: bool
) -> dict[str, str]:
    """Return the dependency files that must change so that all packages are declared, path to new text.

    Args:
        files: the repository's files that declare packages (`distributions.is_declaration`), path to text.
        packages: name to exact version; a package with an empty version is written without one.
        create: whether to create requirements.txt if no file declares anything.
        may_pin: whether a line of requirements.txt that names a package without a version gets the version.
    """
    declared = list_declared(files)
    missing = {name: version for name, version in packages.items() if normalise(name) not in declared}
    loose = {normalise(name): _line(name, version) for name, version in packages.items() if version}
    target = _target(files, create=create)
    if target is None:
        return {}
    before = files.get(target, "")
    text = _pin(before, loose) if may_pin and target == REQUIREMENTS else before
    lines = [_line(name, version) for name, version in missing.items()]
    if lines:
        text = _append(text, lines) if target == REQUIREMENTS else _in_pyproject(text, lines) or text
    return {target: text} if text != before else {}


def _line(name: str, version: str) -> str:
    return f"{name}=={version}" if version else name


def _target(files: Mapping[str, str], *, create: bool) -> str | None:
    """Return the path of the only file that can declare packages.

    If there are several such files, return None. If there is none, return requirements.txt if it may be created, and
    None otherwise.
    """
    candidates = [path for path in (REQUIREMENTS, PYPROJECT) if path in files]
    if PYPROJECT in candidates and _read_list(files[PYPROJECT]) is None:
        candidates.remove(PYPROJECT)
    if not candidates:
        return REQUIREMENTS if create else None
    return candidates[0] if len(candidates) == 1 else None


def _read_list(text: str) -> list[str] | None:
    """Return the list `project.dependencies` of a pyproject.toml; None if it has none."""
    try:
        project: Any = tomllib.loads(text).get("project")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    dependencies = project.get("dependencies") if isinstance(project, dict) else None
    return dependencies if isinstance(dependencies, list) else None


def _pin(text: str, lines: Mapping[str, str]) -> str:
    def pin(line: str) -> str:
        parsed = requirement(line)
        is_bare = parsed is not None and line.strip() == parsed.name
        return lines.get(parsed.key, line) if parsed and is_bare else line

    return "\n".join(pin(line) for line in text.split("\n"))


def _append(text: str, lines: list[str]) -> str:
    return "\n".join([*([text.rstrip("\n")] if text.strip() else []), *lines]) + "\n"


def _in_pyproject(text: str, lines: list[str]) -> str | None:
    """Return the text with entries added to `project.dependencies`; None if the new text fails a check."""
    before = _read_list(text) or []
    for start in _LIST.finditer(text):
        end = _end_of_list(text, start.end())
        if end is None:
            continue
        inside = text[start.end() : end]
        quoted = [json.dumps(line) for line in lines]
        if "\n" in inside:
            head = inside.rstrip()
            indent = next((match[1] for match in re.finditer(r"\n([ \t]+)\S", inside)), "    ")
            comma = (
                "" if not _STRING.sub(_blank, head).strip() or _STRING.sub(_blank, head).rstrip().endswith(",") else ","
            )
            new = "".join(f"\n{indent}{quoted_line}," for quoted_line in quoted)
            changed = f"{text[: start.end()]}{_with_comma(head, comma)}{new}\n{text[end:]}"
        else:
            head = inside.strip().rstrip(",")
            changed = f"{text[: start.end()]}{', '.join(filter(None, [head, *quoted]))}{text[end:]}"
        if _read_list(changed) == [*before, *lines] and _same_but_for_list(text, changed):
            return changed
    return None


def _with_comma(head: str, comma: str) -> str:
    """Add a comma after the last entry, before a comment that ends the line."""
    if not comma:
        return head
    last = head.rpartition("\n")[2]
    comments = [comment for comment in _STRING.finditer(last) if comment[0].startswith("#")]
    if not comments:
        return head + comma
    at = len(head) - len(last) + comments[0].start()
    code = head[:at].rstrip()
    return f"{code}{comma}{head[len(code) :]}"


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0]) if match[0].startswith("#") else "x" * len(match[0])


def _end_of_list(text: str, start: int) -> int | None:
    at = start
    while at < len(text):
        if match := _STRING.match(text, at):
            at = match.end()
        elif text[at] == "]":
            return at
        else:
            at += 1
    return None


def _same_but_for_list(before: str, after: str) -> bool:
    old, new = tomllib.loads(before), tomllib.loads(after)
    old["project"].pop("dependencies")
    new["project"].pop("dependencies")
    return bool(old == new)

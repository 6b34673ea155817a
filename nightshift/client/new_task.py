"""Builds the body of a new task from the values given on the command line.

The API validates it like every other task.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

import click

from nightshift.core.program import format_command
from nightshift.core.tasks.task import Limits
from nightshift.core.text.plain_data import TOO_DEEP

SAME_NAME = (
    "priority",
    "base",
    "project",
    "kind",
    "language",
    "key",
    "explore",
    "review",
    "audit",
    "clarify",
    "split",
    "integrate",
)
LIMITS = tuple(limit.name for limit in fields(Limits))
FRACTIONS = {"wall_s", "cost_usd", "suite_s", "cpus"}


CUT = "# ------ nothing below this line is part of the task ------"
EDITED = f"\n\n{CUT}\n# Describe the task above, in as many lines as you like. Leave it empty to add nothing.\n"


def task_body(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task in the form that `POST /api/task` accepts.

    Args:
        text: the description.
        options: the values given on the command line, by parameter name.

    Raises:
        click.UsageError: a value cannot be parsed, or a file cannot be read.
    """
    body: dict[str, Any] = {"description": text}
    body |= {name: options[name] for name in SAME_NAME if options[name] is not None}
    if isinstance(kind := body.get("priority"), str):  # a kind of program, as in `-p web_app`
        body = {"kind": kind, **body}
        del body["priority"]
    fields = {
        "repo": _repo(options["repo"]),
        "tests": _files(options["tests"]),
        "files": _files(options["files"]),
        "test_command": options["test_command"],
        "cases": _cases(options["cases"]) if options["cases"] else [],
        "oracle": _read(Path(options["oracle"]).expanduser()) if options["oracle"] else "",
        "depends_on": list(options["depends_on"]),
        "packages": list(options["packages"]),
        "allow": list(options["allow"]),
        "mcp": list(options["mcp"]),
        "not_before": own_time("--not-before", options["not_before"]) if options["not_before"] is not None else None,
        "limits": {name: _number(name, value) for name, value in _pairs("--limit", options["limits"])},
        "metadata": dict(_pairs("--meta", options["metadata"])),
    }
    return body | {name: value for name, value in fields.items() if value}


def edit_text() -> str:
    """Open the owner's editor, and return the description of a task that was written there.

    Raises:
        click.UsageError: the description is empty, or there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f'describe the task: {format_command("add")} "TEXT", or - for standard input.')
    text = (click.edit(EDITED, extension=".md") or "").partition(CUT)[0].strip()
    if not text:
        raise click.UsageError("nothing was written, so nothing is added.")
    return text


def text_or_stdin(text: str) -> str:
    """Return the text or, if it is `-`, the content of the standard input."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the standard input is not UTF-8: {error.reason} at byte {error.start}.") from None


def _repo(text: str | None) -> str | None:
    """Return a path as an absolute path, because the daemon runs in another folder than this process."""
    return str(Path(text).expanduser().resolve()) if text else None


def _files(texts: Sequence[str]) -> dict[str, str]:
    named = dict(map(_name_file, texts))
    if len(named) < len(texts):
        raise click.UsageError("two of the files would have the same path in the repository; use PATH=FILE")
    return {name: _read(path) for name, path in named.items()}


def _name_file(text: str) -> tuple[str, Path]:
    """Split `PATH=FILE` into the path in the repository and the local file; accept `FILE` alone too.

    With only `FILE`, the path is the file's relative path, or only its name if the file is outside the current folder.
    """
    name, separator, file = text.partition("=")
    if separator and not Path(text).exists():
        return name, Path(file).expanduser()
    path = PurePath(text)
    outside = path.is_absolute() or ".." in path.parts or text.startswith("~")
    return (path.name if outside else path.as_posix()), Path(text).expanduser()


def _cases(path: str) -> list[Any]:
    """Read the list of cases in a YAML or JSON file. The API validates the content of the cases."""
    import yaml  # noqa: PLC0415 (slow to import; only where cases are given)

    try:
        cases = yaml.safe_load(_read(Path(path).expanduser()))
    except yaml.YAMLError as error:
        raise click.UsageError(f"--cases: {path}: {' '.join(str(error).split())[:200]}") from None
    except RecursionError:
        raise click.UsageError(f"--cases: {path}: {TOO_DEEP}") from None
    if not isinstance(cases, list):
        raise click.UsageError(
            f"--cases: {path}: must be a list; a case is like {{call: module.f, args: [1], expect: 2}}"
        )
    return cases


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise click.UsageError(f"{path}: {why}") from None


def own_time(option: str, text: str) -> str:
    """Return a time in the form that the API accepts.

    A time without a zone is local time. It is converted here, because the API cannot know the zone of this process.

    Raises:
        click.UsageError: the text is not a time.
    """
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except (ValueError, OverflowError):
        raise click.UsageError(f"{option}: {text!r} is not a time; write it as 2026-11-23T02:30") from None


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, separator, _ in pairs if not separator]:
        raise click.UsageError(f"{option}: {wrong[0]!r} must be NAME=VALUE")
    return [(name, value) for name, _, value in pairs]


def _number(name: str, text: str) -> int | float:
    try:
        number = float(text) if name in FRACTIONS else int(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):  # NaN and infinity cannot be sent as JSON
        raise click.UsageError(f"--limit: {name}: {text!r} is not a number")
    return number

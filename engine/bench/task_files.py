"""Reads tasks for the repair benches: one JSON object per line, in the format of the task API, plus hidden tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Files, TaskSpec

_USED = (
    "description", "language", "tests", "test_command", "files", "key", "limits", "allow", "cases",
    "oracle",
)  # fmt: skip
_OTHER_NAMES = {"test_files": "tests", "start_files": "files"}
_HIDDEN = ("hidden_tests", "hidden_test_files", "hidden")
_DESCRIPTION = "Fix the program so that its tests pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task; `hidden` maps the paths of hidden tests, which judge the fix afterwards, to their texts."""

    name: str
    spec: TaskSpec
    hidden: Files = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A line that is not a task.

    `field` is the wrong field, or `line` if the line is not JSON. `why` is the reason.
    """

    line: int
    field: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.field}: {self.why}"


def read(path: Path) -> tuple[list[Row], list[BadRow]]:
    """Read the tasks of a file, which may be gzipped, and the lines that are not tasks.

    Raises:
        OSError: the file cannot be read.
    """
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows, bad = list[Row](), list[BadRow]()
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
        if line.strip():
            try:
                rows.append(_row(json.loads(line), number))
            except json.JSONDecodeError as error:
                bad.append(BadRow(line=number, field="line", why=f"no JSON: {error}"))
            except InvalidTask as error:
                bad.extend(BadRow(line=number, field=name, why=why) for name, why in error.fields.items())
    return rows, bad


def choose_rows(rows: Collection[Row], only: Collection[str], limit: int | None) -> list[Row]:
    """Return the tasks with the names in `only`, or all tasks if it is empty, up to the limit.

    Raises:
        InvalidTask: a name in `only` does not exist.
    """
    if missing := sorted(set(only) - {row.name for row in rows}):
        raise InvalidTask({"only": f"no such task: {', '.join(missing)}"})
    return [row for row in rows if not only or row.name in only][:limit]


def _row(row: Any, number: int) -> Row:
    if not isinstance(row, Mapping):
        raise InvalidTask({"task": "must be an object with files and tests"})
    fields = {name: row[name] for name in _USED if row.get(name) is not None}
    for other, name in _OTHER_NAMES.items():
        if row.get(other) is not None:
            fields.setdefault(name, row[other])
    fields.setdefault("description", _DESCRIPTION)
    spec = parse_spec(fields)
    if not spec.tests and not spec.test_command:
        raise InvalidTask({"tests": "a task needs tests or a test_command"})
    name = next((str(row[key]) for key in ("id", "key") if row.get(key) is not None), f"line {number}")
    return Row(name=name, spec=spec, hidden=_read_hidden(row))


def _read_hidden(row: Mapping[str, Any]) -> Files:
    return dict(_texts(row))


def _texts(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _HIDDEN:
        files = row.get(name) or {}
        if not isinstance(files, Mapping):
            raise InvalidTask({name: "must be an object, path to text"})
        for path, text in files.items():
            if not isinstance(text, str):
                raise InvalidTask({f"{name}.{path}": "must be a text"})
            yield path, text

"""Finds syntax errors in the files of a new task, because a test that does not parse would fail every attempt."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable

from nightshift.core.code import golang
from nightshift.core.code.parsing import syntax_fault
from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.task import Files, Language

_BROKEN_ON_PURPOSE = re.compile(
    r"syntax|pars(?:e|es|ed|ing|er)\b|indent|broken|invalid|malformed|corrupt|does(?: not|n't) (?:import|load|compile)",
    re.IGNORECASE,
)
_MAY_BE_BROKEN = "; correct it, or say in the description that its syntax error is to be fixed"


def unreadable(language: Language, tests: Files, files: Files, description: str) -> dict[str, str]:
    """Find the files that cannot be parsed; map their field names (`tests.<path>`, `files.<path>`) to the reasons.

    Test files must parse; other files among the tests may be broken, because they may be examples of broken files.
    Start files may be broken if the task's description mentions broken code.
    """
    field_faults = {f"tests.{path}": _fault(language, path, text) for path, text in tests.items() if is_test_path(path)}
    if not _BROKEN_ON_PURPOSE.search(description):
        faults = {f"files.{path}": _fault(language, path, text) for path, text in files.items()}
        field_faults |= {field: why + _MAY_BE_BROKEN for field, why in faults.items() if why}
    return {field: why for field, why in field_faults.items() if why}


def _fault(language: Language, path: str, text: str) -> str | None:
    readers = _READERS[language]
    read = readers.get(path) or readers.get("." + path.rpartition(".")[2])
    return read(text) if read else None


def _json_fault(text: str) -> str | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except RecursionError:
        return "is nested too deeply to be read"
    return None


def _toml_fault(text: str) -> str | None:
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return str(error)
    return None


def _go_fault(text: str) -> str | None:
    fault = golang.fault(text)
    return f"line {fault.line}: {fault.message}" if fault else None


_READERS: dict[Language, dict[str, Callable[[str], str | None]]] = {
    Language.PYTHON: {".py": syntax_fault, "pyproject.toml": _toml_fault},
    Language.JAVASCRIPT: {"package.json": _json_fault},
    Language.GO: {".go": _go_fault},
}
"""Parsers of files that every run reads, by the path or the suffix of the file."""

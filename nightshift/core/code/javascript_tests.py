"""Chooses the framework that runs JavaScript tests: node:test, or the project's own vitest or jest.

The imports of a test file decide. A file that imports no framework, which is common with jest, is run by the framework
that `package.json` runs.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

TextOf = Callable[[str], str | None]

_MODULES = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*(['"])(node:test|vitest|@jest/globals)\1"""
)
_GLOBALS = re.compile(r"\b(?:test|it|describe)\b(?:\.\w+)*\s*[(`]")
_GROUPS = ("devDependencies", "dependencies")


class Framework(StrEnum):
    """Framework that runs the tests in a file."""

    NODE = "node:test"
    VITEST = "vitest"
    JEST = "jest"


_OF_MODULE = {"node:test": Framework.NODE, "vitest": Framework.VITEST, "@jest/globals": Framework.JEST}


def framework_of(path: str, text: str, text_of: TextOf) -> Framework:
    """Return the framework of a test file.

    Args:
        path: The path of the file.
        text: The content of the file.
        text_of: Returns the text of a file of the tree; None if there is no such file.
    """
    if match := _MODULES.search(text):
        return _OF_MODULE[match[2]]
    return choose_framework(path, text_of) if _GLOBALS.search(text) else Framework.NODE


def of_all(tests: Iterable[tuple[str, str]], text_of: TextOf) -> Framework:
    """Return the framework of the first of these test files (path and text); node:test if there are no files."""
    return next((framework_of(path, text, text_of) for path, text in tests), Framework.NODE)


def choose_framework(path: str, text_of: TextOf) -> Framework:
    """Return the framework of the package that contains a path, judged by its test script, settings or dependencies."""
    for folder in _above(path):
        text = text_of(posixpath.join(folder, "package.json"))
        if text is None:
            continue
        package = _read(text)
        script = str(_part(package, "scripts").get("test") or "")
        depends = {name for group in _GROUPS for name in _part(package, group)}
        for framework in (Framework.VITEST, Framework.JEST):
            if re.search(rf"\b{framework}\b", script):
                return framework
        if "--test" in script:
            return Framework.NODE
        if "jest" in package or ("jest" in depends and "vitest" not in depends):
            return Framework.JEST
        if "vitest" in depends:
            return Framework.VITEST
    return Framework.NODE


def root_of(path: str, text_of: TextOf) -> str:
    """Return the folder of the package that contains a file; empty for the root of the tree."""
    return next((folder for folder in _above(path) if text_of(posixpath.join(folder, "package.json")) is not None), "")


def _above(path: str) -> Iterable[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _read(text: str) -> dict[str, Any]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _part(package: dict[str, Any], name: str) -> dict[str, Any]:
    part = package.get(name)
    return part if isinstance(part, dict) else {}

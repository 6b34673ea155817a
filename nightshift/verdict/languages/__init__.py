"""What each language does in its own way when its tests are judged, behind one interface: `dialect_of`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from nightshift.core.code import golang
from nightshift.core.code.javascript import is_source
from nightshift.core.tasks.task import Language
from nightshift.verdict.languages.dialect import TestDialect

_MODULES = {
    Language.PYTHON: "nightshift.verdict.languages.python.plan",
    Language.JAVASCRIPT: "nightshift.verdict.languages.javascript.plan",
    Language.GO: "nightshift.verdict.languages.go.plan",
}


def dialect_of(language: Language) -> TestDialect:
    """What a language does in its own way; its parts are loaded when it is first asked for."""
    return cast("TestDialect", import_module(_MODULES[language]))


def language_of(path: str) -> Language | None:
    """The language of a source file by its name; None for any other file."""
    if is_source(path):
        return Language.JAVASCRIPT
    if golang.is_source(path):
        return Language.GO
    return Language.PYTHON if path.endswith(".py") else None

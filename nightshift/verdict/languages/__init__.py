"""Selects the code that judges the tests of a language: `dialect_of` returns a module of `TestDialect` functions."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from nightshift.core.tasks.language_choice import language_of
from nightshift.core.tasks.task import Language
from nightshift.verdict.languages.dialect import TestDialect

__all__ = ["dialect_of", "language_of"]

_MODULES = {
    Language.PYTHON: "nightshift.verdict.languages.python.plan",
    Language.JAVASCRIPT: "nightshift.verdict.languages.javascript.plan",
    Language.GO: "nightshift.verdict.languages.go.plan",
}


def dialect_of(language: Language) -> TestDialect:
    """Return the implementation for a language; its modules are imported on first use."""
    return cast("TestDialect", import_module(_MODULES[language]))

"""The commands with which a repository tests, lints and type-checks, each with the file and line that names it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Purpose(StrEnum):
    """The purpose of a command."""

    TEST = "test"
    LINT = "lint"
    TYPES = "types"


class Linter(StrEnum):
    """The linters and type checkers whose findings Nightshift can parse."""

    RUFF = "ruff"
    FLAKE8 = "flake8"
    MYPY = "mypy"
    PYRIGHT = "pyright"
    ESLINT = "eslint"
    TSC = "tsc"
    GOFMT = "gofmt"
    GOVET = "govet"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """Base class of everything that is found in a file of the repository. `line` counts from 1."""

    path: str
    line: int

    @property
    def location(self) -> str:
        """The path and the line, as a text."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommand(_Placed):
    """A command that a file of the repository names.

    `words` are the command's arguments without a prefix such as `uv run` or `npx`, which would first make an
    environment. The command runs in an existing environment instead.
    """

    purpose: Purpose
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLinter(_Placed):
    """A linter that the repository uses. `version` is the version that a file names; empty if no file names one."""

    linter: Linter
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPaths(_Placed):
    """The folders and files that contain tests, as a file of the repository names them."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything that was found in a tree: commands (most important first), linters (each once), and test paths."""

    commands: tuple[FoundCommand, ...] = ()
    linters: tuple[FoundLinter, ...] = ()
    test_paths: FoundPaths | None = None

    def command(self, purpose: Purpose) -> FoundCommand | None:
        """Return the first command for a purpose."""
        return next((each for each in self.commands if each.purpose is purpose), None)

    def choose_test_paths(self, given: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the test paths that the owner gave, or else the test paths that the files name.

        An empty result means that there is no restriction.
        """
        return given or (self.test_paths.paths if self.test_paths else ())

    def linter(self, wanted: Linter) -> FoundLinter | None:
        """Return where a linter was found; None if it was not found."""
        return next((each for each in self.linters if each.linter is wanted), None)


def once(linters: Iterable[FoundLinter]) -> tuple[FoundLinter, ...]:
    """Merge duplicates: each linter keeps its first location and gets the first version that any entry names."""
    first_by_linter = dict[Linter, FoundLinter]()
    versions = dict[Linter, str]()
    for each in linters:
        first_by_linter.setdefault(each.linter, each)
        if each.version:
            versions.setdefault(each.linter, each.version)
    return tuple(replace(each, version=versions.get(each.linter, "")) for each in first_by_linter.values())

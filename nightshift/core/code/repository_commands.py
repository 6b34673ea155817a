"""How a repository is tested, linted and typed, as its own files say; each finding tells where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Purpose(StrEnum):
    """Purpose of a command."""

    TEST = "test"
    LINT = "lint"
    TYPES = "types"


class Linter(StrEnum):
    """The linters and type checkers that are known here: their findings can be read."""

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
    """Something that stands in a file of the repository. `line` counts from 1."""

    path: str
    line: int

    @property
    def location(self) -> str:
        """Path and line."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommand(_Placed):
    """A command that a file of the repository names.

    `words` are without what would make an environment for it first (`uv run`, `npx`): it runs in the one that is there.
    """

    purpose: Purpose
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLinter(_Placed):
    """A linter that the repository has, with the version that one of its files names; empty where none does."""

    linter: Linter
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPaths(_Placed):
    """The folders and files of the tests, where the repository says them."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that was found in a tree: commands, those that count for more first, linters, each once, and test paths."""

    commands: tuple[FoundCommand, ...] = ()
    linters: tuple[FoundLinter, ...] = ()
    test_paths: FoundPaths | None = None

    def command(self, purpose: Purpose) -> FoundCommand | None:
        """The command for a purpose."""
        return next((each for each in self.commands if each.purpose is purpose), None)

    def choose_test_paths(self, given: tuple[str, ...] | None) -> tuple[str, ...]:
        """The places of tests that the owner gave, else those that the files name; empty is anywhere."""
        return given or (self.test_paths.paths if self.test_paths else ())

    def linter(self, wanted: Linter) -> FoundLinter | None:
        """Return where a linter was found; None where it was not."""
        return next((each for each in self.linters if each.linter is wanted), None)


def once(linters: Iterable[FoundLinter]) -> tuple[FoundLinter, ...]:
    """Return each linter at the first place that names it, with the first version that any place names."""
    first_by_linter = dict[Linter, FoundLinter]()
    versions = dict[Linter, str]()
    for each in linters:
        first_by_linter.setdefault(each.linter, each)
        if each.version:
            versions.setdefault(each.linter, each.version)
    return tuple(replace(each, version=versions.get(each.linter, "")) for each in first_by_linter.values())

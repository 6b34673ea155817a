"""Searches the files of a tree for its test, lint and type-check commands, in a fixed order of precedence.

Files are searched in this order: the owner's instructions for agents (AGENTS.md), commands that people type (project
tasks, scripts, Makefile), environment runners (tox, nox), and CI pipelines. Commands that the presence of a file
implies come last. Within a file, the first command counts, except that the target `test` precedes `check` in Makefiles.
Files below the root are ignored, except pipelines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from nightshift.core.code.listing import Listing, listing_of
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.repository_commands import Found, FoundCommand, FoundLinter, FoundPaths, Linter, Purpose, once
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.task import Language
from nightshift.core.text.encoding import decode
from nightshift.verdict.languages import language_of
from nightshift.verdict.languages.python import pytest_settings
from nightshift.verdict.languages.repository_commands import readers
from nightshift.verdict.languages.repository_commands.lines import NAMES, unwrapped

MOST_PIPELINES = 20
_AGENTS = ("AGENTS.md", "CLAUDE.md")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_GITHUB = ".github/workflows/"
_READERS: tuple[tuple[tuple[str, ...], Callable[[str, str], Iterator[FoundCommand]]], ...] = (
    (_AGENTS, readers.markdown),
    (("pyproject.toml",), readers.project_tasks),
    (("package.json",), readers.package_json),
    (_MAKEFILES, readers.makefile),
    (("tox.ini",), readers.tox),
    (("noxfile.py",), readers.nox),
)
"""File names and their readers, in order of precedence. If a row has several names, the first existing file is read."""
_IMPLIED: tuple[tuple[str, Purpose, tuple[str, ...]], ...] = (
    ("pytest.ini", Purpose.TEST, ("python", "-m", "pytest")),
    ("go.mod", Purpose.TEST, ("go", "test", "./...")),
    ("Cargo.toml", Purpose.TEST, ("cargo", "test")),
)
"""Files whose presence implies a command."""
_LINTER_FILES: Mapping[str, Linter] = {
    "ruff.toml": Linter.RUFF, ".ruff.toml": Linter.RUFF, "mypy.ini": Linter.MYPY, ".mypy.ini": Linter.MYPY,
    "pyrightconfig.json": Linter.PYRIGHT, "tsconfig.json": Linter.TSC, "go.mod": Linter.GOVET,
    **{f"eslint.config.{end}": Linter.ESLINT for end in ("js", "mjs", "cjs", "ts", "mts", "cts")},
    **{f".eslintrc{end}": Linter.ESLINT for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")},
}  # fmt: skip
_OF_OTHERS = (
    "Cargo.toml", "go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "meson.build", "Gemfile",
    "composer.json", "mix.exs", "Package.swift", "build.sbt", "build.zig", "stack.yaml",
)  # fmt: skip
"""Files that mark the root as a program in another language, even if scripts in a supported language are beside them.
"""
_PROGRAMS = {each.value: each for each in Linter if each is not Linter.GOVET}


def _pipelines(entries: Listing[str]) -> list[str]:
    return [path for path in entries.below(_GITHUB) if path.endswith((".yml", ".yaml"))][:MOST_PIPELINES]


def find(tree: Tree) -> Found:
    """Find the commands, linters and test paths that the files of a tree name."""
    texts = _Texts(tree)
    pipelines = [*_pipelines(listing_of(tree.entries())), ".gitlab-ci.yml"]
    commands = [
        *_list_written(texts),
        *(each for path in pipelines for each in _of(texts, path, readers.pipelines)),
        *_list_implied(texts),
    ]
    return Found(commands=tuple(commands), linters=once(_linters(texts, commands)), test_paths=_test_paths(texts))


def is_judged_here(paths: Collection[str], language: Language) -> bool:
    """Check whether Nightshift's own runs find the tests of a tree, so that the tree's commands are not needed."""
    if any(is_test_path(path) and language_of(path) is language for path in paths):
        return True
    return not is_foreign(paths) and any(language_of(path) is language for path in paths)


def is_foreign(paths: Collection[str]) -> bool:
    """Check whether the root contains a program whose tests can only run with a command of the repository."""
    return any(name in paths for name in _OF_OTHERS)


class _Texts:
    """Reads the text of a tree's files."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.entries = tree, tree.entries()

    def read(self, path: str) -> str | None:
        """Return a file's text; None if the file is missing, or so long that it is not written by hand."""
        if path not in self.entries:
            return None
        raw = self.tree.read(path)
        return decode(raw) if len(raw) <= readers.MAX_CHARS else None


def _list_written(texts: _Texts) -> Iterator[FoundCommand]:
    for names, reader in _READERS:
        path = next((name for name in names if name in texts.entries), None)
        if path is not None:
            yield from _of(texts, path, reader)


def _of(texts: _Texts, path: str, reader: Callable[[str, str], Iterator[FoundCommand]]) -> list[FoundCommand]:
    text = texts.read(path)
    return sorted(islice(reader(text, path), readers.MAX_FOUND), key=_rank) if text is not None else []


def _rank(command: FoundCommand) -> tuple[int, int]:
    """Return the sort key of a command: usual Makefile targets by precedence, then the line number."""
    is_target = command.words[0] == "make" and len(command.words) == 2
    return (list(NAMES).index(command.words[1]) if is_target and command.words[1] in NAMES else 0), command.line


def _list_implied(texts: _Texts) -> Iterator[FoundCommand]:
    for path, purpose, words in _IMPLIED:
        if path in texts.entries:
            yield FoundCommand(purpose=purpose, words=words, path=path, line=1)


def _linters(texts: _Texts, commands: list[FoundCommand]) -> Iterator[FoundLinter]:
    """List the linters that files configure, those in pre-commit hooks (with versions), and those that commands run."""
    for path, linter in _LINTER_FILES.items():
        if path in texts.entries:
            yield FoundLinter(linter=linter, path=path, line=1)
            if linter is Linter.GOVET:
                yield FoundLinter(linter=Linter.GOFMT, path=path, line=1)
    if text := texts.read("pyproject.toml"):
        yield from readers.project_linters(text, "pyproject.toml")
    for path in (".flake8", "setup.cfg", "tox.ini"):
        if text := texts.read(path):
            yield from readers.ini_linters(text, path)
    if text := texts.read(".pre-commit-config.yaml"):
        yield from islice(readers.hooks(text, ".pre-commit-config.yaml"), readers.MAX_FOUND)
    for each in commands:
        words = unwrapped(each.words[2:] if each.words[:2] == ("python", "-m") else each.words)
        if each.purpose is not Purpose.TEST and words and words[0] in _PROGRAMS:
            yield FoundLinter(linter=_PROGRAMS[words[0]], path=each.path, line=each.line)


def _test_paths(texts: _Texts) -> FoundPaths | None:
    """Return the `testpaths` of pytest; None if there are none, or if one is a pattern or leads out."""
    settings = pytest_settings.read(texts.read)
    paths = tuple(path.removeprefix("./").strip("/") for path in settings.test_paths)
    if settings.config is None or not paths or not all(map(_is_plain, settings.test_paths)):
        return None
    lines = enumerate((texts.read(settings.config) or "").split("\n"), 1)
    line = next((number for number, each in lines if "testpaths" in each), 1)
    return FoundPaths(paths=paths[: readers.MAX_FOUND], path=settings.config, line=line)


def _is_plain(path: str) -> bool:
    return bool(path.strip("/.")) and ".." not in path.split("/") and not re.search(r"[*?\[\]\\\0]|^/", path)

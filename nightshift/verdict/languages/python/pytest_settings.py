"""Reads a repository's pytest settings: the file that contains them, the patterns for tests, and the ignored paths.

Other command line options in the settings are not used, because coverage, parallel runs or stopping at the first
failure would only disturb a verdict. Options that exclude tests are used, because an owner who never runs slow tests
does not want them run here.
"""

from __future__ import annotations

import configparser
import fnmatch
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightshift.core.code.paths import folders_of
from nightshift.core.tasks.language_choice import is_django
from nightshift.verdict.languages.repository_commands.readers import read_toml

CONFIG_FILES = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Files in which pytest looks for its settings, in pytest's order."""

NO_RECURSION = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
"""Patterns of folders that pytest does not enter by default."""

_SECTION = {"setup.cfg": "tool:pytest"}
_UNITTEST = re.compile(r"(?:^|/)tests?/test[^/]*\.py$")
_Read = Callable[[str], str | None]
_DJANGO_FILES = ("test*.py", "*_test.py")
"""Patterns for names of test files in a Django project: those that `manage.py test` finds, and those of pytest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """The pytest settings of a repository.

    Attributes:
        config: the file that contains the settings; None if there is none.
        files: the patterns for names of test files.
        functions: the prefixes or patterns for names of test functions.
        classes: the prefixes or patterns for names of test classes.
        paths: the import paths, relative to the root.
        ignored: the patterns of files and folders that options exclude.
        test_paths: the folders that pytest searches by default.
        not_entered: the patterns of folders that pytest does not enter.
        has_doctests: true if pytest runs the examples in docstrings.
        shares_names: true if two test files of one process cannot have the same module name.
    """

    config: str | None = None
    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)
    paths: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    test_paths: tuple[str, ...] = ()
    not_entered: tuple[str, ...] = NO_RECURSION
    has_doctests: bool = False
    shares_names: bool = True

    def is_suite(self, path: str) -> bool:
        """Check whether pytest treats a file as a test file."""
        return _fits(path, self.files)

    def names_tests(self, path: str) -> bool:
        """Check whether a Python file by its name holds tests only; unittest's names count without settings."""
        patterns = [pattern for pattern in self.files if pattern.strip("*/") not in {"", ".py"}]  # those fit products
        is_own = _fits(path, patterns) or (self.config is None and bool(_UNITTEST.search(path)))
        return is_own and path.endswith(".py") and path.rpartition("/")[2] != "conftest.py"

    def is_test_file(self, path: str, text_of: _Read) -> bool:
        """Check whether pytest finds tests in a Python file: by its name, or by examples in its docstrings.

        A file of the product counts only where the owner's pytest looks by default.
        """
        if not path.endswith(".py") or path.rpartition("/")[2] == "conftest.py" or not self._enters(path, 0):
            return False
        roots = [re.compile(_glob(location)) for location in self.test_paths or ("",)]
        return self.names_tests(path) or (
            bool(list(_starts(path, roots)))
            and (self.is_suite(path) or (self.has_doctests and ">>> " in (text_of(path) or "")))
        )

    def collected(self, paths: Iterable[str], below: Iterable[str] = ()) -> list[str]:
        """Return the paths that pytest collects as test files.

        Args:
            paths: the paths of all files in the tree.
            below: the folders given on the command line, as the owner wrote them; empty for the default folders.
        """
        folders = [folder.removeprefix("./").rstrip("/") for folder in below]
        suites = [path for path in paths if self.is_suite(path)]
        for places in (folders or self.test_paths, ("",)):
            patterns = [re.compile(_glob(location)) for location in places]
            collected_paths = [
                path for path in suites for start in _starts(path, patterns) if self._enters(path, start)
            ]
            if collected_paths or folders:
                return list(dict.fromkeys(collected_paths))
        return []

    def _enters(self, path: str, start: int) -> bool:
        """Check whether pytest reaches a file when it starts in a folder above the file.

        `start` is the length of that folder's path, in characters.
        """
        below = [part for part in (*folders_of(path), path) if len(part) > start]
        return not any(_fits(part, self.ignored) for part in below) and not any(
            _fits(part, self.not_entered) for part in below if part != path
        )

    def is_function(self, name: str) -> bool:
        """Check whether pytest treats a function as a test."""
        return _matches(name, self.functions)

    def is_class(self, name: str) -> bool:
        """Check whether pytest looks for tests in a class."""
        return _matches(name, self.classes)


def read(text_of: _Read) -> PytestSettings:
    """Read the pytest settings of a repository.

    Args:
        text_of: returns the text of a file at the root of the repository, or None.
    """
    usual = PytestSettings()
    if is_django(text_of):
        usual = replace(usual, files=_DJANGO_FILES)
    for name in CONFIG_FILES:
        text = text_of(name)
        values = section(name, text) if text is not None else None
        if values is not None or (text is not None and name in {"pytest.ini", ".pytest.ini"}):
            return _settings(name, values or {}, usual)
    return usual


def section(name: str, text: str) -> Mapping[str, Any] | None:
    """Read pytest's settings from a file; None if the file has no such settings or cannot be parsed."""
    base = name.rpartition("/")[2]
    try:
        if base.endswith(".toml"):
            table = read_toml(text)
            if base != "pyproject.toml":
                return table.get("pytest")
            tool = table.get("tool", {}).get("pytest")
            return {**tool, **tool.pop("ini_options", {})} if tool is not None else None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        wanted = _SECTION.get(base, "pytest")
        return dict(parser.items(wanted)) if parser.has_section(wanted) else None
    except (configparser.Error, AttributeError, TypeError):
        return None


def _settings(name: str, values: Mapping[str, Any], usual: PytestSettings) -> PytestSettings:
    options = _words(values.get("addopts"))
    return PytestSettings(
        config=name,
        files=_words(values.get("python_files")) or usual.files,
        functions=_words(values.get("python_functions")) or usual.functions,
        classes=_words(values.get("python_classes")) or usual.classes,
        paths=_words(values.get("pythonpath")),
        ignored=tuple(_list_ignored(options)),
        test_paths=_words(values.get("testpaths")),
        not_entered=_words(values.get("norecursedirs")) or usual.not_entered,
        has_doctests="--doctest-modules" in options,
        shares_names=not {"--import-mode=importlib", "importlib"} & set(options),
    )


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError:
            return tuple(value.split())
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _list_ignored(options: Iterable[str]) -> Iterable[str]:
    """List the patterns of the paths that options ignore.

    A plain path becomes a pattern that matches only that path.
    """
    words = iter(options)
    for word in words:
        name, equals, value = word.partition("=")
        if name in {"--ignore", "--ignore-glob"}:
            value = (value if equals else next(words, "")).removeprefix("./").rstrip("/")
            yield "/" + (re.sub(r"([*?[])", r"[\1]", value) if name == "--ignore" else value)


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Check whether a path matches a pattern, by pytest's rules.

    A pattern with a slash is matched with the end of the path. A pattern with a leading slash is matched with the whole
    path. Any other pattern is matched with the last part of the path.
    """
    name = path.rpartition("/")[2]
    return any(
        fnmatch.fnmatchcase(f"/{path}", pattern if pattern.startswith("/") else f"*/{pattern}")
        if "/" in pattern
        else fnmatch.fnmatchcase(name, pattern)
        for pattern in patterns
    )


def _glob(location: str) -> str:
    """Convert a path with `glob` wildcards into a regular expression that matches the beginning of file paths."""
    path = location.removeprefix("./").rstrip("/")
    parts = re.split(r"(\*\*/|\*|\?)", "" if path == "." else path)
    wild = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "?": "[^/]"}
    return "".join(wild.get(part, re.escape(part)) for part in parts) + (r"(?:/|\Z)" if path not in {"", "."} else "")


def _starts(path: str, patterns: Iterable[re.Pattern[str]]) -> Iterable[int]:
    """For each pattern that matches the start of a path, yield the number of matched characters."""
    return (len(match[0].rstrip("/")) for pattern in patterns if (match := pattern.match(path)))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(p) or (set(p) & set("*?[") and fnmatch.fnmatchcase(name, p)) for p in patterns)

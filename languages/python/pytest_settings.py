"""Reads what a repository tells pytest: which file it does so in, what counts as a test, and which plugins it names.

Options that a repository adds to the command line are not taken over: coverage, parallel runs or stopping at the first
failure would only disturb a verdict. The plugins among them are, and what leaves tests out: whoever never runs his slow
tests does not ask for them here.
"""

from __future__ import annotations

import configparser
import fnmatch
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

CONFIG_FILES = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Where pytest looks for its settings, in its order."""

_LEAVES_OUT = re.compile(r"not \w+(?: and not \w+)*|not \(\w+(?: or \w+)*\)")
"""Expressions of `-m` and `-k` that choose nothing and only leave tests out."""
_SECTION = {"setup.cfg": "tool:pytest"}
_Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """A repository's settings. `config` is the file that holds them, `paths` are import paths below its root.

    `leaving_out` are the options that leave tests out.
    """

    config: str | None = None
    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)
    plugins: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    import_mode: str = "append"
    leaving_out: tuple[str, ...] = ()

    def leaves_out(self, texts: str) -> bool:
        """Tell whether one of these tests may be left out: they mention a word of an option."""
        words = re.findall(r"\w+", " ".join(self.leaving_out[1::2]))
        return any(re.search(rf"\b{word}\b", texts) for word in words if word not in {"not", "and", "or"})

    def is_suite(self, path: str) -> bool:
        """Tell whether pytest takes a file for tests."""
        name = path.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(path if "/" in pattern else name, pattern) for pattern in self.files)

    def is_function(self, name: str) -> bool:
        """Tell whether pytest takes a function for a test."""
        return _matches(name, self.functions)

    def pattern_of(self, name: str) -> str:
        """The pattern that makes a function a test; what unittest takes begins with `test` in any case."""
        return next((pattern for pattern in self.functions if _matches(name, (pattern,))), "test")

    def is_class(self, name: str) -> bool:
        """Tell whether pytest looks for tests in a class."""
        return _matches(name, self.classes)


def read(text_of: _Read) -> PytestSettings:
    """The settings of a repository.

    Args:
        text_of: the text of a file at its root, or None.
    """
    for name in CONFIG_FILES:
        text = text_of(name)
        found = section(name, text) if text is not None else None
        if found is not None or (text is not None and name in {"pytest.ini", ".pytest.ini"}):
            return _settings(name, found or {})
    return PytestSettings()


def section(name: str, text: str) -> Mapping[str, Any] | None:
    """What a file tells pytest; None when it tells nothing or cannot be read."""
    base = name.rpartition("/")[2]
    try:
        if base.endswith(".toml"):
            table = tomllib.loads(text)
            if base != "pyproject.toml":
                return table.get("pytest")
            tool = table.get("tool", {}).get("pytest")
            return {**tool, **tool.pop("ini_options", {})} if tool is not None else None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        wanted = _SECTION.get(base, "pytest")
        return dict(parser.items(wanted)) if parser.has_section(wanted) else None
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError, TypeError):
        return None


def _settings(name: str, found: Mapping[str, Any]) -> PytestSettings:
    options = _words(found.get("addopts"))
    usual = PytestSettings()
    return PytestSettings(
        config=name,
        files=_words(found.get("python_files")) or usual.files,
        functions=_words(found.get("python_functions")) or usual.functions,
        classes=_words(found.get("python_classes")) or usual.classes,
        plugins=tuple(p for p in _plugins(options) if not p.startswith("no:")),
        paths=_words(found.get("pythonpath")),
        import_mode="importlib" if "--import-mode=importlib" in options else usual.import_mode,
        leaving_out=tuple(_leaving_out(options)),
    )


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError:
            return tuple(value.split())
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _plugins(options: Iterable[str]) -> Iterable[str]:
    words = iter(options)
    for word in words:
        if word == "-p":
            yield next(words, "")
        elif word.startswith("-p") and not word.startswith("--"):
            yield word[2:]


def _leaving_out(options: Iterable[str]) -> Iterable[str]:
    """Options and their values in turn; of several expressions the last one counts, as it does in pytest."""
    words, found, gone = iter(options), dict[str, str](), list[str]()
    for word in words:
        name, equals, value = word.partition("=")
        if name in {"-m", "-k", "--deselect"}:
            value = value if equals else next(words, "")
            if name == "--deselect":
                gone += [name, value]
            else:
                found[name] = value
    for name, value in found.items():
        if _LEAVES_OUT.fullmatch(value.strip()):
            yield from (name, value)
    yield from gone


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(p) or (set(p) & set("*?[") and fnmatch.fnmatchcase(name, p)) for p in patterns)

"""Translates a test command that runs pytest into the files it would run; any other command is left as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nightshift.verdict.languages.python.pytest_settings import PytestSettings

_SELECTING = frozenset({"-k", "-m", "--ignore", "--ignore-glob", "--deselect"})
_WITH_VALUE = frozenset({
    "-c", "-p", "-n", "-W", "-o", "-r", "--rootdir", "--maxfail", "--tb", "--cov", "--cov-report", "--durations",
    "--import-mode", "--color", "--log-level", "--junitxml", "--junit-xml", "--dist", "--capture", "--confcutdir",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestCommand:
    """A pytest command. `targets` are paths or ids as they were typed, `selecting` the options that choose tests."""

    targets: tuple[str, ...]
    selecting: tuple[str, ...]

    def files(self, paths: Collection[str], settings: PytestSettings) -> list[str]:
        """The test files that it names, among the paths of a tree."""
        wanted = [target.partition("::")[0].removeprefix("./").rstrip("/") for target in self.targets]
        named = [path for path in wanted if path in paths]
        folders = [path for path in wanted if path not in paths]
        found = settings.collected(paths, folders) if folders or not wanted else []
        return named + [path for path in found if path not in named]

    @property
    def takes_all(self) -> bool:
        """Tell whether it runs every test of its files."""
        return not self.selecting and not any("::" in target for target in self.targets)


def parse(argv: Sequence[str]) -> PytestCommand | None:
    """Read a command; None when it does not run pytest, or in a way that is not understood."""
    words = _arguments(list(argv))
    if words is None:
        return None
    targets, selecting = list[str](), list[str]()
    while words:
        word = words.pop(0)
        value = [words.pop(0)] if word in _SELECTING | _WITH_VALUE and words else []
        if not word.startswith("-"):
            targets.append(word)
        elif word.partition("=")[0] in _SELECTING:
            selecting += [word, *value]
    return PytestCommand(targets=tuple(targets), selecting=tuple(selecting))


def _arguments(words: list[str]) -> list[str] | None:
    """What follows `pytest` or `python -m pytest`; None for another program."""
    program = PurePosixPath(words[0]).name if words else ""
    rest = words[1:]
    if not program.startswith("python"):
        return rest if program in {"pytest", "py.test"} else None
    while rest and rest[0] in {"-B", "-I", "-s", "-u", "-E"}:
        rest.pop(0)
    return rest[2:] if rest[:2] == ["-m", "pytest"] else None

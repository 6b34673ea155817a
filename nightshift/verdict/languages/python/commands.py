"""Translates a pytest command into the test files that it runs. Other commands are not translated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.repository_commands.lines import without_maker

_WITH_VALUE = frozenset({
    "-k", "-m", "--ignore", "--ignore-glob", "--deselect",
    "-c", "-p", "-n", "-W", "-o", "-r", "--rootdir", "--maxfail", "--tb", "--cov", "--cov-report", "--durations",
    "--import-mode", "--color", "--log-level", "--junitxml", "--junit-xml", "--dist", "--capture", "--confcutdir",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestCommand:
    """A pytest command.

    Attributes:
        words: the arguments of pytest.
        targets: the paths or test ids among the arguments.
        is_module: true if the command starts with Python, as in `python -m pytest`.
    """

    words: tuple[str, ...]
    targets: tuple[str, ...]
    is_module: bool

    def files(self, paths: Collection[str], settings: PytestSettings) -> list[str]:
        """Return the paths of the test files that the command runs; `paths` are all files of the tree."""
        wanted = [target.partition("::")[0].removeprefix("./").rstrip("/") for target in self.targets]
        named = [path for path in wanted if path in paths]
        folders = [path for path in wanted if path not in paths]
        collected = settings.collected(paths, folders) if folders or not wanted else []
        return named + [path for path in collected if path not in named]


def parse(argv: Sequence[str]) -> PytestCommand | None:
    """Parse a command; None if it does not run pytest, or runs it in a way that is not recognised.

    A program that would only make an environment first, as in `uv run pytest`, is left out.
    """
    words = _arguments(list(without_maker(argv)))
    if words is None:
        return None
    targets, left = list[str](), list(words)
    while left:
        word = left.pop(0)
        if word in _WITH_VALUE and left:
            left.pop(0)
        elif not word.startswith("-"):
            targets.append(word)
    is_module = PurePosixPath(argv[0]).name.startswith("python")
    return PytestCommand(words=tuple(words), targets=tuple(targets), is_module=is_module)


def _arguments(words: list[str]) -> list[str] | None:
    """Return the arguments after `pytest` or `python -m pytest`; None for another program."""
    program = PurePosixPath(words[0]).name if words else ""
    rest = words[1:]
    if not program.startswith("python"):
        return rest if program in {"pytest", "py.test"} else None
    while rest and rest[0] in {"-B", "-I", "-s", "-u", "-E"}:
        rest.pop(0)
    return rest[2:] if rest[:2] == ["-m", "pytest"] else None

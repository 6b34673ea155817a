"""Recognises shell lines that test, lint or type-check, and returns the arguments that run them.

The shell syntax is parsed roughly, and unclear lines are left out. A missed command is less harmful than a wrong one:
the owner can add a line to the repository's settings, while a wrong command would judge the owner's tasks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from nightshift.core.code.repository_commands import FoundCommand, Purpose
from nightshift.sandbox.inside.environment_makers import PROGRAMS, VALUED

MAX_CHARS = 2_000
"""Maximum characters of a line. A longer line is a script of its own."""

NAMES = {
    **dict.fromkeys(("test", "tests", "unittest", "unittests", "unit-test", "unit-tests", "check"), Purpose.TEST),
    **dict.fromkeys(("lint", "linter", "linting", "style"), Purpose.LINT),
    **dict.fromkeys(("typecheck", "type-check", "typing", "types", "mypy", "pyright", "tsc"), Purpose.TYPES),
}
"""Usual names of Makefile targets, scripts, sessions and environments. For each purpose, earlier names take precedence.
"""

_PROGRAMS = {
    **dict.fromkeys((
        "pytest", "py.test", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava", "jasmine", "rspec",
        "ctest", "bats", "prove", "phpunit", "gotestsum",
    ), Purpose.TEST),
    **dict.fromkeys((
        "ruff", "flake8", "pylint", "eslint", "biome", "golangci-lint", "gofmt", "staticcheck", "pre-commit", "rubocop",
        "shellcheck",
    ), Purpose.LINT),
    **dict.fromkeys(("mypy", "pyright", "basedpyright", "tsc", "ty", "pyre"), Purpose.TYPES),
}  # fmt: skip
_TWO_WORDS = {
    **dict.fromkeys((
        ("go", "test"), ("cargo", "test"), ("cargo", "nextest"), ("npm", "test"), ("npm", "t"), ("yarn", "test"),
        ("pnpm", "test"), ("bun", "test"), ("deno", "test"), ("node", "--test"), ("mvn", "test"), ("mvn", "verify"),
        ("gradle", "test"), ("gradle", "check"), ("dotnet", "test"), ("mix", "test"), ("swift", "test"),
        ("rake", "test"), ("rake", "spec"), ("composer", "test"), ("sbt", "test"), ("bazel", "test"), ("zig", "test"),
        ("stack", "test"), ("cabal", "test"), ("meson", "test"), ("hatch", "test"),
    ), Purpose.TEST),
    **dict.fromkeys((("go", "vet"), ("cargo", "clippy"), ("deno", "lint")), Purpose.LINT),
    ("cargo", "check"): Purpose.TYPES,
}  # fmt: skip
_BY_NAME = {"make", "gmake", "just", "task", "poe", "invoke", "inv"}
"""Programs whose first argument is the name of a target that the owner defined."""
_RUN_BY_NAME = {"npm", "pnpm", "yarn", "bun", "pdm", "hatch", "rye", "composer"}
"""Programs that take the name of a script or task, defined by the owner, after `run`."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_SHELL = re.compile(r"[|<>$`(){}*?\[\]\\]|&(?!&)")
"""Characters that only a shell interprets."""
_PLACEHOLDER = re.compile(r"\$\{\{|<[\w /.-]+>|\bpath/to\b|\.\.\.|…|::")
"""Matches text in lines that are only examples, or that run a single test."""
_SEPARATORS = re.compile(r"\s*(?:&&|\|\||;)\s*")


def commands(text: str, path: str, line: int) -> Iterator[FoundCommand]:
    """Yield the commands in a shell line that test, lint or type-check.

    Args:
        text: the line.
        path: the path of the file that contains the line.
        line: the line number in that file.
    """
    text = text.strip().removeprefix("$ ").strip()
    if not text or len(text) > MAX_CHARS or _PLACEHOLDER.search(text):
        return
    before = ""
    for part in _SEPARATORS.split(text):
        if part.startswith(("cd ", "pushd ")):
            before = f"{before}{part} && "
        elif command := _command(part, before):
            purpose, words = command
            yield FoundCommand(purpose=purpose, words=words, path=path, line=line)


def words_of(text: str) -> list[str] | None:
    """Split a simple shell command into its arguments; None if it cannot be parsed."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return None


def purpose_of(words: Sequence[str]) -> Purpose | None:
    """Return whether a command tests, lints or type-checks, judged by its program and arguments; None if unknown."""
    if not words:
        return None
    program, rest = words[0].rpartition("/")[2], [word for word in words[1:] if word]
    if program.removesuffix("w") in {"mvn", "gradle"}:
        program = program.removesuffix("w")
    first = next((word for word in rest if not word.startswith("-") or word == "--test"), "")
    if program in {"python", "python3"}:
        return _of_python(rest)
    if program == "coverage" and "-m" in rest:
        return _of_python(rest)
    if program in _BY_NAME:
        return NAMES.get(first)
    if program in _RUN_BY_NAME and first == "run":
        named = rest[rest.index("run") + 1 :]
        return NAMES.get(named[0].rpartition(":")[2]) if named else None
    if (program, first) in _TWO_WORDS:
        return _TWO_WORDS[program, first]
    if program == "ruff":
        return None if first in {"format", "clean", "server", "rule", "version", "help"} else Purpose.LINT
    if program == "pre-commit":
        return Purpose.LINT if first == "run" else None
    return _PROGRAMS.get(program)


def _of_python(rest: Sequence[str]) -> Purpose | None:
    if "-m" in rest[:-1]:
        return purpose_of(rest[rest.index("-m") + 1 :])
    if rest and rest[0] == "manage.py" and "test" in rest[1:2]:
        return Purpose.TEST
    return None


def _command(part: str, before: str) -> tuple[Purpose, tuple[str, ...]] | None:
    words = words_of(part)
    if not words:
        return None
    assigned = [word for word in words if _ASSIGNMENT.fullmatch(word)]
    assigned = words[: next((n for n, word in enumerate(words) if word not in assigned), len(words))]
    bare = unwrapped(words[len(assigned) :])
    purpose = purpose_of(bare)
    if purpose is None or {"--version", "--help", "--install-types", "--fix", "--write", "--watch"} & set(bare):
        return None
    if before or _SHELL.search(part):
        return purpose, ("sh", "-c", f"{before}{part}")
    return purpose, (*(("env", *assigned) if assigned else ()), *bare)


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return a command without the programs in front of it that only set up an environment, such as `uv run`."""
    words = list(words)
    while words:
        program = words[0]
        if program in PROGRAMS and "run" in words[1:3] and not _is_script(words):
            words = _after_options(words[words.index("run") + 1 :])
        elif program in {"npx", "bunx", "uvx", "time", "xvfb-run"}:
            words = _after_options(words[1:])
        elif program in {"pnpm", "yarn", "bundle"} and words[1:2] == ["exec"]:
            words = _after_options(words[2:])
        else:
            return words
    return words


def without_maker(words: Sequence[str]) -> Sequence[str]:
    """Return the command that a program such as uv would run in its environment; other commands are unchanged."""
    is_maker = bool(words) and words[0] in PROGRAMS
    return (unwrapped(words) if is_maker else ()) or words


def _is_script(words: Sequence[str]) -> bool:
    """Check whether the argument after `run` is the name of a script that the owner defined, not a program."""
    after = _after_options(list(words)[list(words).index("run") + 1 :])
    named = bool(after) and after[0].rpartition(":")[2] in NAMES and after[0] not in _PROGRAMS
    return words[0] in _RUN_BY_NAME and named


def _after_options(words: Sequence[str]) -> list[str]:
    left = list(words)
    while left and left[0].startswith("-"):
        option = left.pop(0)
        if option == "--":
            break
        if option in VALUED and left:
            left.pop(0)
    return left

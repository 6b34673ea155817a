"""Translates a test command that runs node:test into the files it would run; other commands are left as they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nightshift.verdict.languages.javascript.suite import is_suite

_SELECTING = ("--test-name-pattern", "--test-only", "--test-skip-pattern", "--test-shard")
_WITH_VALUE = frozenset({"--test-reporter", "--test-reporter-destination", "--test-concurrency", "--test-timeout"})
_NPM_TEST = (
    ("npm", "test"), ("npm", "t"), ("npm", "run", "test"), ("yarn", "test"), ("yarn", "run", "test"), ("pnpm", "test"),
    ("pnpm", "run", "test"),
)  # fmt: skip
_OTHERWISE = ("--reporter", "--outputFile", "--json", "--watch", "--list", "--showConfig", "--help", "--version")
_NOT_A_RUN = frozenset({"watch", "dev", "bench", "list", "typecheck", "-w", "-h", "-v"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCommand:
    """A command that runs `node --test`; `targets` are the paths that it was given."""

    targets: tuple[str, ...]

    def files(self, paths: Collection[str]) -> list[str]:
        """The test files that it names, among the paths of a tree; installed packages are not looked into."""
        wanted = [target.removeprefix("./").rstrip("/") for target in self.targets] or [""]
        named = [path for path in wanted if path in paths]
        folders = tuple("" if path in {"", "."} else f"{path}/" for path in wanted if path not in paths)
        below = [path for path in paths if folders and path.startswith(folders) and is_suite(path)]
        return list(dict.fromkeys([*named, *(path for path in below if "node_modules/" not in path)]))


def parse(argv: Sequence[str], text_of: Callable[[str], str | None]) -> NodeCommand | None:
    """Read a command; None when it does not run node:test, or only some of its tests.

    Args:
        argv: the command; `npm test` stands for what package.json says.
        text_of: the text of a file of the base, or None.
    """
    if tuple(argv) in _NPM_TEST:
        argv = _script(text_of("package.json"))
    if not argv or PurePosixPath(argv[0]).name not in {"node", "nodejs"} or "--test" not in argv:
        return None
    targets, words = list[str](), list(argv[1:])
    while words:
        word = words.pop(0)
        if word.startswith(_SELECTING) or any(char in word for char in "*?[{"):
            return None
        if word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            targets.append(word)
    return NodeCommand(targets=tuple(targets))


def reporting(argv: Sequence[str], text_of: Callable[[str], str | None], code: str) -> tuple[str, ...]:
    """A command that runs vitest or jest, so that it reports each test; any other command as it is.

    Args:
        argv: the command; `npm test` stands for what package.json says.
        text_of: the text of a file of the base, or None.
        code: the folder of our own code inside, which has the reporter for jest.
    """
    words = list(argv)
    if tuple(argv) in _NPM_TEST:
        package = text_of("package.json")
        words = _script(package) if package and '"pretest"' not in package and '"posttest"' not in package else []
    words = words[1:] if words[:1] == ["npx"] else words
    if not words or words[0] not in {"vitest", "jest"}:
        return tuple(argv)
    if any(word.startswith(_OTHERWISE) or word in _NOT_A_RUN for word in words):
        return tuple(argv)
    if words[0] == "vitest":
        run = [*words[:1], "run", *(word for word in words[1:] if word != "run")]
        return (*run, "--reporter=default", "--reporter=junit", "--outputFile.junit=junit-vitest.xml")
    return (*words, "--ci", "--reporters=default", f"--reporters={code}/jest_report.cjs")


def _script(package: str | None) -> list[str]:
    """The words of package.json's test script; none where it is more than one command."""
    try:
        text = json.loads(package or "")["scripts"]["test"]
        words = shlex.split(text)
    except (ValueError, KeyError, TypeError):
        return []
    return [] if any(char in text for char in "|&;<>$`") else words

"""Reads the test commands of JavaScript projects.

Finds the files that a node:test command runs, and adds a reporter to a vitest or jest command. A command that would
watch the files for ever gets an option that ends it after one run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from nightshift.core.code.paths import is_test_path

TextOf = Callable[[str], str | None]
"""Returns the text of a file of the base, or None."""
_SELECTING = ("--test-name-pattern", "--test-only", "--test-skip-pattern", "--test-shard")
_WITH_VALUE = frozenset({"--test-reporter", "--test-reporter-destination", "--test-concurrency", "--test-timeout"})
_MANAGERS = frozenset({"npm", "yarn", "pnpm"})
_OTHERWISE = ("--reporter", "--outputFile", "--json", "--list", "--showConfig", "--help", "--version")
_NOT_A_RUN = frozenset({"bench", "list", "typecheck", "-h", "-v"})
_ENDS = frozenset({"run", "--run", "--watch=false", "--no-watch"})
_VARIABLES = re.compile(r"\s*(?:cross-env\s+)?(?:\w+=\S*\s+)*")
_BY_DEFAULT = re.compile(r"(?:.*/)?(?:(?:[^/]*[._-])?test|test-[^/]*)\.[cm]?js|(?:.*/)?test/.*\.[cm]?js")
"""Matches the files that `node --test` runs by default."""
_SCRIPTS = ("package.json", "Makefile", "makefile")
_PRINTING = ("--test-reporter=spec", "--test-reporter-destination=stdout")
"""Options that preserve node:test's default output, because a further reporter would replace it.

If there are several reporters, each needs a destination.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCommand:
    """A command that runs `node --test`; `targets` are the paths given as arguments."""

    targets: tuple[str, ...]

    def files(self, paths: Collection[str]) -> list[str]:
        """Return the paths of the test files that the command runs, without installed packages."""
        own = [path for path in paths if "node_modules/" not in path]
        if not self.targets:
            return [path for path in own if _BY_DEFAULT.fullmatch(path)]
        wanted = [target.removeprefix("./").rstrip("/") for target in self.targets]
        folders = tuple("" if path in {"", "."} else f"{path}/" for path in wanted if path not in paths)
        below = (path for path in own if folders and path.startswith(folders) and is_test_path(path))
        named = [path for path in wanted if path in paths]
        return list(dict.fromkeys([*named, *filter(_BY_DEFAULT.fullmatch, below)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """A command that reports its tests.

    Attributes:
        words: the arguments of the command.
        printing: options that make node:test print its usual output in addition to the report.
    """

    words: tuple[str, ...] = ()
    printing: tuple[str, ...] = ()


def parse(argv: Sequence[str], text_of: TextOf) -> NodeCommand | None:
    """Parse a command; None if it does not run node:test, or runs only some of the tests.

    Args:
        argv: the command; a package script such as `npm test` is replaced by its command in package.json.
        text_of: returns the text of a file of the base, or None.
    """
    words = _read_script(argv, text_of)
    if not words or PurePosixPath(words[0]).name not in {"node", "nodejs"} or "--test" not in words:
        return None
    targets, words = list[str](), words[1:]
    while words:
        word = words.pop(0)
        if word.startswith(_SELECTING) or any(char in word for char in "*?[{"):
            return None
        if word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            targets.append(word)
    return NodeCommand(targets=tuple(targets))


def with_reporter(argv: tuple[str, ...], text_of: TextOf, code: str) -> Reporting:
    """Return the owner's command, with an additional reporter if it runs vitest or jest, and without watching.

    Args:
        argv: the command; empty if there is none.
        text_of: returns the text of a file of the base, or None.
        code: the folder inside the sandbox that contains Nightshift's reporters.
    """
    if not argv:
        return Reporting()
    words, last = (_without_npx(_read_script(argv, text_of, is_last=each)) for each in (False, True))
    more, between = _list_ending(last), ("--",) if argv[0] == "npm" and "--" not in argv else ()
    texts = (" ".join(argv), *(text_of(path) or "" for path in _SCRIPTS))
    printing: tuple[str, ...] = _PRINTING
    if any("--test-reporter-destination" in text for text in texts):
        printing = ()
    elif any("--test-reporter" in text for text in texts):
        printing = _PRINTING[1:]
    runs = words[:1] in (["vitest"], ["jest"]) and not _NOT_A_RUN.intersection(words)
    if not runs or any(word.startswith(_OTHERWISE) for word in words):
        return Reporting(words=(*argv, *between, *more) if more else argv, printing=printing)
    option, ending = ("--reporter", "mjs") if words[0] == "vitest" else ("--reporters", "cjs")
    more = (*more, f"{option}=default", f"{option}={code}/{words[0]}_reporter.{ending}")
    return Reporting(words=(*argv, *between, *more), printing=printing)


def _list_ending(words: Sequence[str]) -> tuple[str, ...]:
    """Return the option that ends vitest or jest after one run; nothing if the command ends by itself.

    CI=1 would end them too, but they would write no new snapshots then.
    """
    if words[:1] == ["vitest"] and not _ENDS.intersection(words):
        return ("--run",)
    return ("--watchAll=false",) if words[:1] == ["jest"] and {"--watch", "--watchAll"}.intersection(words) else ()


def _without_npx(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["npx"] else words


def _read_script(argv: Sequence[str], text_of: TextOf, *, is_last: bool = False) -> list[str]:
    """Return a command's arguments, with a package.json script expanded; empty if the script uses shell syntax.

    With `is_last`, the result is the last of several commands joined by `&&`, because it gets the arguments of the
    manager. Its environment variables are left out.
    """
    if not argv or argv[0] not in _MANAGERS:
        return list(argv)
    name, *more = [word for word in argv[1:] if word != "run"] or [""]
    try:
        text = json.loads(text_of("package.json") or "")["scripts"]["test" if name == "t" else name]
        text = _VARIABLES.sub("", text.rpartition("&&")[2], count=1) if is_last else text
        words = shlex.split(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return [] if any(char in text for char in "|&;<>$`") else [*words, *(word for word in more if word != "--")]

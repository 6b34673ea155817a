"""Patterns that the owner types: `git push --force*`, `terraform apply *`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from checks.hooks import shell
from checks.hooks.commands import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPattern:
    """A program and globs for its arguments.

    The first word is the program's name, without a folder. Each further word is a glob that one whole argument must
    match, in this order; other arguments may stand before, between and behind. A `*` by itself asks for nothing.

    Attributes:
        name: what allows it again, as `command.<name>`.
    """

    name: str
    text: str
    words: tuple[str, ...]

    def matches(self, command: Command) -> bool:
        """Tell whether a command is meant."""
        program, *globs = self.words
        if not fnmatchcase(command.program, program):
            return False
        args = iter(command.args)
        return all(glob == "*" or any(fnmatchcase(arg, glob) for arg in args) for glob in globs)


def parse(texts: Sequence[str]) -> tuple[OwnPattern, ...]:
    """Read patterns as they were typed.

    Raises:
        ValueError: a pattern names no program.
    """
    found = []
    for text in texts:
        words = tuple(shell.words(text))
        if not words or words[0] == "*":
            raise ValueError(f"{text!r} names no program; write for example `terraform apply *`")
        name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "pattern"
        found.append(OwnPattern(name=f"own.{name}", text=text, words=words))
    return tuple(found)

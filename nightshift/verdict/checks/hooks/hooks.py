"""Checks whether a command, or a command that it runs, matches a forbidden pattern.

The owner can add patterns such as `git push --force*` and `terraform apply *`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from nightshift.verdict.checks.hooks import shell
from nightshift.verdict.checks.hooks.commands import Command
from nightshift.verdict.checks.hooks.patterns import PATTERNS
from nightshift.verdict.checks.hooks.wrappers import unwrap

PREFIX = "command."


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A command that must not run.

    Attributes:
        rule: `command.` and the pattern's name.
        argv: the program and its arguments.
        why: a sentence with the reason; for a built-in pattern, it also names an alternative.
    """

    rule: str
    argv: tuple[str, ...]
    why: str


class CommandHooks:
    """Compares commands with the built-in patterns and the owner's patterns.

    Args:
        blocked: the owner's patterns as text (see `own_patterns`).
        off: rules that are switched off, in full or by a dotted prefix.

    Raises:
        ValueError: a pattern cannot be read.
    """

    def __init__(self, blocked: Sequence[str] = (), off: Collection[str] = ()) -> None:
        self._own = own_patterns(blocked)
        self._off = frozenset(off)

    @property
    def rules(self) -> list[str]:
        """The rules of all patterns, as `command.<name>`."""
        return [PREFIX + name for name in (*(built.name for built in PATTERNS), *(mine.name for mine in self._own))]

    def refusal(self, argv: Sequence[str], allow: Collection[str] = ()) -> str | None:
        """Return the reason why a command must not run; None if it may run.

        This method has no side effects and never raises.

        Args:
            argv: the program and its arguments.
            allow: rules that the task may break.
        """
        blocked = self.first(argv, allow)
        return f"{blocked.rule}: {blocked.why}" if blocked else None

    def first(self, argv: Sequence[str], allow: Collection[str] = ()) -> Blocked | None:
        """Return the first forbidden command among a command and the commands inside it; None if all may run.

        The arguments are as in `refusal`.
        """
        return next(self.blocked([Command(argv=tuple(argv))], allow), None) if argv else None

    def in_text(self, script: str) -> Iterator[Blocked]:
        """List the commands in a shell script that must not run."""
        return self.blocked(shell.commands(script))

    def blocked(
        self, commands: Iterable[Command], allow: Collection[str] = (), *, in_code: bool = False
    ) -> Iterator[Blocked]:
        """List the commands that must not run, including commands inside wrappers such as `sudo`.

        Args:
            commands: the commands to check.
            allow: rules that the task may break.
            in_code: true for commands that code runs; some patterns apply only to these.
        """
        for outer in commands:
            for command in unwrap(outer):
                yield from self._matches(command, allow, in_code=in_code)

    def _matches(self, command: Command, allow: Collection[str], *, in_code: bool) -> Iterator[Blocked]:
        shown = " ".join(command.argv)[:160]
        for pattern in PATTERNS:
            applies = in_code or not pattern.in_code
            if applies and pattern.matches(command) and not self._may(PREFIX + pattern.name, allow):
                why = f"`{shown}` {pattern.why}; {pattern.instead}."
                yield Blocked(rule=PREFIX + pattern.name, argv=command.argv, why=why)
        for mine in self._own:
            if mine.matches(command) and not self._may(PREFIX + mine.name, allow):
                why = f"`{shown}` is blocked by the owner's pattern `{mine.text}`."
                yield Blocked(rule=PREFIX + mine.name, argv=command.argv, why=why)

    def _may(self, rule: str, allow: Collection[str]) -> bool:
        return covers((*allow, *self._off), rule)


def covers(names: Collection[str], rule: str) -> bool:
    """Check whether one of the names is the rule or a dotted prefix of the rule."""
    return any(rule == name or rule.startswith(f"{name}.") for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPattern:
    """A pattern that the owner added: a program, and globs for its arguments.

    The first word is a glob for the program's name, without a folder. Each further word is a glob that must match one
    whole argument. The matching arguments must have the order of the globs; other arguments may come before, between
    and after them. A `*` alone requires nothing.

    Attributes:
        name: the name of the pattern; settings and tasks can allow the command again with `command.<name>`.
        text: the pattern as the owner wrote it.
        words: the words of the pattern.
    """

    name: str
    text: str
    words: tuple[str, ...]

    def matches(self, command: Command) -> bool:
        """Check whether the pattern matches a command."""
        program, *globs = self.words
        if not fnmatchcase(command.program, program):
            return False
        args = iter(command.args)
        return all(glob == "*" or any(fnmatchcase(arg, glob) for arg in args) for glob in globs)


def own_patterns(texts: Sequence[str]) -> tuple[OwnPattern, ...]:
    """Parse the owner's patterns.

    Raises:
        ValueError: a pattern names no program.
    """
    patterns = []
    for text in texts:
        words = tuple(shell.words(text))
        if not words or words[0] == "*":
            raise ValueError(f"{text!r} does not name a program; write, for example, `terraform apply *`")
        name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "pattern"
        patterns.append(OwnPattern(name=f"own.{name}", text=text, words=words))
    return tuple(patterns)

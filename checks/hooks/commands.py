"""One command as it would run, and the words of it that an operand or an option can be read from."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands in a word for what is only known when it runs: an argument, the output of another command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A simple command.

    `argv` has no quotes any more; `$HOME`, `~` and wild cards stand as they were typed, what cannot be known is
    `UNKNOWN`. `writes` are files that its output goes to, `stdin` the text that it reads where that is known, `fed_by`
    programs whose output it reads or takes as arguments. `cwd` is the folder it runs in, "" for the workspace. `within`
    are the shell functions around it, `parallel` tells that something else runs beside it.
    """

    argv: tuple[str, ...]
    writes: tuple[str, ...] = ()
    stdin: str = ""
    fed_by: frozenset[str] = frozenset()
    cwd: str = ""
    within: frozenset[str] = frozenset()
    parallel: bool = False

    @property
    def program(self) -> str:
        """The program's bare name."""
        return PurePosixPath(self.argv[0]).name if self.argv else ""

    @property
    def args(self) -> tuple[str, ...]:
        """The words after the program."""
        return self.argv[1:]

    def operands(self, with_value: Collection[str] = ()) -> list[str]:
        """The words that are no options, and no values of the options in `with_value`."""
        found, words = list[str](), iter(self.args)
        for word in words:
            if word == "--":
                return [*found, *words]
            if word in with_value:
                next(words, None)
            elif not word.startswith("-") or word == "-":
                found.append(word)
        return found

    def has(self, letters: str = "", *names: str) -> bool:
        """Tell whether one of these options is there: short ones as letters, long ones by name (or as `name=…`)."""
        return any(word in names for word in self._long()) or any(
            letter in letters for word in self._short() for letter in word
        )

    def _short(self) -> Iterator[str]:
        return (word[1:] for word in self._options() if not word.startswith("--"))

    def _long(self) -> Iterator[str]:
        return (word.partition("=")[0] for word in self._options() if word.startswith("--"))

    def _options(self) -> Iterator[str]:
        for word in self.args:
            if word == "--":
                return
            if word.startswith("-") and len(word) > 1:
                yield word

"""Rewrites the arguments of the command line so that they begin with the name of a command.

Arguments such as `nightshift status` already name a command. The older options, such as `--status` and `--logs 50`, are
replaced by the commands that have the same effect. A quoted text of several words becomes the argument of `add`. Input
that may be a typing error is never added as a task: one word that is not a command, several words without quotes, or a
command within quotes. Such input becomes `Unclear`, with the commands that may have been meant.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import click

from nightshift.core.program import format_command

LIKE = 0.7
"""Minimum similarity (`difflib`'s ratio) at which a word counts as a misspelt command."""
SHORTEST_LIKE = 3
_PARAMETER = re.compile(r"#?\d[\w:=.-]*|--?[a-z][\w=-]*|all|HEAD|[~./]\S*", re.ASCII)
_WITH_A_WORD = frozenset({"help", "verify", "proof", "completion", "install-extra", "reviewed", "memory"})
"""Commands that accept a name. A text of two words that begins with one of these commands is not a task."""
ALIASES: Mapping[str, str] = {
    "list": "history",
    "ls": "history",
    "tasks": "history",
    "log": "logs",
    "exit": "quit",
    "keep": "integrate",
    "prioritize": "prioritise",
    "load": "load-tasks",
}
INSTEAD: Mapping[str, str] = {
    "start": "start the daemon with `make run` in a checkout, else with `nightshift-daemon`",
    "stop": "stop the daemon with Ctrl-C in its terminal, or with `systemctl --user stop nightshift`; "
    "`pause` only stops it from starting tasks",
    "restart": "`systemctl --user restart nightshift` restarts the daemon if it is a service; `reload` makes it read "
    "its settings again",
    "config": "`reload` makes the daemon read its settings again, `repo-settings PATH` shows those of a repository",
}
"""Advice for words that are not commands but that users often try."""
_SAME_NAME = (
    "run", "load-tasks", "status", "logs", "history", "show", "wait", "approvals", "environments", "verify", "doctor",
    "unread", "report", "cancel", "retry", "prioritise", "fork", "pause", "resume", "approve", "deny", "answer",
    "reviewed", "revert", "reapply", "undo", "repo-settings", "reload", "install-extra", "notify-test",
    "install-service", "uninstall-service", "completion",
)  # fmt: skip
OLDER: Mapping[str, str] = {
    **{f"--{name}": name for name in _SAME_NAME},
    "--retry-failed": "retry --failed",
    "--checkpoint-now": "checkpoint",
    "--export-memory": "memory export",
    "--import-memory": "memory import",
}
"""Options that date from before there were commands, with the commands that replace them. They still work."""
_ABOUT_ITSELF = ("-h", "--help", "--version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """An input that may be a typing error. Nothing is done until the user has confirmed what was meant.

    Args:
        text: the input.
        why: the reason why the input is not used as a task.
        meant: commands that may have been meant, as the user would type them.
        as_task: the arguments that add the input as a task; empty if the user has to type it again.
    """

    text: str
    why: str
    meant: Sequence[str] = ()
    as_task: Sequence[str] = ()

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that explain the problem to the user."""
        yield self.why
        if self.meant:
            yield f"Did you mean {' or '.join(map(format_command, self.meant))}?"
        yield f"Add it as a task: {format_command(f'add {shlex.quote(self.text)}')}"


class Arguments:
    """Interprets the words of a command line; `root` is the group that contains the commands."""

    def __init__(self, root: click.Group) -> None:
        self._root = root
        self.command_names = {*root.commands, *ALIASES}

    @cached_property
    def _takes(self) -> Mapping[str, bool]:
        return dict(_options(self._root))

    def arrange(self, arguments: Sequence[str]) -> list[str] | Unclear:
        """Return the arguments with a command in front, as click expects them, or `Unclear`.

        Raises:
            click.UsageError: the arguments contain an unknown option, or neither a command nor a task.
        """
        if not arguments or arguments[0] in self.command_names or arguments[0] in _ABOUT_ITSELF:
            return list(arguments)
        if with_command := _replace_older(arguments):
            return with_command
        options, words = self._sort_words(arguments)
        if not words:
            return _without_words(options)
        first, as_task = words[0].strip(), ["add", *options, "--", words[0]]
        if first in self.command_names:
            path, rest = self._path([first, *words[1:]])
            return [*path, *options, *(["--", *rest] if rest else [])]
        if len(words) > 1:
            return self._apart(words)
        if first in {"", "-"} or not self.may_be_a_slip(words[0]):
            return as_task
        return self.unclear(first, as_task)

    def may_be_a_slip(self, text: str) -> bool:
        """Check whether a text looks more like a command with parameters, possibly misspelt, than like a task.

        The result is always true for a single word.
        """
        words = text.split()
        if len(words) < 2:
            return True
        first, *rest = words
        if len(rest) == 1 and first in _WITH_A_WORD:
            return True
        return all(map(_PARAMETER.fullmatch, rest)) and self._is_or_is_like(first)

    def _is_or_is_like(self, word: str) -> bool:
        return _bare(word) in self.command_names or bool(self.nearest(word))

    def nearest(self, word: str) -> list[str]:
        """Return a list with the command that is most similar to a word; empty if no command is similar enough.

        A word that differs from a command only by punctuation and case counts as that command.
        """
        bare = _bare(word)
        if bare in self.command_names:
            return [ALIASES.get(bare, bare)]
        if len(bare) < SHORTEST_LIKE:
            return []
        return difflib.get_close_matches(bare, list(self._root.commands), n=1, cutoff=LIKE)

    def unclear(self, text: str, as_task: Sequence[str] = ()) -> Unclear:
        """Explain why a text is not used as a task, and which commands may have been meant."""
        first, *rest = text.split()
        near = self.nearest(first)
        if _bare(first) in INSTEAD and not rest:
            return Unclear(text=text, why=f"{first} is not a command: {INSTEAD[_bare(first)]}.", as_task=as_task)
        meant = [" ".join([name, *rest]) for name in near]
        why = f"{text} {'looks like a command' if rest else 'is not a command'}."
        return Unclear(text=text, why=why, meant=meant, as_task=as_task)

    def _sort_words(self, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
        """Sort arguments into options, with their values, and words."""
        options, words, left = list[str](), list[str](), list(arguments)
        while left:
            argument = left.pop(0)
            if argument == "--":
                words += left
                break
            if not argument.startswith("-") or argument == "-":
                words.append(argument)
                continue
            name, equals, _ = argument.partition("=") if argument.startswith("--") else (argument[:2], "", "")
            if name not in self._takes:
                raise click.NoSuchOption(name, possibilities=_like_options(name, [*OLDER, *self._takes]))
            options.append(argument)
            if self._takes[name] and not equals and (argument.startswith("--") or len(argument) == 2) and left:
                options.append(left.pop(0))
        return options, words

    def _path(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Split words into those that name a command (one word, or two for a subcommand) and the remaining words."""
        command = self._root.commands.get(ALIASES.get(words[0], words[0]))
        deeper = isinstance(command, click.Group) and len(words) > 1 and words[1] in command.commands
        count = 2 if deeper else 1
        return list(words[:count]), list(words[count:])

    def _apart(self, words: Sequence[str]) -> Unclear:
        text = " ".join(words)
        near = [" ".join([name, *words[1:]]) for name in self.nearest(words[0])]
        came = f"put a task in quotes: {words[0]!r} and {words[1]!r} are separate words."
        return Unclear(text=text, why=f"There is no command {words[0]}; {came}", meant=near)


def _replace_older(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a command in front that replaces an older option; empty if there is no such option."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument == "--":
            break
        if name in OLDER:
            return [*OLDER[name].split(), *arguments[:at], *([value] if equals else []), *arguments[at + 1 :]]
    return []


def _without_words(options: Sequence[str]) -> list[str]:
    if asked := [option for option in options if option in _ABOUT_ITSELF]:
        return asked[:1]
    raise click.UsageError(f"{options[0]} needs a command or a task, and none was given.")


def _bare(word: str) -> str:
    return word.strip("/-.,!?:").lower()


def _options(group: click.Group) -> Iterator[tuple[str, bool]]:
    """Yield the name of every option of a group's commands, and whether the option takes a value."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _options(command)
            continue
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                names = (*parameter.opts, *parameter.secondary_opts)
                yield from ((name, not parameter.is_flag) for name in names)
    yield from ((name, False) for name in _ABOUT_ITSELF)


def _like_options(name: str, names: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name, sorted(set(names)), n=3)

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
from dataclasses import dataclass, field
from enum import Enum
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


class Takes(Enum):
    """The ways in which an older option can be followed by a value: never, always or optionally."""

    NOTHING = 0
    A_VALUE = 1
    PERHAPS = 2


@dataclass(frozen=True, slots=True)
class Asking:
    """An older option that is replaced by a command.

    `command` is that command. `takes` says whether a value follows the option.
    """

    command: str
    takes: Takes = Takes.NOTHING


_ONE, _PERHAPS = Takes.A_VALUE, Takes.PERHAPS
ASKING: Mapping[str, Asking] = {
    "--run": Asking("run", _ONE),
    "--load-tasks": Asking("load-tasks", _ONE),
    "--status": Asking("status"),
    "--logs": Asking("logs", _PERHAPS),
    "--history": Asking("history", _PERHAPS),
    "--show": Asking("show", _ONE),
    "--wait": Asking("wait", _ONE),
    "--approvals": Asking("approvals"),
    "--environments": Asking("environments"),
    "--verify": Asking("verify", _ONE),
    "--doctor": Asking("doctor"),
    "--unread": Asking("unread", _PERHAPS),
    "--report": Asking("report", _PERHAPS),
    "--export-memory": Asking("memory export", _ONE),
    "--import-memory": Asking("memory import", _ONE),
    "--export-training": Asking("memory export-training", _ONE),
    "--cancel": Asking("cancel", _ONE),
    "--retry": Asking("retry", _ONE),
    "--retry-failed": Asking("retry --failed"),
    "--prioritise": Asking("prioritise", _ONE),
    "--fork": Asking("fork", _ONE),
    "--pause": Asking("pause"),
    "--resume": Asking("resume"),
    "--checkpoint-now": Asking("checkpoint"),
    "--approve": Asking("approve", _ONE),
    "--deny": Asking("deny", _ONE),
    "--answer": Asking("answer", _ONE),
    "--reviewed": Asking("reviewed", _ONE),
    "--revert": Asking("revert", _ONE),
    "--reapply": Asking("reapply", _ONE),
    "--undo": Asking("undo"),
    "--repo-settings": Asking("repo-settings", _ONE),
    "--reload": Asking("reload"),
    "--install-extra": Asking("install-extra", _ONE),
    "--notify-test": Asking("notify-test"),
    "--install-service": Asking("install-service"),
    "--uninstall-service": Asking("uninstall-service"),
    "--completion": Asking("completion", _ONE),
}
"""Options that date from before there were commands and that still work."""
_TAKING_WORDS = frozenset({"--answer", "--repo-settings"})
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


@dataclass(slots=True)
class _Given:
    """Arguments, sorted by kind: older options that act as commands (with their values), other options, and words."""

    asking: list[tuple[str, str | None]] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


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
            click.UsageError: the arguments name two commands, or an unknown option.
        """
        if not arguments or arguments[0] in self.command_names or arguments[0] in _ABOUT_ITSELF:
            return list(arguments)
        given = self._sort_words(arguments)
        if given.asking:
            return self._arrange_question(given)
        if not given.words:
            return self._without_words(given)
        first = given.words[0].strip()
        if first in self.command_names:
            path, rest = self._path([first, *given.words[1:]])
            return [*path, *given.options, *(["--", *rest] if rest else [])]
        if len(given.words) > 1:
            return self._apart(given.words)
        if first in {"", "-"} or not self.may_be_a_slip(given.words[0]):
            return ["add", *given.options, "--", given.words[0]]
        return self.unclear(first, ["add", *given.options, "--", given.words[0]])

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

    def _sort_words(self, arguments: Sequence[str]) -> _Given:
        given, left = _Given(), list(arguments)
        while left:
            argument = left.pop(0)
            if argument == "--":
                given.words += left
                break
            if not argument.startswith("-") or argument == "-":
                given.words.append(argument)
                continue
            name, equals, _ = argument.partition("=") if argument.startswith("--") else (argument[:2], "", "")
            if name in ASKING:
                given.asking.append((name, self._value(argument, ASKING[name].takes, left)))
                continue
            if name not in self._takes:
                raise click.NoSuchOption(name, possibilities=_like_options(name, [*ASKING, *self._takes]))
            given.options.append(argument)
            if self._takes[name] and not equals and (argument.startswith("--") or len(argument) == 2) and left:
                given.options.append(left.pop(0))
        return given

    @staticmethod
    def _value(argument: str, takes: Takes, left: list[str]) -> str | None:
        name, equals, value = argument.partition("=")
        if takes is Takes.NOTHING:
            if equals:
                raise click.BadOptionUsage(name, f"Option {name!r} does not take a value.")
            return None
        if equals:
            return value
        if left and not (takes is Takes.PERHAPS and left[0].startswith("-") and left[0] != "-"):
            return left.pop(0)
        if takes is Takes.A_VALUE:
            raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.")
        return None

    def _arrange_question(self, given: _Given) -> list[str]:
        names = [name for name, _ in given.asking]
        if given.words and names[0] not in _TAKING_WORDS:
            names.insert(0, "a task")
        if len(names) > 1:
            raise click.UsageError(f"{names[0]} and {names[1]} cannot be combined; give only one of them.")
        (name, value), *_ = given.asking
        words = [*([] if value is None else [value]), *given.words]
        return [*ASKING[name].command.split(), *given.options, *(["--", *words] if words else [])]

    def _without_words(self, given: _Given) -> list[str]:
        if asked := [option for option in given.options if option in _ABOUT_ITSELF]:
            return asked[:1]
        raise click.UsageError(f"{given.options[0]} needs a command or a task, and none was given.")

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

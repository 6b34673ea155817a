"""Unwraps programs that run other commands (`env`, `timeout`, `xargs`, `sh -c`, `find -exec` …), layer by layer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from nightshift.verdict.checks import python
from nightshift.verdict.checks.hooks import shell
from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """A program that runs the command in its arguments.

    Attributes:
        valued: the options whose value is the next argument.
        skipped: the number of operands before the command, such as the duration of `timeout`.
        sub: the sub-commands that run a command; one of them must come first, as in `uv run`.
    """

    valued: frozenset[str] = frozenset()
    skipped: int = 0
    sub: frozenset[str] = frozenset()


def _wrapper(valued: str = "", skipped: int = 0, sub: str = "") -> Wrapper:
    return Wrapper(valued=frozenset(valued.split()), skipped=skipped, sub=frozenset(sub.split()))


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir"),
    "sudo": _wrapper("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot"),
    "doas": _wrapper("-u -C"),
    "pkexec": _wrapper("--user"),
    "runuser": _wrapper("-u --user -g --group -G"),
    "nohup": _wrapper(),
    "timeout": _wrapper("-s --signal -k --kill-after", skipped=1),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n --class --classdata"),
    "chrt": _wrapper("-T -P -D", skipped=1),
    "taskset": _wrapper("", skipped=1),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "time": _wrapper("-f -o --format --output"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "xargs": _wrapper("-I -n -P -L -s -d -a -E --max-args --max-procs --delimiter --arg-file --replace"),
    "parallel": _wrapper("-j --jobs -a --arg-file"),
    "watch": _wrapper("-n --interval"),
    "flock": _wrapper("-w --timeout -E", skipped=1),
    "chroot": _wrapper("--userspec --groups", skipped=1),
    "unshare": _wrapper("-w -S -G"),
    "nsenter": _wrapper("-t --target -S -G -r -w"),
    "setpriv": _wrapper("--reuid --regid --groups --inh-caps --bounding-set"),
    "prlimit": _wrapper("-p --pid"),
    "strace": _wrapper("-e -o -p -s -u"),
    "ltrace": _wrapper("-e -o -p -s -u"),
    "caffeinate": _wrapper("-t -w"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "coproc": _wrapper(),
    "uv": _wrapper("--with --python -p --project --directory --env-file", sub="run tool"),
    "poetry": _wrapper("-C -P --directory --project", sub="run"),
    "pipenv": _wrapper("", sub="run"),
    "pdm": _wrapper("-p --project", sub="run"),
    "hatch": _wrapper("-e", sub="run"),
    "conda": _wrapper("-n --name -p --prefix", sub="run"),
    "coverage": _wrapper("--source --rcfile", sub="run"),
    "npx": _wrapper("-p --package -c --call"),
    "pnpm": _wrapper("", sub="exec dlx"),
    "yarn": _wrapper("", sub="exec dlx run"),
}


def unwrap(command: Command, depth: int = 0) -> Iterator[Command]:
    """Yield a command and everything that it runs, outermost first. Never raises; stops at depth `shell.MAX_DEPTH`."""
    yield command
    if depth > shell.MAX_DEPTH:
        return
    for inner in _inside(command, depth):
        yield from unwrap(inner, depth + 1)


def _inside(command: Command, depth: int) -> Iterator[Command]:
    program = command.program
    kind = "sh" if program in SHELLS else "python" if _PYTHON.match(program) else program
    if reader := _READERS.get(kind):
        yield from reader(command, depth)
    if wrapper := WRAPPERS.get(program):
        argv = _strip_wrapper(command.args, wrapper)
        if argv:
            yield replace(command, argv=argv)


def _strip_wrapper(args: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """Return the command in a wrapper's arguments; empty if the arguments contain no command."""
    words = list(args)
    if wrapper.sub:
        while words and words[0].startswith("-"):
            words = words[2 if words[0] in wrapper.valued else 1 :]
        if not words or words.pop(0) not in wrapper.sub:
            return ()
    skipped = wrapper.skipped
    while words:
        word = words[0]
        if word == "--":
            words = words[1:]
            break
        if word.startswith("-") and len(word) > 1:
            words = words[2 if word in wrapper.valued else 1 :]
        elif _ASSIGNMENT.match(word):
            words = words[1:]
        elif skipped:
            skipped, words = skipped - 1, words[1:]
        else:
            break
    return tuple(words)


def _of_shell(command: Command, depth: int) -> Iterator[Command]:
    """List the commands in the text of `sh -c TEXT`, or in a shell's standard input if that is known."""
    args = list(command.args)
    while args:
        word = args.pop(0)
        if word in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}:
            del args[:1]
        elif word.startswith("-") and not word.startswith("--") and "c" in word:
            script = next((argument for argument in args if not argument.startswith("-")), "")
            yield from _script(script, command, depth)
            return
        elif not word.startswith(("-", "+")):
            return  # The text of a script file is checked in the change that writes it.
    yield from _script(command.stdin, command, depth)


def _of_eval(command: Command, depth: int) -> Iterator[Command]:
    yield from _script(" ".join(command.args), command, depth)


def _of_substitute_user(command: Command, depth: int) -> Iterator[Command]:
    """List the commands of `su -c TEXT` and `script -c TEXT`."""
    for at, word in enumerate(command.args):
        name, equals, value = word.partition("=")
        if name in {"-c", "--command"}:
            yield from _script(value if equals else "".join(command.args[at + 1 : at + 2]), command, depth)


def _of_find(command: Command, depth: int) -> Iterator[Command]:
    """List the commands of `find PATHS -exec COMMAND ;`, with each path in place of `{}`."""
    del depth
    places = _places(command)
    args = command.args
    for at, word in enumerate(args):
        if word in {"-exec", "-execdir", "-ok", "-okdir"}:
            rest = args[at + 1 :]
            end = next((n for n, argument in enumerate(rest) if argument in {";", "+", r"\;"}), len(rest))
            for path in places:
                yield replace(command, argv=tuple(argument.replace("{}", path) for argument in rest[:end]))


def _places(command: Command) -> list[str]:
    places = list[str]()
    for word in command.args:
        if word.startswith(("-", "(", "!")) and places:
            break
        if not word.startswith("-"):
            places.append(word)
    return places or ["."]


def _of_xargs(command: Command, depth: int) -> Iterator[Command]:
    """Yield the command of `xargs` with the words of its standard input as arguments, if the input is known."""
    del depth
    argv = _strip_wrapper(command.args, WRAPPERS["xargs"])
    if argv and command.stdin.strip():
        yield replace(command, argv=(*argv, *command.stdin.split()), stdin="")


def _of_python(command: Command, depth: int) -> Iterator[Command]:
    """List the commands that Python code runs, given by `python -c TEXT` or on a known standard input."""
    del depth
    for at, word in enumerate(command.args):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            yield from python.commands("".join(command.args[at + 1 : at + 2]))
            return
        if not word.startswith("-"):
            return
    yield from python.commands(command.stdin)


def _script(text: str, outer: Command, depth: int) -> Iterator[Command]:
    if not text.strip() or text.strip() == UNKNOWN:
        return
    for inner in shell.commands(text, depth + 1):
        yield replace(
            inner,
            cwd=inner.cwd or outer.cwd,
            within=inner.within | outer.within,
            fed_by=inner.fed_by | (outer.fed_by if UNKNOWN in inner.argv else frozenset()),
        )


_READERS: dict[str, Callable[[Command, int], Iterator[Command]]] = {
    "sh": _of_shell,
    "python": _of_python,
    "eval": _of_eval,
    "trap": _of_eval,
    "su": _of_substitute_user,
    "runuser": _of_substitute_user,
    "script": _of_substitute_user,
    "npx": _of_substitute_user,
    "find": _of_find,
    "xargs": _of_xargs,
}

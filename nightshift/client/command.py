"""Carries out one call of the command line, from its arguments to an exit code.

`client.arguments` finds the command in the arguments, click parses the command's parameters (`client.commands`), and
`client.actions` carries out the command through the daemon's API. Commands that need the application itself come from
`session.Application`. The application is imported only for these commands, because importing it takes longer than the
daemon's answer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from nightshift.client.arguments import ALIASES, OLDER, Arguments, Unclear
from nightshift.client.commands import every_command, write_screen
from nightshift.client.errors import Exit, run_guarded
from nightshift.core.program import format_command, program
from nightshift.core.version import VERSION

if TYPE_CHECKING:
    from nightshift.client.session import Application, Session, Values

COMPLETE_VARIABLE = "_NIGHTSHIFT_COMPLETE"


@dataclass(frozen=True, slots=True)
class Sessions:
    """Returns the session in which a command runs: the session of the prompt, or a new session."""

    load_application: Callable[[], Application]
    session: Session | None = None

    def __call__(self, home: Path | None, **printed: Any) -> Session:
        """Return the prompt's session if there is one, else a new session for this home."""
        from nightshift.client.session import Session  # noqa: PLC0415  # what help and usage errors do without

        return self.session or Session(self.load_application, home, **printed)


class Commands(click.Group):
    """The group of all commands. A command is also found by its aliases."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name or alias; None if there is no such command."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's
        """Write the list of all commands, which fits on one screen."""
        write_screen(self.commands.values(), formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands and, after a dash, the older options that commands have replaced."""
        older = [CompletionItem(name) for name in OLDER if incomplete.startswith("-") and name.startswith(incomplete)]
        return [*super().shell_complete(ctx, incomplete), *older]


def main(load_application: Callable[[], Application], arguments: Sequence[str]) -> int:
    """Run one call with the arguments of the process, and return the exit code."""
    return call(load_application, [os.fsencode(each).decode("utf-8", "surrogateescape") for each in arguments])


def call(load_application: Callable[[], Application], arguments: Sequence[str]) -> int:
    """Run one call and return the exit code. Every error is printed as a sentence on the standard error stream."""
    as_json = "--json" in arguments
    return run_guarded(lambda: _call(Sessions(load_application), arguments, as_json=as_json), as_json=as_json)


def _call(sessions: Sessions, arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        arranged = Arguments(commands()).arrange(arguments)
        agreed = _ask_about(arranged, as_json=as_json) if isinstance(arranged, Unclear) else arranged
        return Exit.USAGE if agreed is None else perform(agreed, sessions)
    except click.ClickException as error:
        return _print_usage_error(error, as_json=as_json)
    except click.Abort:
        return Exit.INTERRUPTED


def perform(arguments: Sequence[str], sessions: Sessions) -> int:
    """Carry out a command and return its exit code.

    Args:
        arguments: the command's name and parameters.
        sessions: returns the session in which the command runs.

    Raises:
        click.ClickException: the parameters are wrong.
        NightshiftError: the command failed.
    """
    code = commands().main(
        list(arguments), prog_name=program(), standalone_mode=False, obj=sessions, complete_var=COMPLETE_VARIABLE
    )
    return int(code or Exit.OK)


@cache
def commands() -> Commands:
    """Return the root group of all commands. It is built only once."""
    version_option = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, help="Print the version.",
        callback=lambda ctx, _, given: ctx.exit(_print_version()) if given else None,
    )  # fmt: skip
    root = Commands(
        commands=every_command(_carry_out), params=[version_option], invoke_without_command=True, no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )  # fmt: skip
    root.callback = _without_a_command
    return root


def _without_a_command() -> int:
    """Handle a call without a command: open the prompt on a terminal, otherwise print the help.

    Input from a pipe is not read, because it may contain anything.
    """
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        return Exit.OK
    return _ask_at_terminal(ctx)


def _ask_at_terminal(ctx: click.Context) -> int:
    """Open the prompt on a terminal; otherwise print the help."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from nightshift.client.prompt import Prompt  # noqa: PLC0415  # readline writes to some terminals when it is imported

        session = ctx.obj(None)
        sessions = Sessions(session.load_application, session)
        return Prompt(session, commands(), lambda words: perform(words, sessions)).run()
    click.echo(ctx.get_help(), err=True)
    return Exit.USAGE


def _carry_out(ctx: click.Context, values: Values) -> int:
    """Carry out a command with the values of its parameters."""
    first, _, below = ctx.command_path.removeprefix(ctx.find_root().command_path).strip().partition(" ")
    name = f"{ALIASES.get(first, first)} {below}".strip()
    match name:
        case "help":
            return _help(ctx, values["words"])
        case "version":
            return _print_version()
        case "completion":
            return _print_completion(values["shell"])
    if given := values.get("task_text"):
        if values["text"]:
            raise click.UsageError("the task is given twice: give it as TEXT, or with --task.", ctx)
        values = {**values, "text": (given,)}
    if name == "run" and not values["text"] and ctx.obj.session is None:
        return _ask_at_terminal(ctx)
    from nightshift.client.actions import ACTIONS  # noqa: PLC0415  # what help and usage errors do without
    from nightshift.client.output import Color  # noqa: PLC0415  # as above

    color = Color.NEVER if values["no_color"] else Color(values["color"])
    session = ctx.obj(values["home"], as_json=values["as_json"], color=color)
    try:
        action = ACTIONS.get(name) or session.load_application().actions[name]
        return action(session, values)
    finally:
        session.disconnect()


def _print_version() -> int:
    print(f"Nightshift {VERSION}")
    return Exit.OK


def _help(ctx: click.Context, words: Sequence[str]) -> int:
    """Print the help of a command or, without words, the list of all commands."""
    at = ctx.find_root()
    for word in words:
        below = at.command.get_command(at, word) if isinstance(at.command, click.Group) else None
        if below is None:
            near = Arguments(commands()).nearest(word)
            meant = f" Did you mean {format_command(f'help {near[0]}')}?" if near else ""
            raise click.UsageError(f"There is no command {word}.{meant}", ctx)
        at = click.Context(below, parent=at, info_name=below.name)
    click.echo(at.get_help())
    return Exit.OK


def _ask_about(unclear: Unclear, *, as_json: bool) -> Sequence[str] | None:
    """Explain why the input is unclear, and ask the user whether to add it as a task.

    Returns:
        The arguments that add the task; None if the user declines or cannot be asked.
    """
    if as_json:
        raise click.UsageError(" ".join(unclear.sentences()))
    for sentence in unclear.sentences():
        click.echo(sentence, err=True)
    if unclear.as_task and sys.stdin.isatty() and sys.stderr.isatty():
        return unclear.as_task if click.confirm(f"Add “{unclear.text}” as a task?", default=False, err=True) else None
    return None


def _print_completion(shell: str) -> int:
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(commands(), {}, program().removeprefix("./"), COMPLETE_VARIABLE).source())
    return Exit.OK


def _print_usage_error(error: click.ClickException, *, as_json: bool) -> int:
    message = (_of_another(error) if isinstance(error, click.NoSuchOption) else "") or error.format_message()
    if as_json:
        print(json.dumps({"error": message, "fields": {}}), file=sys.stderr)
        return error.exit_code
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    tells = f"{ctx.command_path} --help" if ctx and ctx.parent else format_command("help")
    click.echo(f"error: {message}\nSee {tells}.", err=True)
    return error.exit_code


def _of_another(error: click.NoSuchOption) -> str:
    """Return a sentence that names the commands which have an option that this command does not have.

    The sentence is empty if no command has the option.
    """
    name = error.option_name
    having = [
        each.name
        for each in commands().commands.values()
        if any(name in (*option.opts, *option.secondary_opts) for option in each.params)
    ]
    if not having or error.ctx is None:
        return ""
    return f"{error.ctx.info_name} does not take {name}; it works with {' or '.join(map(str, having))}."

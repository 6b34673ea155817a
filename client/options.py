"""The options of `cli.py`: their groups in the help, and which of them may stand together.

Each option says itself whether it is an action or which actions it belongs to, so the check for contradictions is one
loop over what was given, and a new option cannot be forgotten in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from client.asked import Action

EXAMPLES = """\
\b
Examples:
  cli.py "Create a FastAPI health check endpoint"
  cli.py --priority 5 --tests test_login.py "Fix the login bug"
  cli.py --repo ~/shop --base main "Add a --dry-run flag"
  cli.py --run "Write fizzbuzz" && echo it passed
  cli.py --status --json
  cli.py --logs 100 --follow --level WARNING
  cli.py --approvals; cli.py --approve 3; cli.py --answer 4 "port 8080"
  cli.py verify HEAD --repo ~/shop
\b
Exit codes:
  0 fine   1 the task failed, or a commit does not hold
  2 wrong usage or invalid task   3 no daemon runs
  4 no such task or commit   5 refused   130 interrupted
\b
With no daemon running, tasks wait in the queue until it starts, and
--status and --logs answer from the database. Without arguments, a terminal
gets a prompt.
"""
NEW_TASK = frozenset({Action.ADD, Action.RUN})


class Option(click.Option):
    """An option that knows its place.

    Args:
        group: the heading in the help.
        action: set where it is an action of its own.
        fits: the actions that it says something to; None fits all.
    """

    def __init__(
        self,
        *args: Any,
        group: str,
        action: Action | None = None,
        fits: frozenset[Action] | None = None,
        **attributes: Any,
    ) -> None:
        self.group, self.action, self.fits = group, action, fits
        super().__init__(*args, **attributes)


class Whole(click.ParamType[int]):
    """A whole number from 1 on; unlike `click.IntRange` it does not crowd the help with its bounds."""

    name = "number"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number.

        Raises:
            click.BadParameter: it is none, or out of bounds.
        """
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= self._most):
            bounds = f"from 1 to {self._most}" if self._most < 2**31 else "from 1 on"
            self.fail(f"{text!r} is not a whole number {bounds}.", param, ctx)
        return int(text)


class GroupedCommand(click.Command):
    """A command whose help lists its options by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each group, in the order of declaration; `--help` itself stands in the last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            group = parameter.group if isinstance(parameter, Option) else list(groups)[-1] if groups else ""
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


def chosen_action(ctx: click.Context) -> Action | None:
    """The one action that was asked for; None when there is none and nothing else was said.

    Raises:
        click.UsageError: there are two, or an option that says nothing to the action; names both.
    """
    given = [p for p in ctx.command.params if ctx.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]
    actions = [action for parameter in given if (action := _action_of(parameter, ctx))]
    if len(actions) > 1:
        raise click.UsageError(f"{actions[0]} and {actions[1]} cannot be asked for together; ask for one of them.")
    action = actions[0] if actions else None
    for parameter in given:
        if isinstance(parameter, Option) and parameter.fits is not None and action not in parameter.fits:
            raise click.UsageError(_misfit(parameter, action))
    return action


def asks_to_verify(words: Sequence[str]) -> bool:
    """Tell whether these are `verify COMMIT` and no task.

    Raises:
        click.UsageError: the commit is missing, or there are several.
    """
    if not words or words[0] != "verify":
        return False
    if len(words) != 2:
        raise click.UsageError("verify takes one commit: cli.py verify COMMIT")
    return True


def _action_of(parameter: click.Parameter, ctx: click.Context) -> Action | None:
    if isinstance(parameter, Option):
        return parameter.action
    if ctx.params["answer"]:  # the words are the answer
        return None
    return Action.VERIFY if asks_to_verify(ctx.params["text"]) else Action.ADD


def _misfit(parameter: Option, action: Action | None) -> str:
    assert parameter.fits is not None
    name = next(opt for opt in parameter.opts if opt.startswith("--"))
    wanted = _either([str(fit) for fit in Action if fit in parameter.fits])
    return f"{name} belongs to {wanted}, and " + (f"says nothing to {action}." if action else "none was given.")


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

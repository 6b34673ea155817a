"""The one command of `cli.py`: its options, which of them may stand together, and the way from them to an exit code.

Each option declares whether it is an action or which actions it belongs to, so the check for contradictions is one loop
over what was given, and a new option cannot be forgotten in it.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import get_completion_class

from client.errors import Exit, exit_of, print_error
from client.new_task import LIMITS
from client.output import Color, Printer
from core.errors import NightshiftError
from core.events import Level
from core.tasks import Explore, Kind, Language
from core.version import VERSION

PROGRAM = "cli.py"
F = TypeVar("F", bound=Callable[..., Any])
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


class Action(StrEnum):
    """The one thing a call does; the value is how a person asks for it."""

    ADD = "a task"
    RUN = "--run"
    LOAD = "--load-tasks"
    STATUS = "--status"
    LOGS = "--logs"
    HISTORY = "--history"
    SHOW = "--show"
    WAIT = "--wait"
    CANCEL = "--cancel"
    RETRY = "--retry"
    RETRY_FAILED = "--retry-failed"
    PRIORITISE = "--prioritise"
    FORK = "--fork"
    PAUSE = "--pause"
    RESUME = "--resume"
    CHECKPOINT = "--checkpoint-now"
    APPROVALS = "--approvals"
    ENVIRONMENTS = "--environments"
    APPROVE = "--approve"
    DENY = "--deny"
    ANSWER = "--answer"
    VERIFY = "--verify"
    REPO_SETTINGS = "--repo-settings"
    REPORT = "--report"
    DOCTOR = "--doctor"
    EXPORT_MEMORY = "--export-memory"
    IMPORT_MEMORY = "--import-memory"
    EXPORT_TRAINING = "--export-training"
    UNREAD = "--unread"
    REVIEWED = "--reviewed"
    REVERT = "--revert"
    REAPPLY = "--reapply"
    UNDO = "--undo"
    RELOAD = "--reload"
    INSTALL_EXTRA = "--install-extra"
    NOTIFY_TEST = "--notify-test"
    INSTALL_SERVICE = "--install-service"
    UNINSTALL_SERVICE = "--uninstall-service"
    COMPLETION = "--completion"
    PROMPT = "the prompt"


class Option(click.Option):
    """An option with its group in the help and its place among the actions.

    Args:
        group: the heading in the help.
        action: set where it is an action of its own.
        fits: the actions that it may stand with; None fits all.
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


NEW_TASK = frozenset({Action.ADD, Action.RUN})
ADD, MORE, WATCH, STEER, OUTPUT = "New task", "More about a new task", "Looking", "Steering", "Output"
SERVICE, LEARNING = "The daemon itself", "What was learned"
_LOGS, _MORE = frozenset({Action.LOGS}), {"group": MORE, "fits": NEW_TASK}
_UNDOING = frozenset({Action.REVERT, Action.REAPPLY, Action.UNDO})
_REMARKED = frozenset({Action.APPROVE, Action.DENY, Action.FORK})
_SERVICE = frozenset({Action.INSTALL_SERVICE, Action.UNINSTALL_SERVICE})
_REPO = {"group": MORE, "fits": NEW_TASK | {Action.VERIFY}}
_REPEAT = {"multiple": True, "metavar": "FILE", "type": click.Path(path_type=str)}
_ID = Whole(2**63 - 1)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _option(*names: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, cls=Option, **attributes)


def _switch(name: str, text: str, *more: str) -> Callable[[F], F]:
    return _option(f"--{name}/--no-{name}", *more, default=None, help=text, **_MORE)


@click.command(cls=GroupedCommand, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("text", metavar="[TASK]", nargs=-1)
@_option("-p", "--priority", type=int, group=ADD, fits=NEW_TASK, help="Higher is sooner; 1 by default.")
@_option("--run", metavar="TASK", group=ADD, action=Action.RUN, help="Work on a task until it ends.")
@_option("--load-tasks", "load", metavar="FILE", type=_FILE, group=ADD,
         action=Action.LOAD, help="Submit the tasks of a YAML file that are not in the queue yet.")  # fmt: skip
@_option("--repo", metavar="PATH", help="The repository to work in, instead of the daemon's own.", **_REPO)
@_option("--base", metavar="REF", help="The branch or commit to start from.", **_MORE)
@_option("--project", metavar="NAME", help="The project of the daemon's workspace to work in.", **_MORE)
@_option("--kind", type=click.Choice(list(map(str, Kind))), help="What is being built.", **_MORE)
@_option("--language", type=click.Choice(list(map(str, Language))), help="python by default.", **_MORE)
@_option("--tests", help="A file of tests that must pass (FILE, or PATH=FILE). Repeat for more.", **_REPEAT, **_MORE)
@_option("--test-command", metavar="COMMAND", help="Judge by this command and the tests that it reports.", **_MORE)
@_option("--cases", metavar="FILE", help="Calls and results, kept from the model: YAML or JSON.", **_MORE)
@_option("--oracle", metavar="FILE", help="A module that knows the results of cases without one.", **_MORE)
@_option("--file", "files", help="A file to start with (FILE, or PATH=FILE). Repeat for more.", **_REPEAT, **_MORE)
@_option("--depends-on", multiple=True, metavar="ID", type=_ID, help="Wait for this task. Repeat for more.", **_MORE)
@_option("--package", "packages", multiple=True, metavar="NAME", help="A package that it may use. Repeat for more.",
         **_MORE)  # fmt: skip
@_option("--allow", multiple=True, metavar="RULE", help="A rule of the checker that it may break. Repeat for more.",
         **_MORE)  # fmt: skip
@_option("--key", metavar="KEY", help="A second task of the same key is not made.", **_MORE)
@_option("--not-before", metavar="TIME", help="Start no sooner; your own time zone unless it names one.", **_MORE)
@_option("--limit", "limits", multiple=True, metavar="NAME=N", help=f"One of {', '.join(LIMITS)}.", **_MORE)
@_option("--meta", "metadata", multiple=True, metavar="NAME=TEXT", help="Noted with the task.", **_MORE)
@_option("--explore", type=click.Choice(list(map(str, Explore))), help="Whether its model works with tools.", **_MORE)
@_switch("review", "Have the change reviewed before its tests run.", "--enable-review")
@_switch("audit", "Have it audited for security.", "--enable-audit")
@_switch("clarify", "Ask you first where the task is unclear.", "--enable-clarify")
@_switch("split", "Let its plan split it into subtasks.", "--enable-split")
@_switch("integrate", "Merge the branch into its base once it passed.")
@_option("--status", is_flag=True, group=WATCH, action=Action.STATUS, help="What the daemon does now.")
@_option("--logs", is_flag=False, flag_value=50, type=Whole(1000), metavar="[N]", group=WATCH,
         action=Action.LOGS, help="The last N events; 50 by default.")  # fmt: skip
@_option("-f", "--follow", is_flag=True, group=WATCH, fits=_LOGS, help="Go on with what happens next.")
@_option("--level", type=click.Choice(list(map(str, Level)), case_sensitive=False), group=WATCH, fits=_LOGS,
         help="Only events of this level and above.")  # fmt: skip
@_option("--task", "log_task", metavar="ID", type=_ID, group=WATCH, fits=_LOGS, help="Only events of this task.")
@_option("--history", is_flag=False, flag_value=20, type=Whole(500), metavar="[N]", group=WATCH,
         action=Action.HISTORY, help="The newest N tasks; 20 by default.")  # fmt: skip
@_option("--show", metavar="ID", type=_ID, group=WATCH, action=Action.SHOW, help="One task with its iterations.")
@_option("--wait", metavar="ID", type=_ID, group=WATCH, action=Action.WAIT, help="Wait until it ends.")
@_option("--approvals", is_flag=True, group=WATCH, action=Action.APPROVALS, help="What waits for your decision.")
@_option("--environments", is_flag=True, group=WATCH, action=Action.ENVIRONMENTS,
         help="What repositories declare that their code needs, as it is kept.")  # fmt: skip
@_option("--verify", metavar="COMMIT", group=WATCH, action=Action.VERIFY,
         help="Run a commit's evidence again; `verify COMMIT` will do.")  # fmt: skip
@_option("--doctor", is_flag=True, group=WATCH, action=Action.DOCTOR,
         help="Check everything, and say what to do about what is wrong.")  # fmt: skip
@_option("--deep", is_flag=True, group=WATCH, fits=frozenset({Action.DOCTOR}),
         help="Check what takes long, too, and ask each model for one word.")  # fmt: skip
@_option("--unread", is_flag=False, flag_value=50, type=Whole(500), metavar="[N]", group=WATCH,
         action=Action.UNREAD, help="The newest N commits that you have not read; 50 by default.")  # fmt: skip
@_option("--report", is_flag=False, flag_value="now", metavar="[WEEK]", group=WATCH, action=Action.REPORT,
         help="Write the report of a week (2026-W47), or since the last one.")  # fmt: skip
@_option("--export-memory", metavar="FILE", group=LEARNING, action=Action.EXPORT_MEMORY,
         help="Write all lessons as JSON Lines; `-` is the standard output.")  # fmt: skip
@_option("--import-memory", metavar="FILE", group=LEARNING, action=Action.IMPORT_MEMORY,
         help="Take the lessons of such a file that are new here.")  # fmt: skip
@_option("--export-training", metavar="FILE", group=LEARNING, action=Action.EXPORT_TRAINING,
         help="Write accepted replies, and failed ones with what passed, for fine-tuning.")  # fmt: skip
@_option("--cancel", metavar="ID", type=_ID, group=STEER, action=Action.CANCEL, help="Cancel a task.")
@_option("--retry", metavar="ID", type=_ID, group=STEER, action=Action.RETRY, help="Queue a task that ended again.")
@_option("--fork", metavar="ID[:STEP]", group=STEER, action=Action.FORK,
         help="A new task that begins where this one was after a step (or ID:ATTEMPT:STEP).")  # fmt: skip
@_option("--model", metavar="NAME", group=STEER, fits=frozenset({Action.FORK}), help="Who is asked first in the fork.")
@_option("--retry-failed", is_flag=True, group=STEER, action=Action.RETRY_FAILED, help="Queue all again that failed.")
@_option("--prioritise", metavar="ID=N", group=STEER, action=Action.PRIORITISE,
         help="Make a task more urgent (a higher N) or less.")  # fmt: skip
@_option("--pause", is_flag=True, group=STEER, action=Action.PAUSE, help="Claim no more tasks; running ones go on.")
@_option("--resume", is_flag=True, group=STEER, action=Action.RESUME, help="Claim tasks again, after a checkpoint too.")
@_option("--checkpoint-now", is_flag=True, group=STEER, action=Action.CHECKPOINT,
         help="Let what runs finish, write the report, and wait for --resume.")  # fmt: skip
@_option("--approve", metavar="ID", type=_ID, group=STEER, action=Action.APPROVE, help="Grant what a task asked for.")
@_option("--deny", metavar="ID", type=_ID, group=STEER, action=Action.DENY, help="Deny it; the task goes on without.")
@_option("--remark", metavar="TEXT", group=STEER, fits=_REMARKED,
         help="Noted with what you approve or deny; with a fork, added to the task's words.")  # fmt: skip
@_option("--answer", metavar="ID", type=_ID, group=STEER, action=Action.ANSWER,
         help='Answer a question: --answer ID "TEXT". To approve it is to go with what is assumed.')  # fmt: skip
@_option("--reviewed", metavar="WHAT", group=STEER, action=Action.REVIEWED,
         help="You have read the commits of a task (its ID), a COMMIT, or all.")  # fmt: skip
@_option("--revert", metavar="ID", type=_ID, group=STEER, action=Action.REVERT,
         help="Take back what a task integrated, by a commit on top.")  # fmt: skip
@_option("--reapply", metavar="ID", type=_ID, group=STEER, action=Action.REAPPLY, help="Bring it back.")
@_option("--undo", is_flag=True, group=STEER, action=Action.UNDO, help="Take back what was integrated last.")
@_option("--force", is_flag=True, group=STEER, fits=_UNDOING, help="Take it back though other tests need it.")
@_option("--yes", is_flag=True, group=STEER, fits=frozenset({Action.UNDO}), help="Do not ask.")
@_option("--repo-settings", metavar="PATH", group=STEER, action=Action.REPO_SETTINGS,
         help="What holds for tasks in a repository; NAME=VALUE behind it sets, NAME= takes back.")  # fmt: skip
@_option("--reload", is_flag=True, group=SERVICE, action=Action.RELOAD,
         help="Have the daemon read its settings and tasks.yaml again.")  # fmt: skip
@_option("--install-extra", metavar="NAME", group=SERVICE, action=Action.INSTALL_EXTRA,
         help="Have the daemon install optional packages: embedder, gpt4all, llama_cpp, docker.")  # fmt: skip
@_option("--notify-test", is_flag=True, group=SERVICE, action=Action.NOTIFY_TEST, help="Send yourself a test notice.")
@_option("--install-service", is_flag=True, group=SERVICE, action=Action.INSTALL_SERVICE,
         help="Write a systemd user unit for this home.")  # fmt: skip
@_option("--uninstall-service", is_flag=True, group=SERVICE, action=Action.UNINSTALL_SERVICE, help="Remove it.")
@_option("--dry-run", is_flag=True, group=SERVICE, fits=_SERVICE, help="Only show what would be done.")
@_option("--json", "as_json", is_flag=True, group=OUTPUT, help="JSON on the standard output, for scripts.")
@_option("--color", type=click.Choice(list(map(str, Color))), default="auto", group=OUTPUT,
         help="NO_COLOR is honoured as well.")  # fmt: skip
@_option("--home", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), group=OUTPUT,
         help="Where the daemon's database lies; NIGHTSHIFT_HOME, else this checkout.")  # fmt: skip
@_option("--completion", type=click.Choice(["bash", "zsh", "fish"]), group=OUTPUT, action=Action.COMPLETION,
         help="Print a script that completes these options.")  # fmt: skip
@_option("--version", is_flag=True, is_eager=True, expose_value=False, group=OUTPUT, help="Print the version.",
         callback=lambda ctx, _, given: _print_version(ctx) if given else None)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> int:
    """Nightshift works through your coding tasks while you do not.

    TASK is what is to be done, in quotes; `-` reads it from the standard input.
    """
    if len(values["text"]) > 1 and not values["repo_settings"] and not asks_to_verify(values["text"]):
        what = "answer" if values["answer"] else "task"
        raise click.UsageError(f"put the {what} in quotes: {values['text'][0]!r} and {values['text'][1]!r} came apart.")
    action = chosen_action(ctx)
    if action is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(ctx.get_help(), err=True)
        return Exit.USAGE
    if action is Action.COMPLETION:
        _print_completion(ctx.command, values["completion"])
        return Exit.OK
    return _perform(action or Action.PROMPT, values)


def chosen_action(ctx: click.Context) -> Action | None:
    """The one action that was asked for; None when there is none and no other option was given.

    Raises:
        click.UsageError: there are two, or an option that does not belong to the action; names both.
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
    """Whether these words are `verify COMMIT` and no task.

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
    if ctx.params["answer"] or ctx.params["repo_settings"]:  # the words are the answer, or what is set
        return None
    return Action.VERIFY if asks_to_verify(ctx.params["text"]) else Action.ADD


def _misfit(parameter: Option, action: Action | None) -> str:
    assert parameter.fits is not None
    name = next(opt for opt in parameter.opts if opt.startswith("--"))
    wanted = _either([str(fit) for fit in Action if fit in parameter.fits])
    return f"{name} belongs to {wanted}, and " + (f"says nothing to {action}." if action else "none was given.")


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _perform(action: Action, values: Mapping[str, Any]) -> int:
    """Do what was asked; help, completion and usage errors wait for none of these imports, and a status for few."""
    printed: dict[str, Any] = {"as_json": values["as_json"], "color": Color(values["color"])}
    if action is Action.DOCTOR:  # it must go where no session can be made, such as with broken settings
        from client.doctor import doctor  # noqa: PLC0415

        return doctor(Printer(**printed), values["home"], deep=values["deep"])
    from client.session import Session  # noqa: PLC0415

    session = Session(values["home"], **printed)
    try:
        if action is Action.STATUS:
            from client.daemon import status  # noqa: PLC0415

            return status(session)
        from client.actions import ACTIONS  # noqa: PLC0415

        return ACTIONS[action](session, values)
    finally:
        session.disconnect()


def _print_completion(described: click.Command, shell: str) -> None:
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(described, {}, PROGRAM, "_CLI_PY_COMPLETE").source())


def _print_version(ctx: click.Context) -> None:
    click.echo(f"Nightshift {VERSION}")
    ctx.exit()


def call(arguments: Sequence[str]) -> int:
    """Do what the arguments ask; every error becomes a sentence on the standard error stream and an exit code."""
    as_json = "--json" in arguments
    _accept_every_character()
    try:
        return int(command.main(list(arguments), prog_name=PROGRAM, standalone_mode=False) or Exit.OK)
    except click.ClickException as error:
        return _print_usage_error(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return _leave_pipe()
    except NightshiftError as error:
        print_error(error, as_json=as_json)
        return exit_of(error)


def _print_usage_error(error: click.ClickException, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": error.format_message(), "fields": {}}), file=sys.stderr)
    else:
        error.show()
    return error.exit_code


def _accept_every_character() -> None:
    """A terminal or pipe of another encoding than UTF-8 gets escapes instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_pipe() -> int:
    """The reader has gone (`cli.py --logs | head`): print nothing, not even when the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK

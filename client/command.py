"""The one command of `cli.py`: reads the options and hands what they ask for to `client.actions`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from client.asked import Action, Asked
from client.exits import Exit
from client.options import (
    EXAMPLES,
    NEW_TASK,
    GroupedCommand,
    Option,
    Whole,
    asks_to_verify,
    chosen_action,
)
from client.show import Color
from client.task_options import LIMITS, spoken, task_body
from core.events import Level
from core.tasks import Kind, Language

ADD, MORE, WATCH, STEER, OUTPUT = "New task", "More about a new task", "Looking", "Steering", "Output"
SERVICE, LEARNING = "The daemon itself", "What was learned"
_LOGS, _MORE = frozenset({Action.LOGS}), {"group": MORE, "fits": NEW_TASK}
_UNDOING = frozenset({Action.REVERT, Action.REAPPLY, Action.UNDO})
_REMARKED = frozenset({Action.APPROVE, Action.DENY, Action.FORK})
_SERVICE = frozenset({Action.INSTALL_SERVICE, Action.UNINSTALL_SERVICE})
_REPO = {"group": MORE, "fits": NEW_TASK | {Action.VERIFY}}
_REPEAT = {"multiple": True, "metavar": "FILE", "type": click.Path(path_type=str)}
F = TypeVar("F", bound=Callable[..., Any])
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
@_option("--kind", type=click.Choice(list(map(str, Kind))), help="What is being built.", **_MORE)
@_option("--language", type=click.Choice(list(map(str, Language))), help="python by default.", **_MORE)
@_option("--tests", help="A file of tests that must pass (FILE, or PATH=FILE). Repeat for more.", **_REPEAT, **_MORE)
@_option("--test-command", metavar="COMMAND", help="Judge by this command's exit code instead.", **_MORE)
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
@_option("--reload", is_flag=True, group=SERVICE, action=Action.RELOAD,
         help="Have the daemon read its settings and tasks.yaml again.")  # fmt: skip
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
    if len(values["text"]) > 1 and not asks_to_verify(values["text"]):
        what = "answer" if values["answer"] else "task"
        raise click.UsageError(f"put the {what} in quotes: {values['text'][0]!r} and {values['text'][1]!r} came apart.")
    action = chosen_action(ctx)
    if action is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(ctx.get_help(), err=True)
        return Exit.USAGE
    return _perform(_asked(values, action))


def _asked(values: dict[str, Any], action: Action | None) -> Asked:
    text = values["run"] if action is Action.RUN else next(iter(values["text"]), "")
    return Asked(
        action=action or Action.PROMPT,
        data=task_body(text, values) if action in NEW_TASK else {},
        task_id=values["show"]
        or values["wait"]
        or values["cancel"]
        or values["retry"]
        or values["revert"]
        or values["reapply"]
        or 0,
        approval_id=values["approve"] or values["deny"] or values["answer"] or 0,
        answer=spoken(text) if action is Action.ANSWER else values["remark"] or "",
        count=values["logs"] or values["history"] or values["unread"] or 0,
        path=values["load"],
        name=values["verify"]
        or values["reviewed"]
        or values["report"]
        or values["fork"]
        or values["prioritise"]
        or values["export_memory"]
        or values["import_memory"]
        or values["export_training"]
        or (values["text"][1] if action is Action.VERIFY else ""),
        repo=(values["repo"] or "") if action is Action.VERIFY else "",
        model=values["model"] or "",
        shell=values["completion"] or "",
        follow=values["follow"],
        dry_run=values["dry_run"],
        force=values["force"],
        yes=values["yes"],
        deep=values["deep"],
        level=Level(values["level"]) if values["level"] else None,
        log_task=values["log_task"],
        as_json=values["as_json"],
        color=Color(values["color"]),
        home=values["home"],
    )


def _perform(asked: Asked) -> int:
    from client.actions import perform  # noqa: PLC0415  # help, completion and usage errors need not wait for it

    return perform(asked)


def _print_version(ctx: click.Context) -> None:
    from config import VERSION  # noqa: PLC0415  # as above

    click.echo(f"Nightshift {VERSION}")
    ctx.exit()

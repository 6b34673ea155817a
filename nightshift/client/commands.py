"""Defines the commands of the command line: names, arguments, options, and sections of the help.

The functions that carry them out are in `client/actions.py`, under the same names. The options that date from before
there were commands are in `client/arguments.py`, which turns them into commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from nightshift.core.errors import NightshiftError
from nightshift.core.program import format_command

if TYPE_CHECKING:
    from nightshift.client.session import Values

NEWEST, WORDS = 40, 50
"""Limits for completing a task id in a shell: the number of tasks, and the characters of a description."""
COLUMN = 22
"""Width in characters of the column with the names in the list of all commands."""


class Section(StrEnum):
    """The headings under which the help lists commands, in the order of the help."""

    TASKS = "Tasks"
    LOOK = "See what happens"
    DECIDE = "Decide"
    COMMITS = "Commits"
    DAEMON = "The daemon"


class Whole(click.ParamType[int]):
    """A whole number of at least 1. Unlike `click.IntRange`, it does not show its bounds in the help."""

    name = "number"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a number.

        Raises:
            click.BadParameter: the value is not a whole number, or is out of bounds.
        """
        text = str(value)
        if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= self._most):
            bounds = f"from 1 to {self._most}" if self._most < 2**31 else "from 1 on"
            self.fail(f"{text!r} is not a whole number {bounds}.", param, ctx)
        return int(text)


class Name(click.ParamType[Any]):
    """A name of a task: its number, or the beginning of a commit's id or of a branch (`server.naming`)."""

    name = "name"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002  # click's
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer the newest tasks whose numbers begin with the input, each with the beginning of its description."""
        try:
            tasks = ctx.obj(ctx.params.get("home")).get("/api/tasks", limit=NEWEST).tasks
        except NightshiftError:  # a completion must not print errors; the command itself reports them
            return []
        return [
            CompletionItem(str(task.task_id), help=" ".join(task.description.split())[:WORDS])
            for task in tasks
            if str(task.task_id).startswith(incomplete)
        ]


class TaskId(Name, Whole):
    """The number of a task. For completion, a shell offers the newest tasks."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(2**63 - 1)


class PriorityOrKind(click.ParamType[int | str]):
    """The priority of a task or, as in `-p web_app`, the kind of program that is to be built."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Parse a number, or the name of a kind of program.

        Raises:
            click.BadParameter: the value is neither a number nor a kind.
        """
        from nightshift.core.tasks.task import Kind  # noqa: PLC0415  # see `Command`

        return str(value) if value in list(Kind) else click.INT.convert(value, param, ctx)


class Option(click.Option):
    """An option. `group` is the heading under which the help of its command lists it."""

    def __init__(self, *args: Any, group: str = "Options", **attributes: Any) -> None:
        self.group = group
        super().__init__(*args, **attributes)


class Command(click.Command):
    """A command. `section` is the heading under which the help lists it.

    Args:
        make_params: returns the command's parameters. It is called when they are first needed, so that the list of all
            commands does not wait for the imports that options need.
        listed: the entry in the list of all commands, with arguments; empty if the entry of another command covers this
            one.
    """

    section: Section | None = None

    def __init__(
        self, *args: Any, make_params: Callable[[], list[click.Parameter]], listed: str = "", **attributes: Any
    ) -> None:
        self.listed, self._make_params = listed, make_params
        super().__init__(*args, **attributes)

    @cached_property
    def _cached_params(self) -> list[click.Parameter]:
        return self._make_params()

    @property
    def params(self) -> list[click.Parameter]:
        """All parameters of the command."""
        return self._cached_params

    @params.setter
    def params(self, _: list[click.Parameter]) -> None:
        """Ignore click's attempt to set the parameters, because `make_params` returns them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command, with one section for each heading.

        The sections are in the order in which the options are declared. The options that all commands share come last.
        """
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            group = parameter.group if isinstance(parameter, Option) else OUTPUT
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


class Group(click.Group):
    """A group of subcommands. `section` and `listed` have the same meaning as for a command."""

    section: Section | None = None
    listed = ""


HEALTH = """\
\b
Exit codes of status:
  0 works or is idle   1 no model can be asked   3 no daemon runs
  6 is paused or needs you
Exit codes of the other commands:
  0 fine   1 the task failed, or a commit's evidence fails
  2 wrong usage or invalid task   3 no daemon runs
  4 no such task or commit   5 refused   130 interrupted"""
HUB_HEALTH = """\
\b
Exit codes:
  0 all nodes are up   1 the hub is away, or no node is up
  6 paused, a node is lost, or a task waits for you"""
OUTPUT, MORE = "Every command takes", "More about the task"
Act = Callable[[click.Context, "Values"], int]
"""Function that carries out a command, given the command's context and the values of its parameters."""
_ID, _NAME = TaskId(), Name()
_TASK, _TASK_IS = ("-t", "--task", "task_text"), {"metavar": "TEXT", "help": "The same as TEXT."}
_NAMED = "NAME is a task number, or the beginning of a commit id or a branch name."
_NUMBER = Whole(2**63 - 1)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


def every_command(act: Act) -> list[click.Command]:
    """Return all commands. The function `act` is called to carry out each of them."""

    def carry_out(**values: Any) -> int:
        return act(click.get_current_context(), values)

    all_commands: list[click.Command] = []
    for section, commands in zip((*Section, None), _SECTIONS, strict=True):
        for command in commands():
            command.section = section
            for leaf in command.commands.values() if isinstance(command, Group) else [command]:
                leaf.callback = carry_out
            all_commands.append(command)
    return all_commands


def _command(
    name: str,
    text: str,
    *params: click.Parameter,
    later: Callable[[], list[click.Parameter]] = list,
    **more: Any,
) -> Command:
    return Command(name, help=text, make_params=lambda: [*params, *later(), *_output()], **more)


def _argument(name: str, **attributes: Any) -> click.Argument:
    return click.Argument([name], **attributes)


def _option(*names: str, **attributes: Any) -> Option:
    return Option(names, **attributes)


def _flag(*names: str, **attributes: Any) -> Option:
    return Option(names, is_flag=True, **attributes)


def _output() -> list[click.Parameter]:
    home = click.Path(file_okay=False, path_type=Path)
    return [
        _flag("--json", "as_json", group=OUTPUT, help="JSON on the standard output, for scripts; times are UTC."),
        _option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", group=OUTPUT,
                help="NO_COLOR is honoured as well."),
        _flag("--no-color", group=OUTPUT, help="The same as --color never."),
        _option("--home", metavar="FOLDER", type=home, group=OUTPUT,
                help="The folder of the daemon's database; by default NIGHTSHIFT_HOME, else this checkout."),
    ]  # fmt: skip


def new_task_options() -> list[click.Parameter]:
    """List the options that describe a new task."""
    from nightshift.client.new_task import LIMITS  # noqa: PLC0415  # see `Command`
    from nightshift.core.tasks.task import Explore, Kind, Language  # noqa: PLC0415  # as above

    files: dict[str, Any] = {"multiple": True, "metavar": "FILE", "type": click.Path(path_type=str)}
    more: dict[str, Any] = {"group": MORE}
    many: dict[str, Any] = {"multiple": True, **more}
    return [
        _option("-p", "--priority", type=PriorityOrKind(), help="Higher is sooner; 1 by default."),
        _option("--repo", metavar="PATH", help="The repository to work in, instead of the daemon's workspace."),
        _option("--base", metavar="REF", help="The branch or commit to start from."),
        _option("--project", metavar="NAME", help="The project of the daemon's workspace to work in."),
        _option("--tests", help="A file of tests that must pass (FILE, or PATH=FILE). Repeat for more.", **files),
        _option("--test-command", metavar="COMMAND", help="Judge by this command and the tests that it reports."),
        _option("--depends-on", type=_ID, metavar="ID", multiple=True,
                help="Wait for this task and begin with its commit. Repeat for more."),
        _option("--not-before", metavar="TIME",
                help="Do not start before this time; your time zone, unless it names one."),
        _switch("review", "Have the change reviewed before its tests run.", "--enable-review"),
        _switch("audit", "Have it audited for security.", "--enable-audit"),
        _switch("clarify", "Ask you first where the task is unclear.", "--enable-clarify"),
        _switch("split", "Let its plan split it into subtasks.", "--enable-split"),
        _switch("integrate", "Merge the branch into its base once its tests have passed."),
        _option("--kind", type=click.Choice(list(map(str, Kind))), help="What is being built.", **more),
        _option("--language", type=click.Choice(list(map(str, Language))), help="If nothing else shows it.", **more),
        _option("--file", "files", help="A file to start with (FILE, or PATH=FILE). Repeat for more.",
                **files, **more),
        _option("--cases", metavar="FILE", help="Calls and results, hidden from the model: YAML or JSON.", **more),
        _option("--oracle", metavar="FILE", help="A module that computes missing results of cases.", **more),
        _option("--package", "packages", metavar="NAME", help="A package that it may use. Repeat for more.", **many),
        _option("--allow", metavar="RULE", help="A rule of the checker that it may break. Repeat for more.", **many),
        _option("--mcp", metavar="SERVER.TOOL", help="A tool of your MCP servers that it may use. Repeat for more.",
                **many),
        _option("--key", metavar="KEY", help="A second task with the same key is not created.", **more),
        _option("--limit", "limits", metavar="NAME=N", help=f"One of {', '.join(LIMITS)}.", **many),
        _option("--meta", "metadata", metavar="NAME=TEXT", help="Noted with the task.", **many),
        _option("--explore", type=click.Choice(list(map(str, Explore))),
                help="Whether its model works with tools.", **more),
    ]  # fmt: skip


def _which_lines() -> list[click.Parameter]:
    from nightshift.core.events import Level  # noqa: PLC0415  # see `Command`

    return [
        _option("--level", type=click.Choice(list(map(str, Level)), case_sensitive=False),
                help="Only lines of this level and above."),
        _option("--task", "log_task", metavar="ID", type=_ID, help="Only lines of this task."),
    ]  # fmt: skip


def _which_tasks() -> list[click.Parameter]:
    from nightshift.core.tasks.states import Status  # noqa: PLC0415  # see `Command`

    return [
        _option("--status", type=click.Choice(list(map(str, Status))), metavar="STATUS",
                help="Only tasks with this status, such as running or failed."),
        _option("--limit", type=Whole(1000), default=20, metavar="N", help="How many; 20 by default."),
    ]  # fmt: skip


def _switch(name: str, text: str, *more: str) -> Option:
    return _option(f"--{name}/--no-{name}", *more, default=None, help=text)


def _examples(*lines: str) -> str:
    return "\n".join(["\b", "Examples:", *(f"  {format_command(line)}" for line in lines)])


def _tasks() -> Iterator[Command | Group]:
    yield _command("add",
                   "Add a task.\n\nTEXT describes the task; `-` reads it from standard input. On a terminal, your "
                   "editor opens if you give no text. You can leave out `add` if the text is in quotes.",
                   _argument("text", nargs=-1), _option(*_TASK, **_TASK_IS),
                   later=new_task_options, listed='add "TEXT"',
                   short_help="Add a task; the word `add` may be left out.",
                   epilog=_examples('add "Create a FastAPI health check endpoint"',
                   'add --priority 5 --tests test_login.py "Fix the login bug"',
                   'add --repo ~/shop --base main "Let the export be dry-run"'))  # fmt: skip
    yield _command(
        "run", "Work on a task until it ends.\n\nThe daemon does it if one is running, else this process. The exit "
        "code is 0 if the task passed. On a terminal, without a text, you are asked for tasks.",
        _argument("text", nargs=-1), _option(*_TASK, **_TASK_IS), later=new_task_options, listed='run "TEXT"',
        short_help="Work on a task until it ends.", epilog=_examples('run "Write fizzbuzz" && echo it passed'),
    )  # fmt: skip
    yield _command("load-tasks", "Add those tasks of a YAML file that were not added before.",
                   _argument("load", metavar="FILE", type=_FILE), listed="load-tasks FILE, todo",
                   short_help="Tasks from a YAML file; from TODO(nightshift) comments.")  # fmt: skip
    yield _command(
        "todo", "Add the comments `TODO(nightshift): …` of the commit that is checked out as tasks.\n\nEach is added "
        "once; it is recognised by its file and its text. More deeply indented lines below it belong to it. "
        "REPO is a checkout; by default the one that contains this folder.",
        _argument("repo", required=False, default=".", metavar="[REPO]"),
        _flag("--install-hook", help="Do it after each commit: write a post-commit hook, unless there is one."),
        _flag("--hook", hidden=True, help="Run as the hook does."),
    )  # fmt: skip
    yield _command("wait", "Wait until a task ends; exits with 1 if it failed.", _argument("id", type=_ID),
                   listed="wait ID")  # fmt: skip
    yield _command("cancel", "Cancel tasks.", _argument("ids", type=_ID, nargs=-1, required=True, metavar="ID..."),
                   listed="cancel, retry ID",
                   short_help="Cancel a task, or queue one again; retry --failed: all.")  # fmt: skip
    yield _command("retry", "Queue tasks again that have ended, or start waiting ones now.",
                   _argument("ids", type=_ID, nargs=-1, metavar="ID..."), _flag("--failed", help="All failed tasks."),
                   _flag("--from-draft", help="Begin with the change of the task's draft."))  # fmt: skip
    yield _command("prioritise", "Make a task more urgent (a higher number) or less.",
                   _argument("place", nargs=-1, required=True, metavar="ID N"), listed="prioritise ID N",
                   context_settings={"ignore_unknown_options": True})  # fmt: skip
    yield _command("say",
                   "Send a message to a task that is open.\n\nEvery request to a model includes it from now on. A "
                   "request that is under way is stopped and sent again with it, unless you give --after.",
                   _argument("id", type=_ID), _argument("text", nargs=-1, required=True),
                   _flag("--after", help="Let the model finish its reply first."), listed='say ID "TEXT"',
                   short_help="Interrupt a task and send it a message.",
                   epilog=_examples('say 7 "Use the csv module, not pandas"'))  # fmt: skip
    yield _command(
        "fork", "Add a task that continues from a step of another one.\n\nPLACE is the number of that task, ID:STEP or "
        "ID:ATTEMPT:STEP.", _argument("place", metavar="PLACE"),
        _option("--model", metavar="NAME", help="Model to use first."),
        _option("--models", metavar="A,B,...", help="A fork for each; none lands until you `integrate` it."),
        _option("--remark", metavar="TEXT", help="Added to the task's description."), listed="fork ID",
        short_help="Continue a task as a new one, also by several models.",
    )  # fmt: skip


def _looking() -> Iterator[Command | Group]:
    yield _command("brief", "What landed, failed and was spent since you last marked it as read, and what needs you.",
                   _option("--since", default="read", metavar="WHEN",
                   help="night (20:00 to 08:00), today, or a time; by default since you last marked it as read."),
                   _flag("--read", help="Mark it as read: the next one starts here."), listed="brief",
                   short_help="What was done since you last looked.")  # fmt: skip
    yield _command("status", "What the daemon is doing; the exit code shows whether it works.",
                   _flag("-w", "--watch", help="Keep updating until Ctrl-C."), listed="status", epilog=HEALTH,
                   short_help="What the daemon is doing; --watch keeps updating.")  # fmt: skip
    yield _command("logs", "The last N lines of the log; 50 by default.",
                   _argument("n", type=Whole(1000), default=50, metavar="[N]"),
                   _flag("-f", "--follow", help="Keep printing new lines."), later=_which_lines, listed="logs [N]",
                   short_help="The last lines of the log; --follow, --task 7.")  # fmt: skip
    yield _command("history", "The newest N tasks; 20 by default.",
                   _argument("n", type=Whole(500), default=20, metavar="[N]"), listed="history [N]",
                   short_help="The newest tasks; also list, ls.")  # fmt: skip
    yield _command("show", f"One task: why it failed, how it went, what it changed.\n\n{_NAMED}",
                   _argument("name", type=_NAME), listed="show, diff ID",
                   short_help="One task: why it failed, how it went; its change.")  # fmt: skip
    yield _command("diff", f"What a task changed.\n\n{_NAMED}", _argument("name", type=_NAME))
    yield _command("report", "Write the report of a week (2026-W47), or of the time since the last one.",
                   _argument("week", default="now", metavar="[WEEK]"), listed="report [WEEK]",
                   short_help="Write the report of a week, or since the last one.")  # fmt: skip
    yield _command("doctor", "Check everything, and say what to do about what is wrong.",
                   _flag("--deep", help="Also run the slow checks, and ask each model for one word."),
                   listed="doctor")  # fmt: skip
    yield _bench()


def _bench() -> Group:
    """Return the group of commands that measure models on tasks from a repository's history."""
    repo = _argument("repo", required=True, metavar="REPO")
    commands = [
        _command(
            "mine", "Find commits that can be tasks: small ones whose tests fail before and pass after.\n\nProgress "
            "is kept, so the next call continues where this one stopped.", repo,
            _option("--commits", type=Whole(1_000_000), default=2000, metavar="N",
                    help="Look at the newest N; 2000 by default."),
            _option("--items", type=Whole(1_000_000), default=1_000_000, metavar="N",
                    help="Stop when N new ones are found; the next call continues."),
        ),
        _command(
            "run", "Run the benchmark: arms (models, each with its own settings) solve the items.\n\nItems with a "
            "result are skipped, so a stopped run continues where it was. Your own tasks, budgets and quiet hours "
            "come first.", repo,
            _option("--models", metavar="M,N", help="An arm for each: openai=gpt-5-mini,built-in."),
            _option("--arms", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                    help="A YAML list of arms: name, model, protocol, tools, readers, memory."),
            _option("--mode", type=click.Choice(["shown", "words"]), default="shown",
                    help="Whether models see the tests (shown), or these are held out (words)."),
            _option("--items", type=Whole(1_000_000), metavar="N", help="Only N items, drawn from all."),
            _option("--budget", type=float, metavar="USD", help="Stop before the run costs more than this."),
        ),
        _command(
            "report", "What each arm solved at what cost, and which differences are significant.", repo,
            _option("--mode", type=click.Choice(["shown", "words"]),
                    help="Items whose tests were shown, or held out; by default as in the newest run."),
        ),
    ]  # fmt: skip
    group = Group("bench", commands=commands, help="Measure models on tasks from a repository's own history.")
    group.listed, group.short_help = "bench", "How well models solve your own past commits."
    return group


def _deciding() -> Iterator[Command | Group]:
    remark = _option("--remark", metavar="TEXT", help="Noted with your decision.")
    yield _command("approvals", "What needs your decision.", listed="approvals, answer ID",
                   short_help="What needs your decision; answer ID \"TEXT\".")  # fmt: skip
    yield _command("approve", "Grant what a task asked for; for a question, use the default answer.",
                   _argument("id", type=_NUMBER), remark, listed="approve, deny ID",
                   short_help="Grant what a task asked for, or deny it.")  # fmt: skip
    yield _command("deny", "Deny what a task asked for; the task continues without it.", _argument("id", type=_NUMBER),
                   remark)  # fmt: skip
    yield _command("answer", "Answer a question; `-` reads the answer from the standard input.",
                   _argument("id", type=_NUMBER), _argument("text", nargs=-1))  # fmt: skip


def _commits() -> Iterator[Command | Group]:
    force = _flag("--force", help="Do it even if other tests fail without the commit.")
    yield _command("review", "The commits that you have not read; with NAME, the change of one.\n\n"
                   f"{_NAMED} It can also be `all`.",
                   _argument("what", type=_NAME, required=False, metavar="[NAME]"),
                   _flag("--read", help="Mark it as read, without showing it."),
                   _option("--limit", type=Whole(500), default=50, metavar="N", help="How many; 50 by default."),
                   listed="review [ID]", short_help="Commits to read; review 7 --read marks it.")  # fmt: skip
    yield _command("integrate", "Integrate the commit that waits on a task's branch: rebase it, run its tests, move "
                   f"the base branch.\n\n{_NAMED} Only one of several forks of a task can be integrated.",
                   _argument("name", type=_NAME), _flag("--force", help="Do it without running tests."),
                   listed="integrate, discard ID",
                   short_help="Merge what waits on a branch, or remove it.")  # fmt: skip
    yield _command("discard", "Remove the branch on which a task's commit waits, and print how to restore it.\n\n"
                   f"{_NAMED}", _argument("name", type=_NAME))  # fmt: skip
    yield _command("revert", f"Revert what a task integrated, by a commit on top.\n\n{_NAMED}",
                   _argument("name", type=_NAME), force, listed="revert ID, undo",
                   short_help="Revert a commit, or the last; reapply undoes it.")  # fmt: skip
    yield _command("reapply", f"Reapply what was reverted.\n\n{_NAMED}", _argument("name", type=_NAME), force)
    yield _command("undo", "Revert the commit that was integrated last.", force, _flag("--yes", help="Do not ask."))
    yield _command("verify", f"Run a commit's evidence again.\n\n{_NAMED} With --repo it can be any branch, tag "
                   "or commit.", _argument("name", type=_NAME),
                   _option("--repo", metavar="PATH", help="Its repository, instead of the daemon's workspace."),
                   listed="verify, proof ID",
                   short_help="Run its evidence again; its proof as one HTML file.")  # fmt: skip
    yield _command(
        "proof", "Write the proof of a commit as one HTML file, to share with others.\n\nIt has the task, the change, "
        "the tests, the evidence, and commands with which anybody can check it using only git and pytest. "
        f"{_NAMED}",
        _argument("name", type=_NAME),
        _option("--out", type=_NEW_FILE, metavar="FILE", help="Where to write it; by default proof-COMMIT.html here."),
        _option("--repo", metavar="PATH", help="Its repository, instead of the daemon's workspace."),
        short_help="A commit's proof as one HTML file to share.",
    )  # fmt: skip


def _daemon() -> Iterator[Command | Group]:
    dry = _flag("--dry-run", help="Only show what would be done.")
    yield _command("daemon", "Run the daemon in this terminal, until Ctrl-C or SIGTERM.\n\n"
                   "Its exit code is 0 after a requested stop, 2 for wrong settings, 3 if another daemon works on "
                   "the home already, and 1 for any other error.\n\n"
                   "In a checkout `main.py` does the same, and accepts all other commands.",
                   _option("--port", type=int, metavar="N", help="Where the dashboard listens; overrides FLASK_PORT."),
                   _option("--workers", type=int, metavar="N", help="How many tasks at once; overrides WORKER_COUNT."),
                   listed="daemon", short_help="Run the daemon in this terminal.")  # fmt: skip
    yield _command("pause", "Start no more tasks; running ones continue.", listed="pause, resume",
                   short_help="Start no more tasks, or start them again.")  # fmt: skip
    yield _command("resume", "Start tasks again, after a checkpoint too.")
    yield _command("checkpoint", "Let running tasks finish, write the report, and wait until you resume.",
                   listed="checkpoint, reload",
                   short_help="Finish running tasks, report, wait; reload settings.")  # fmt: skip
    yield _command("reload", "Have the daemon read its settings and tasks.yaml again.")
    yield _command("repo-settings", "The effective settings of a repository.\n\nNAME=VALUE sets a value, NAME= removes "
                   "it.", _argument("path"), _argument("changes", nargs=-1, metavar="[NAME=VALUE]..."),
                   listed="repo-settings, check",
                   short_help="A repository's settings; whether its tests can run.")  # fmt: skip
    yield _command("check", "Run a repository's tests as they are, and show what can be judged.\n\nIts first task does "
                   "the same before it asks a model.", _argument("path"))  # fmt: skip
    yield _command("environments", "The dependencies that repositories declare, as they are kept.",
                   listed="environments, forges",
                   short_help="Packages kept for repositories; GitHub, GitLab, Gitea.")  # fmt: skip
    yield _command("forges", "The state of the connections to GitHub, GitLab, Gitea and Forgejo.")
    yield _memory()
    yield _hub()
    yield _command("install-extra", "Have the daemon install optional packages: embedder, gpt4all, llama_cpp, docker,\n"
                   "hub, mcp.", _argument("name"), listed="install-extra NAME",
                   short_help="Have optional packages installed.")  # fmt: skip
    yield _command("mcp", "Serve the Model Context Protocol on standard input and output.\n\n"
                   "An assistant or editor starts it: name `nightshift mcp` in its settings.",
                   listed="mcp, notify-test",
                   short_help="Tools for assistants (MCP); send yourself a test notice.")  # fmt: skip
    yield _command("notify-test", "Send yourself a test notice.")
    yield _command("install-service", "Write a systemd user unit for this home.", dry, listed="install-service",
                   short_help="Write a systemd unit; uninstall-service removes it.")  # fmt: skip
    yield _command("uninstall-service", "Remove the systemd user unit.", dry)
    yield _command("completion", "Print a script that completes commands, options and task numbers.",
                   _argument("shell", type=click.Choice(["bash", "zsh", "fish"])), listed="completion SHELL",
                   short_help="Complete commands and ids in bash, zsh or fish.")  # fmt: skip


def _memory() -> Group:
    """Return the group of commands that export and import lessons."""
    commands = [
        _command("export", "Write all lessons as JSON Lines; `-` is the standard output.", _argument("file")),
        _command("import", "Import those lessons of an exported file that are new here.", _argument("file")),
    ]
    group = Group("memory", commands=commands, help="Move lessons to another machine.")
    group.listed, group.short_help = "memory, hub", "Export and import lessons; several machines, one queue."
    return group


def _hub() -> Group:
    """Return the group of commands for the hub that several machines share.

    They ask the hub's server and need no running daemon.
    """
    commands = [
        _command("init", "Set up Temporal's namespace, and the shared database if there is one.\n\nRun it as the "
                 "database's owner; it prints how nodes log in with fewer rights."),
        _command("dev", "Run the packaged Temporal server, to try a hub on one machine.",
                 _option("--port", type=Whole(60_000), default=7233, metavar="N", help="Where it listens.")),
        _command("status", "Nodes, tasks by status, the newest failures.", epilog=HUB_HEALTH),
        _command("nodes", "All nodes: what they are, and what they do."),
        _command("drain", "Stop giving new tasks to a node; its running tasks continue.",
                 _argument("node", metavar="NODE"), _flag("--undo", help="Give it tasks again.")),
        _command("remove", "Remove a node for good; other nodes get its tasks.",
                 _argument("node", metavar="NODE"), _flag("--undo", help="Let it come back.")),
        _command("tasks", "The newest tasks of all nodes.", later=_which_tasks),
        _command("verify", "Show who signed the results: of a task, or of the newest ended tasks.",
                 _argument("id", type=_NUMBER, required=False, metavar="[TASK]")),
        _command("cancel", "Cancel a task, whichever node has it.", _argument("id", type=_NUMBER)),
        _command("retry", "Queue a task again that failed or was cancelled.", _argument("id", type=_NUMBER)),
        _command("priority", "Let a task be claimed sooner (higher) or later.",
                 _argument("place", nargs=-1, required=True, metavar="ID N")),
        _command("pause", "Stop all nodes from taking tasks; running tasks continue.",
                 _argument("reason", nargs=-1, metavar="[REASON]")),
        _command("resume", "Let nodes take tasks again."),
        _command("asks", "What tasks on all nodes ask you."),
        _command("answer", "Answer what a task asks: yes, no, or in words.", _argument("id", type=_NUMBER),
                 _argument("ask", type=_NUMBER), _argument("words", nargs=-1, required=True, metavar="WORDS")),
        _command("workspace", "Show or set the remote that the workspaces of all nodes follow.\n\nAn empty bare "
                 "repository will do.",
                 _argument("url", required=False, metavar="[ADDRESS]")),
        _command("budget", "Show or set what all nodes may spend together.\n\nOnly the database's owner can set it.",
                 _option("--day", "day_cost_usd", type=float, metavar="USD", help="In one UTC day."),
                 _option("--total", "total_cost_usd", type=float, metavar="USD", help="In total."),
                 _option("--day-tokens", type=int, metavar="N", help="Tokens in one UTC day."),
                 _option("--total-tokens", type=int, metavar="N", help="Tokens in total."),
                 _flag("--off", help="Remove the budget.")),
    ]  # fmt: skip
    return Group("hub", commands=commands, help="Several machines with one queue: the hub that HUB_URL names.")


def _list_hidden() -> Iterator[Command | Group]:
    """Yield the commands that the help does not list.

    Users find them in other help texts or through an older option.
    """
    yield _command("help", "Explain a command.", _argument("words", nargs=-1, metavar="[COMMAND]"), hidden=True)
    yield _command("version", "Print the version.", hidden=True)
    yield _command("quit", "Leave the prompt.", hidden=True)
    yield _command("unread", "The newest N commits that you have not read.",
                   _argument("n", type=Whole(500), default=50, metavar="[N]"), hidden=True)  # fmt: skip
    yield _command("reviewed", "You have read the commits of a task, a commit, or all.", _argument("what", type=_NAME),
                   hidden=True)  # fmt: skip


_SECTIONS = (_tasks, _looking, _deciding, _commits, _daemon, _list_hidden)
"""Functions that yield commands: one for each `Section`, in the same order, and finally one for hidden commands."""


def write_screen(commands: Iterable[click.Command], formatter: click.HelpFormatter) -> None:
    """Write all commands on one screen of 80 columns and 40 lines, by section."""
    listed = [command for command in commands if isinstance(command, Command | Group) and command.listed]
    formatter.write(f'Usage: {format_command("COMMAND")} …   or a task: {format_command("")}"what is to be done"\n')
    for section in Section:
        formatter.write(f"{section}\n")
        for command in listed:
            if command.section is section:
                text = (command.short_help or command.help or "").rstrip(".")
                formatter.write(f"  {command.listed:<{COLUMN}}{text}\n")
    formatter.write(
        f"All accept --json, --no-color, --home FOLDER; see {format_command('help add')}.\n"
        "Without a command: a prompt. While no daemon runs, tasks wait in the queue.\n"
    )

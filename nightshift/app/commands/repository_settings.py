"""`nightshift` command for the settings of a repository: shows them with their sources, sets and removes them.

The command writes to the database directly, and the daemon reads the database when it begins an attempt. It does not
use the daemon's API, because some settings decide which code is accepted, and such settings must not be writable over
that API.
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from nightshift.app.git_beside import git_beside
from nightshift.app.repository_settings import open_service
from nightshift.app.services import defaults
from nightshift.app.submission import choose_language_here
from nightshift.app.verify import suites
from nightshift.attempt.preflight import SuiteCheck, choose_command
from nightshift.client.errors import Exit
from nightshift.client.new_task import FRACTIONS
from nightshift.client.output import Block, Cell, Lines, Table, Tone, cell
from nightshift.client.session import Session
from nightshift.config.load import Settings
from nightshift.core.clock import utc_now
from nightshift.core.code.environments import NO_ENVIRONMENT
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.preflight import Preflight
from nightshift.core.tasks.repository_settings import HELP, RepositoryOptions, Source
from nightshift.core.tasks.task import Limits, TaskSpec
from nightshift.sandbox import orphans
from nightshift.storage.db.codec import to_json_value
from nightshift.verdict.languages.repository_commands.find import find

_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
_ONE_WORD = {"base", "target", "lint"}
_ARE_SWITCHES = {"integrate", "integrate_self_tested", "review", "audit"}
_NUMBERS = {each.name for each in fields(Limits)}
_NOTHING = "none"
_TONES = {Source.KEPT: Tone.GOOD, Source.FOUND: Tone.PLAIN, Source.SETTINGS: Tone.DIM, Source.NONE: Tone.DIM}


def repository_settings(session: Session, repo: str, words: Sequence[str]) -> int:
    """Change the settings of a repository, given as `name=value`, and show the effective settings.

    `name=` removes the setting.

    Raises:
        click.UsageError: a change cannot be parsed.
        InvalidTask: values are wrong; the message names them.
        GitError: the path is not a repository.
    """
    changes = dict(map(_change, words))
    with open_service(session.settings, to_change=bool(changes)) as service:
        options = service.change(repo, changes) if changes else service.show(repo)
    session.print(to_json_value(options), _tabulate(options))
    return Exit.OK


def check_suite(session: Session, repo: str) -> int:
    """Run the test suite of a repository without the daemon, and show which tests can judge a change.

    Returns 0 if there are such tests, and 1 if there are none.

    Raises:
        GitError: the path is not a repository.
        SandboxError: nothing can be executed here.
        CommandBlocked: the repository's test command is a forbidden command.
    """
    check = asyncio.run(check_repository(repo, session.settings))
    session.print(to_json_value(check), _tabulate_check(check))
    return Exit.FAILED if check.fault else Exit.OK


def _tabulate_check(check: Preflight) -> list[Block]:
    rows = [
        ("language", check.language), ("command", shlex.join(check.command)),
        ("environment", ", ".join(check.environment) or _NOTHING), ("tests", check.summary),
        *((f"cannot run: {count}", why) for why, count in check.idle.items()),
        *([("failing", check.note)] if check.note and check.collected else []),
    ]  # fmt: skip
    end = Cell(check.fault, Tone.BAD) if check.fault else Cell("tasks can be judged here", Tone.GOOD)
    table = Table(head=("what", "value"), rows=[[cell(name), cell(str(value))] for name, value in rows])
    return [table, Lines(lines=[end])]


def _change(word: str) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not equals:
        raise click.UsageError(f"repo-settings takes NAME=VALUE after the path, not {word!r}; NAME= removes it.")
    return name, value_of(name, text) if text.strip() else None


def value_of(name: str, text: str) -> Any:
    """Convert text from the command line to the value that the API accepts."""
    if name in _ARE_SWITCHES:
        return _SWITCHES.get(text.strip().lower(), text)
    if name in _NUMBERS:
        try:
            return float(text) if name in FRACTIONS else int(text)
        except ValueError:
            return text  # validation refuses it and names the accepted form
    if name in {*_ONE_WORD, "test_command"} or name not in HELP:
        return text
    return [] if text.strip() == _NOTHING else [each for each in text.replace(",", " ").split() if each]


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        words: list[str] = [str(each) for each in value]
        return (shlex.join(words) if name == "test_command" else ", ".join(words)) or _NOTHING
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tabulate(options: RepositoryOptions) -> list[Block]:
    rows = [
        [
            cell(each.name),
            cell(_text(each.name, each.value)),
            cell(each.place if each.source is Source.FOUND else _of(each.source), _TONES[each.source]),
        ]
        for each in options.options
    ]
    blocks: list[Block] = [
        Lines(lines=[Cell(options.repo), *([Cell(options.error, Tone.WARN)] if options.error else [])]),
        Table(head=("name", "value", "from"), rows=rows),
    ]
    if options.commands:
        listed = [
            [cell(str(c.purpose)), cell(shlex.join(c.words)), cell(c.location, Tone.DIM)] for c in options.commands
        ]
        blocks.append(Table(head=("found for", "command", "in"), rows=listed))
    blocks += [block for check in options.checks for block in _tabulate_check(check)]
    if options.setup_draft:
        heading = "Setup steps for another agent are never run. To have them run, commit this as .nightshift/setup.sh:"
        blocks.append(Lines(lines=[Cell(heading), *map(Cell, options.setup_draft.splitlines())]))
    blocks += _faults(options.faults)
    return blocks


def _of(source: Source) -> str:
    return {Source.KEPT: "set here", Source.SETTINGS: "settings", Source.NONE: ""}[source]


def _faults(faults: Mapping[str, str]) -> list[Block]:
    return (
        [Lines(lines=[Cell(f"{name} is left out: {why}", Tone.WARN) for name, why in faults.items()])] if faults else []
    )


async def check_repository(repo: str, settings: Settings) -> Preflight:
    """Run the suite of the commit that tasks in a repository start from, in the environment that the commit declares.

    Args:
        repo: a checkout, or a folder in a checkout.
        settings: settings of the home whose sandbox is used and that stores the result.

    Raises:
        GitError: `repo` is not a repository.
        SandboxError: nothing can be executed here.
        CommandBlocked: the repository's test command is a forbidden command.
    """
    prefix = orphans.prefix("check")
    with (
        tempfile.TemporaryDirectory(prefix=prefix) as folder,
        git_beside(settings, Path(folder)) as git,
        open_service(settings, to_change=settings.db_path.exists()) as service,
    ):
        root = service.show(repo).repo
        asked = TaskSpec(description="", repo=root)
        stored = service.settings_for(asked)
        spec = stored.apply_to(asked)
        spec = replace(spec, language=choose_language_here(spec, settings))
        tree = git.tree(root, git.resolve(root, spec.base or "HEAD"))
        files = find(tree)
        if command := choose_command(tree, spec, files):
            spec = replace(spec, test_command=command.words)
        suite = await suites(settings, Path(folder))()
        if suite.suite is None or suite.environments is None:
            raise SandboxError(suite.why_not)
        declared = await suite.environments.of(tree)
        making = await suite.environments.make(tree, declared) if declared.digest else None
        check = SuiteCheck(
            repo=root,
            tree=tree,
            spec=spec,
            environment=making.environment if making else NO_ENVIRONMENT,
            test_paths=files.choose_test_paths(stored.test_paths),
            limits=spec.limits.over(defaults(settings).limits).of_run(),
        )
        result = await check.run(suite.suite, utc_now())
        if settings.db_path.exists():
            await asyncio.to_thread(service.store_check, result)
        return result

"""The environment of an attempt: packages and services that its base declares, made with the owner's consent.

A lock file or a list of packages in the owner's own commit is consent for the wheels that it names, unless the settings
require a question to the owner. A declaration in the agent's change is not consent: the owner is asked about its
packages as about any others. If the package index is unreachable, the part that needs it is left out. The other parts
are used, and the evidence names what the run had.

A setup script is code, and no commit is consent for it. The owner is asked once for each content of the script, and
sees its text. A denial applies to all tasks with that content; they continue without the script and report that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nightshift.attempt.services import AttemptServices
from nightshift.core.code.environments import NO_ENVIRONMENT, Environment, MadeEnvironment, SetupScript
from nightshift.core.code.tree import Tree
from nightshift.core.errors import NeedsApproval, SandboxError, SandboxUnready
from nightshift.core.events import Emitter, EnvironmentData, Kind, Level
from nightshift.core.tasks.change_checks import Ask, AskKind, holding, setup_subject
from nightshift.core.tasks.projects import place_of
from nightshift.core.tasks.task import Task
from nightshift.core.text.faults import name_first
from nightshift.core.text.masking import printable

_SHOWN = 12
_USED, _FAILED = "environment_used:", "environment_failed:"
"""Prefixes of state keys. Under each key, the last report about a repository or project is stored, so that the owner
gets each report only once.
"""


class EnvironmentChoice:
    """Decides which environment a task uses on a tree.

    Args:
        task: the task, whose owner's answers count.
        services: the services of an attempt.
        events: receives the attempt's events.
    """

    def __init__(self, task: Task, services: AttemptServices, events: Emitter) -> None:
        self._task, self._services, self._events = task, services, events
        self._scripts_told = set[str]()

    async def of(self, tree: Tree) -> Environment:
        """Return the environment of a tree with all available parts, made if necessary; empty if there are none.

        Raises:
            NeedsApproval: the owner must be asked first.
            SandboxUnready: the process that makes the environment was ended from outside.
        """
        environments = self._services.environments
        if environments is None:
            return NO_ENVIRONMENT
        environment = await environments.of(tree)
        asks = (*self._ask_of_packages(environment), *self._ask_of_script(environment.unasked))
        if asks:
            raise NeedsApproval("; ".join(ask.question.partition("\n\n")[0] for ask in asks), asks)
        if not environment.digest or self._is_denied(environment):
            return NO_ENVIRONMENT
        location = f"{self._task.spec.repo or ''}:{place_of(tree)[1]}"
        try:
            making = await environments.make(tree, environment)
        except SandboxUnready:
            raise
        except SandboxError as error:
            await self._say_failed(environment, [f"{name_first(environment.sources)}: {error}"], location)
            return NO_ENVIRONMENT
        await self._say_failed(environment, making.failed, location)
        for new_environment in making.new:
            self._events.emit(Kind.ENVIRONMENT_MADE, _tell(new_environment)[:500], **_data(environment))
        if self._services.defaults.environments == "trust":
            await self._say_used(making.environment, location)
        return making.environment

    async def _say_used(self, environment: Environment, location: str) -> None:
        """Report, once for each repository or project, that its declared packages are used without asking."""
        if await self._is_new(f"{_USED}{location}", True):
            used = f"what {name_first(environment.sources)} declares is installed and used from now on"
            text = f"{used}; with ENVIRONMENTS=ask you are asked first"
            self._events.emit(Kind.ENVIRONMENT_USED, text[:500], **_data(environment))

    async def _say_failed(self, environment: Environment, failed: Sequence[str], location: str) -> None:
        """Report parts that cannot be made: as a warning in the task's events, or as an error if the report is new."""
        is_new = await self._is_new(f"{_FAILED}{location}", list(failed) or None)
        level = Level.ERROR if is_new else Level.WARNING
        for why in failed:
            text = f"a part of the environment cannot be made, runs continue without it: {why}"
            self._events.emit(Kind.ENVIRONMENT_FAILED, text[:500], level=level, **_data(environment))

    async def _is_new(self, key: str, value: object) -> bool:
        """Store a report under this key, and return True; return False if the same report was already stored."""
        if self._services.state.get(key) == value:
            return False
        await asyncio.wrap_future(self._services.state.set(key, value))
        return True

    def answers(self) -> dict[str, bool]:
        """Return the owner's decisions for this task and its repository: subjects mapped to True (granted) or False."""
        queue, mine = self._services.queue, self._task.id
        own = queue.approvals(open_only=False, task_id=mine)
        return {
            **holding(queue.repository_decisions(mine), self._task.project),
            **{each.ask.subject: each.granted for each in own if each.granted is not None},
        }

    def _is_denied(self, environment: Environment) -> bool:
        asked = self._services.defaults.environments == "ask"
        return asked and self.answers().get(_subject(environment)) is False

    def _ask_of_packages(self, environment: Environment) -> tuple[Ask, ...]:
        trusted = self._services.defaults.environments == "trust"
        if trusted or not environment.digest or _subject(environment) in self.answers():
            return ()
        text = f"May packages be installed from {name_first(environment.sources)} of this repository?"
        question = f"{text} Only wheels are installed, and none of their code runs while they are."
        return (Ask(kind=AskKind.ENVIRONMENT, subject=_subject(environment), question=question),)

    def _ask_of_script(self, script: SetupScript | None) -> tuple[Ask, ...]:
        """Return the question about a script; empty if there is no script, or if it was denied or is switched off."""
        if script is None:
            return ()
        subject = setup_subject(script.digest)
        if self._services.defaults.setup_scripts == "off":
            self._say_without(script, "SETUP_SCRIPTS is off")
        elif self._services.queue.decision(subject) is False:
            self._say_without(script, f"you said no to it; put {script.digest} into ALLOWED_SETUPS to let it run")
        else:
            return (Ask(kind=AskKind.SETUP, subject=subject, question=_question(script)),)
        return ()

    def _say_without(self, script: SetupScript, why: str) -> None:
        if script.digest not in self._scripts_told:
            self._scripts_told.add(script.digest)
            text = f"{script.path} is not run, and the task continues without it: {why}"
            self._events.emit(
                Kind.ENVIRONMENT_FAILED, text[:500], level=Level.WARNING, digest="", sources=[script.path]
            )


def _subject(environment: Environment) -> str:
    return f"{AskKind.ENVIRONMENT}:{environment.digest}"


def _question(script: SetupScript) -> str:
    """Return the question about a script: the facts that the owner needs to decide, and its whole text."""
    named = f" It names {name_first(script.named)}, which may run as well." if script.named else ""
    remarks = "".join(f" {remark}." for remark in script.remarks)
    return (
        f"May {script.path} of this repository run, to prepare the environment of its tests? It runs once for this "
        f"content, in a sandbox of its own with a copy of the commit's files, without secrets or your home, and can "
        f"reach any host but this machine. What it leaves is shown read-only to later runs, which have no network."
        f"{named}{remarks}\n\n{printable(script.text)}"
    )


def _tell(new_environment: MadeEnvironment) -> str:
    count = len(new_environment.packages)
    what = f"{count} package{'' if count == 1 else 's'}" if count else "no packages"
    what = f"services {', '.join(new_environment.services)}" if new_environment.services else what
    left_out = f"; {'; '.join(new_environment.remarks)}" if new_environment.remarks else ""
    return f"made an environment of {name_first(new_environment.sources)}: {what}{left_out}"


def _data(environment: Environment) -> EnvironmentData:
    return EnvironmentData(digest=environment.digest, sources=list(environment.sources[:_SHOWN]))

"""The environment of an attempt: what its base declares, made with the owner's consent before anything is run.

A lock or a list of packages in the owner's own commit is consent for the wheels that it names, unless the settings say
that he is asked first. What a change declares is none: it is asked for like any package. A part that cannot be made
now, because the package index is away, is done without; the others are kept, and the evidence names what the run had.
"""

from __future__ import annotations

from attempt.services import AttemptServices
from core.change_checks import Ask, AskKind
from core.environments import NO_ENVIRONMENT, Environment, MadeEnvironment
from core.errors import NeedsApproval, SandboxError
from core.events import Emitter, EnvironmentData, Kind, Level
from core.tasks import Task
from core.tree import Tree

_SHOWN = 12


class EnvironmentChoice:
    """Decides which environment a task has on a tree.

    Args:
        task: its owner's answers count.
        services: what an attempt is given.
        events: takes the attempt's events.
    """

    def __init__(self, task: Task, services: AttemptServices, events: Emitter) -> None:
        self._task, self._services, self._events = task, services, events

    async def of(self, tree: Tree) -> Environment:
        """The environment of a tree, made by now, with the parts that can be had; none where there are none.

        Raises:
            NeedsApproval: the owner wants to be asked first.
        """
        environments = self._services.environments
        if environments is None:
            return NO_ENVIRONMENT
        found = await environments.of(tree)
        if not found.digest or not self._is_allowed(found):
            return NO_ENVIRONMENT
        try:
            making = await environments.make(tree, found)
        except SandboxError as error:
            self._say_failed(found, f"{_listed(found.sources)}: {error}")
            return NO_ENVIRONMENT
        for why in making.failed:
            self._say_failed(found, why)
        for one in making.new:
            self._events.emit(Kind.ENVIRONMENT_MADE, _told(one)[:500], **_data(found))
        return making.environment

    def _say_failed(self, found: Environment, why: str) -> None:
        text = f"a part of the environment cannot be made, runs do without it: {why}"
        self._events.emit(Kind.ENVIRONMENT_FAILED, text[:500], level=Level.WARNING, **_data(found))

    def _is_allowed(self, found: Environment) -> bool:
        if self._services.defaults.environments == "trust":
            return True
        subject = f"{AskKind.ENVIRONMENT}:{found.digest}"
        answers = {
            each.ask.subject: each.granted
            for each in self._services.queue.approvals(open_only=False, task_id=self._task.id)
            if each.granted is not None
        }
        if subject not in answers:
            text = f"May packages be installed from {_listed(found.sources)} of this repository? Only wheels are, and "
            ask = Ask(kind=AskKind.ENVIRONMENT, subject=subject, question=f"{text}nothing of them runs while they are.")
            raise NeedsApproval(ask.question, (ask,))
        return bool(answers[subject])


def _told(made: MadeEnvironment) -> str:
    count = len(made.packages)
    what = f"{count} package{'' if count == 1 else 's'}" if count else "no packages"
    what = f"services {', '.join(made.services)}" if made.services else what
    left_out = f"; {'; '.join(made.remarks)}" if made.remarks else ""
    return f"made an environment of {_listed(made.sources)}: {what}{left_out}"


def _listed(paths: tuple[str, ...]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _data(found: Environment) -> EnvironmentData:
    return EnvironmentData(digest=found.digest, sources=list(found.sources[:_SHOWN]))

"""The environment of an attempt: its available parts, the questions to the owner, and the reports to the owner."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from nightshift.attempt.environment import EnvironmentChoice
from nightshift.attempt.services import AttemptServices
from nightshift.core.clock import utc_now
from nightshift.core.code.environments import Environment, SetupScript
from nightshift.core.errors import NeedsApproval
from nightshift.core.events import Emitter, Event, Kind, Level
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.queue.manager import QueueManager
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.making import Environments, Recipe
from nightshift.verdict.environments.store import FolderStore
from tests.support.services import open_services
from tests.support.trees import TextTree
from tests.verdict.environments.test_making import Copying


class Asked:
    """A task that uses real services to build a tree's environment; `events` are the task's events, oldest first."""

    def __init__(self, parts: AttemptServices, environments: Environments, repo: str | None = None) -> None:
        spec = parse_spec({"description": "do it", **({"repo": repo} if repo else {})})
        self.parts, self.events = replace(parts, environments=environments), list[Event]()
        self.task = Task(id=1, spec=spec, status=Status.RUNNING, created_at=utc_now(), attempt=1)

    async def of(self, files: Mapping[str, str]) -> Environment:
        return await EnvironmentChoice(self.task, self.parts, Emitter(self.events.append)).of(TextTree(files))

    def list_messages(self, kind: Kind) -> list[tuple[Level, str]]:
        return [(event.level, event.message) for event in self.events if event.kind is kind]


def two_makers(folder: Path) -> Environments:
    return Environments(FolderStore(folder / "environments", keep_mb=100), [Copying(), Copying(name="tools.lock")])


async def test_one_part_that_cannot_be_made_is_told_of_and_the_others_are_had(tmp_path: Path) -> None:
    async with open_services(tmp_path / "home") as rooms:
        asked = Asked(rooms.parts, two_makers(tmp_path))
        part = await asked.of({"needs.lock": "impossible", "tools.lock": "1"})
        nothing = await asked.of({"needs.lock": "impossible"})
    assert part.sources == ("tools.lock",)
    assert not nothing.digest
    failed = "a part of the environment cannot be made, runs continue without it: needs.lock: it cannot be made"
    success = "made an environment of tools.lock: 1 package; nothing left out"
    assert asked.list_messages(Kind.ENVIRONMENT_MADE) == [(Level.INFO, success)]
    # The repeated failure is only a warning, so the owner sees it only on the task's page.
    assert asked.list_messages(Kind.ENVIRONMENT_FAILED) == [(Level.ERROR, failed), (Level.WARNING, failed)]


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner who wants to be asked about environments, and a queue of tasks on one repository."""

    parts: AttemptServices
    queue: QueueManager
    environments: Environments

    def works(self) -> Asked:
        """Submit a new task, claim it, and return it."""
        asked = Asked(self.parts, self.environments)
        submission = self.queue.submit(asked.task.spec).result()
        task = self.queue.claim("w", only=submission.task_id).result()
        assert task is not None
        asked.task = task
        return asked

    async def asks(self, asked: Asked, files: Mapping[str, str]) -> Ask:
        """Let a task ask the owner about these files and wait; return the question."""
        with pytest.raises(NeedsApproval) as raised:
            await asked.of(files)
        (ask,) = raised.value.asks
        self.queue.wait_for_owner(asked.task.id, asked.task.fence, str(raised.value), [ask]).result()
        return ask

    def decides(self, granted: bool) -> None:
        (approval,) = self.queue.approvals()
        self.queue.decide(approval.id, granted).result()

    def goes_on(self, asked: Asked) -> None:
        task = self.queue.claim("w", only=asked.task.id).result()
        assert task is not None
        asked.task = task


@pytest_asyncio.fixture(loop_scope="module")
async def owner(tmp_path: Path) -> AsyncIterator[Owner]:
    async with open_services(tmp_path / "home") as rooms:
        asking = replace(rooms.parts, defaults=replace(rooms.parts.defaults, environments="ask"))
        yield Owner(asking, rooms.store.queue, two_makers(tmp_path))


async def test_where_the_owner_wants_to_be_asked_nothing_is_made_before_he_says_yes(owner: Owner) -> None:
    first = owner.works()
    ask = await owner.asks(first, {"needs.lock": "1"})
    assert ask.subject == f"environment:{(await owner.environments.of(TextTree({'needs.lock': '1'}))).digest}"
    assert "May packages be installed from needs.lock of this repository?" in ask.question
    assert not owner.environments.list_parts()
    owner.decides(True)
    owner.goes_on(first)
    assert (await first.of({"needs.lock": "1"})).digest
    assert first.list_messages(Kind.ENVIRONMENT_MADE)
    assert not first.list_messages(Kind.ENVIRONMENT_USED), "he was told what he said yes to"


async def test_a_no_is_kept_and_the_task_goes_on_without(owner: Owner) -> None:
    first = owner.works()
    await owner.asks(first, {"needs.lock": "1"})
    owner.decides(False)
    owner.goes_on(first)
    assert not (await first.of({"needs.lock": "1"})).digest
    assert not owner.environments.list_parts()


async def test_each_declaration_is_asked_for_once(owner: Owner) -> None:
    first = owner.works()
    await owner.asks(first, {"needs.lock": "1"})
    owner.decides(True)
    owner.goes_on(first)
    assert (await first.of({"needs.lock": "1"})).digest
    await owner.asks(first, {"needs.lock": "2"})
    owner.decides(True)
    later = owner.works()
    assert (await later.of({"needs.lock": "1"})).digest, "a later task of the repository asked again"


class Scripted(Copying):
    """An environment part that a set-up script of the repository builds."""

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        base_recipe = super().recipe(files)
        script = SetupScript(path="setup.sh", text="echo \x1b[2Jhello\n", digest="abc")
        return base_recipe and replace(base_recipe, script=script)


SCRIPTED = TextTree({"needs.lock": "1", "tools.lock": "2"})


@asynccontextmanager
async def choosing(
    folder: Path, mode: Literal["ask", "trust", "off"], answer: bool | None = None
) -> AsyncIterator[tuple[EnvironmentChoice, list[Event]]]:
    """Choose the environment for a tree with a set-up script.

    `answer` is the owner's earlier answer to the same question from another task.
    """
    store = FolderStore(folder / "environments", keep_mb=100)
    environments = Environments(store, [Copying(), Scripted(name="tools.lock")], lambda _digest: False)
    events = list[Event]()
    async with open_services(folder / "home") as rooms:
        defaults = replace(rooms.parts.defaults, setup_scripts=mode)
        parts = replace(rooms.parts, environments=environments, defaults=defaults)
        other = Owner(parts, rooms.store.queue, environments).works()
        if answer is not None:
            choice = EnvironmentChoice(other.task, parts, Emitter(events.append))
            with pytest.raises(NeedsApproval) as needs:
                await choice.of(SCRIPTED)
            rooms.store.queue.wait_for_owner(other.task.id, other.task.fence, "may it?", needs.value.asks).result()
            rooms.store.queue.decide(rooms.store.queue.approvals()[0].id, answer).result()
        task = replace(other.task, id=other.task.id + 1)
        yield EnvironmentChoice(task, parts, Emitter(events.append)), events


async def test_a_script_is_asked_for_with_its_text_and_what_it_may_reach(tmp_path: Path) -> None:
    async with choosing(tmp_path, "ask") as (choice, _):
        with pytest.raises(NeedsApproval) as needs:
            await choice.of(SCRIPTED)
    (ask,) = needs.value.asks
    assert (ask.kind, ask.subject) == (AskKind.SETUP, "setup:abc")
    assert "can reach any host but this machine" in ask.question
    assert ask.question.endswith("echo \\x1b[2Jhello\n")
    assert "hello" not in str(needs.value)


async def test_after_a_no_every_task_goes_on_without_the_script_and_says_so_once(tmp_path: Path) -> None:
    async with choosing(tmp_path, "ask", answer=False) as (choice, events):
        for _ in range(2):
            assert (await choice.of(SCRIPTED)).sources == ("needs.lock",)
    (message,) = [event.message for event in events if event.kind is Kind.ENVIRONMENT_FAILED]
    assert message.startswith("setup.sh is not run, and the task continues without it: you said no")


async def test_where_scripts_are_off_nobody_is_asked(tmp_path: Path) -> None:
    async with choosing(tmp_path, "off") as (choice, events):
        assert (await choice.of(SCRIPTED)).sources == ("needs.lock",)
    assert "SETUP_SCRIPTS is off" in events[0].message

"""The environment of an attempt: what can be had of it, and what its owner is told of the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from attempt.environment import EnvironmentChoice
from core.clock import utc_now
from core.events import Emitter, Event, Kind
from core.states import Status
from core.submission import parse_spec
from core.tasks import Task
from environments.making import Environments
from environments.store import FolderStore
from tests.environments.test_making import Copying
from tests.support.services import open_services
from tests.support.trees import TextTree


async def test_one_part_that_cannot_be_made_is_told_of_and_the_others_are_had(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "environments", keep_mb=100)
    found = Environments(store, [Copying(), Copying(name="tools.lock")])
    spec = parse_spec({"description": "do it"})
    task = Task(id=1, spec=spec, status=Status.RUNNING, created_at=utc_now(), attempt=1)
    events = list[Event]()
    async with open_services(tmp_path / "home") as rooms:
        choice = EnvironmentChoice(task, replace(rooms.parts, environments=found), Emitter(events.append))
        part = await choice.of(TextTree({"needs.lock": "impossible", "tools.lock": "1"}))
        nothing = await choice.of(TextTree({"needs.lock": "impossible"}))
    assert part.sources == ("tools.lock",)
    assert not nothing.digest
    told = [(event.kind, event.message) for event in events]
    failed = "a part of the environment cannot be made, runs do without it: needs.lock: it cannot be made"
    assert told == [
        (Kind.ENVIRONMENT_FAILED, failed),
        (Kind.ENVIRONMENT_MADE, "made an environment of tools.lock: 1 package; nothing left out"),
        (Kind.ENVIRONMENT_FAILED, failed),
    ]

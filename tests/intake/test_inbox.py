"""The inbox on a real queue: what is submitted, what is told."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from core.errors import StoreFull
from core.events import Event, Kind, Level
from core.queueing import Submitted
from core.states import Status
from core.tasks import TaskSpec
from db.database import Database
from db.event_log import EventLog
from intake.inbox import Inbox, watch
from intake.tasks_file import read_tasks
from intake.watcher import Watcher
from queue_manager import QueueManager

TWO = "tasks:\n- {description: a, key: first}\n- {description: b, depends_on: [first]}\n"


class House:
    """A queue and an inbox in front of it."""

    def __init__(self, path: Path) -> None:
        self.db = Database(path)
        self.log = EventLog(self.db)
        self.queue = QueueManager(self.db, self.log)
        self.told: list[Event] = []
        self.inbox = Inbox(self.queue.submit, self.told.append)

    def read(self, text: str) -> list[str]:
        self.told.clear()
        self.inbox.take(read_tasks(text))
        return [event.message for event in self.told]

    def tasks(self) -> list[str]:
        return [task.spec.description for task in reversed(self.queue.find(limit=100))]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "db.sqlite")
    yield house
    house.db.close()


def test_each_entry_becomes_one_task_in_the_order_of_the_file(house: House) -> None:
    assert house.read("tasks: [a, b, c]") == ["tasks.yaml: 3 new of 3 entries"]
    assert house.tasks() == ["a", "b", "c"]
    assert (house.told[0].kind, house.told[0].data["new"]) == (Kind.INBOX_READ, [1, 2, 3])


def test_only_what_is_new_is_submitted(house: House) -> None:
    house.read("tasks: [a, b]")
    assert house.read("tasks: [b, c]  # a is gone\n") == ["tasks.yaml: 1 new of 2 entries"]
    assert house.tasks() == ["a", "b", "c"]
    assert house.read("tasks:\n# moved\n- c\n- b\n") == ["tasks.yaml: 0 new of 2 entries"]
    assert house.told[0].level is Level.DEBUG


def test_what_was_taken_is_not_handed_in_again_at_each_save(house: House) -> None:
    house.read("tasks: [a, b]")
    handed: list[TaskSpec] = []

    def submit(spec: TaskSpec) -> Future[Submitted]:
        handed.append(spec)
        return house.queue.submit(spec)

    inbox = Inbox(submit, house.told.append)
    inbox.take(read_tasks("tasks: [a, b]"))
    inbox.take(read_tasks("tasks: [a, b, c]"))
    assert [spec.description for spec in handed] == ["a", "b", "c"]


def test_a_restarted_daemon_submits_nothing_again(house: House) -> None:
    house.read(TWO)
    house.inbox = Inbox(house.queue.submit, house.told.append)
    assert house.read(TWO) == ["tasks.yaml: 0 new of 2 entries"]
    assert house.tasks() == ["a", "b"]


def test_dependencies_on_entries_become_those_of_their_tasks(house: House) -> None:
    house.read(TWO)
    second = house.queue.get(2)
    assert (second.spec.depends_on, second.status) == ((1,), Status.BLOCKED)


def test_an_entry_that_the_queue_refuses_is_told_and_the_others_are_taken(house: House) -> None:
    text = "tasks:\n- a\n- {description: b, key: b, depends_on: [99]}\n- {description: c, depends_on: [b]}\n"
    assert house.read(text) == [
        "tasks.yaml: 1 new of 3 entries",
        "tasks.yaml:4:1: depends_on: an entry above was refused",
        "tasks.yaml:3:1: depends_on: there is no task 99",
    ]
    assert house.told[1].kind is Kind.INBOX_REJECTED
    assert house.read(text.replace("99", "1"))[0] == "tasks.yaml: 2 new of 3 entries"


def test_of_many_refused_entries_the_first_are_told_and_the_others_counted(house: House) -> None:
    text = "tasks:\n" + "".join(f"- {{description: d{number}, depends_on: [99]}}\n" for number in range(200))
    told = house.read(text)
    assert len(told) == 52
    assert told[1] == "tasks.yaml:2:1: depends_on: there is no task 99"
    assert told[-1].endswith(": and 150 more")


def test_identical_entries_are_told_to_their_author(house: House) -> None:
    (message,) = house.read("tasks: [a, a]")
    assert message == "tasks.yaml: 1 new of 1 entry; line 1: the same task as in line 1; it is submitted once"


def test_a_thousand_entries_share_their_commits(house: House) -> None:
    commits: list[object] = []
    house.db.listen(commits.append)
    house.read("tasks:\n" + "".join(f"- task {number}\n" for number in range(1000)))
    assert len(house.tasks()) == 100
    assert len(commits) < 100


def test_a_saved_file_reaches_the_queue_and_a_broken_one_the_log(house: House, tmp_path: Path) -> None:
    path, told = tmp_path / "tasks.yaml", queue.Queue[Event]()
    crashes: list[Exception] = []
    watcher = watch(path, house.queue.submit, told.put, crashes.append)
    watcher.start()
    assert told.get(timeout=5).message == "tasks.yaml: 0 new of 0 entries"
    path.write_text(TWO)
    assert told.get(timeout=5).message == "tasks.yaml: 2 new of 2 entries"
    path.write_text("tasks:\n- description: c\n  priority: high\n")
    event = told.get(timeout=5)
    assert (event.kind, event.data["line"], event.data["column"]) == (Kind.INBOX_REJECTED, 3, 3)
    assert event.message == "tasks.yaml:3:3: priority: Input should be a valid integer"
    watcher.stop()
    assert crashes == []
    assert house.tasks() == ["a", "b"]


def test_a_full_disk_is_tried_again_until_there_is_room(house: House, tmp_path: Path) -> None:
    path, told = tmp_path / "tasks.yaml", queue.Queue[Event]()
    crashes: list[Exception] = []
    path.write_text("tasks: [a]")
    full = [StoreFull("no space"), StoreFull("no space")]

    def submit(spec: TaskSpec) -> Future[Submitted]:
        if full:
            raise full.pop()
        return house.queue.submit(spec)

    inbox = Inbox(submit, told.put)
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append, retry_s=0.05)
    watcher.start()
    assert told.get(timeout=5).message == "tasks.yaml: 1 new of 1 entry"
    watcher.stop()
    assert crashes == []

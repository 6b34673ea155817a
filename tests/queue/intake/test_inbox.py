"""The inbox on a real queue: what is submitted, what is told."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from nightshift.app.submission import machine_check
from nightshift.config.load import load_settings
from nightshift.core.errors import StoreFull
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.queue.intake.inbox import Inbox
from nightshift.queue.intake.marked_yaml import BrokenFile
from nightshift.queue.intake.tasks_file import read_tasks
from nightshift.queue.intake.watcher import Watcher
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.git_repo import make_repo
from tests.support.ready_database import ready

TWO = "tasks:\n- {description: a, key: first}\n- {description: b, depends_on: [first]}\n"


class Intake:
    """A queue and an inbox in front of it."""

    def __init__(self, path: Path) -> None:
        self.db = Database(ready(path))
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
def intake(tmp_path: Path) -> Iterator[Intake]:
    intake = Intake(tmp_path / "db.sqlite")
    yield intake
    intake.db.close()


def test_each_entry_becomes_one_task_in_the_order_of_the_file(intake: Intake) -> None:
    assert intake.read("tasks: [a, b, c]") == ["tasks.yaml: 3 new of 3 entries"]
    assert intake.tasks() == ["a", "b", "c"]
    assert (intake.told[0].kind, intake.told[0].data["new"]) == (Kind.INBOX_READ, [1, 2, 3])


def test_only_what_is_new_is_submitted(intake: Intake) -> None:
    intake.read("tasks: [a, b]")
    assert intake.read("tasks: [b, c]  # a is gone\n") == ["tasks.yaml: 1 new of 2 entries"]
    assert intake.tasks() == ["a", "b", "c"]
    assert intake.read("tasks:\n# moved\n- c\n- b\n") == ["tasks.yaml: 0 new of 2 entries"]
    assert intake.told[0].level is Level.DEBUG


def test_what_was_taken_is_not_handed_in_again_at_each_save(intake: Intake) -> None:
    intake.read("tasks: [a, b]")
    handed: list[TaskSpec] = []

    def submit(spec: TaskSpec) -> Future[Submitted]:
        handed.append(spec)
        return intake.queue.submit(spec)

    inbox = Inbox(submit, intake.told.append)
    inbox.take(read_tasks("tasks: [a, b]"))
    inbox.take(read_tasks("tasks: [a, b, c]"))
    assert [spec.description for spec in handed] == ["a", "b", "c"]


def test_a_restarted_daemon_submits_nothing_again(intake: Intake) -> None:
    intake.read(TWO)
    intake.inbox = Inbox(intake.queue.submit, intake.told.append)
    assert intake.read(TWO) == ["tasks.yaml: 0 new of 2 entries"]
    assert intake.tasks() == ["a", "b"]


def test_dependencies_on_entries_become_those_of_their_tasks(intake: Intake) -> None:
    intake.read(TWO)
    second = intake.queue.get(2)
    assert (second.spec.depends_on, second.status) == ((1,), Status.BLOCKED)


def test_an_entry_that_the_queue_refuses_is_told_and_the_others_are_taken(intake: Intake) -> None:
    text = "tasks:\n- a\n- {description: b, key: b, depends_on: [99]}\n- {description: c, depends_on: [b]}\n"
    assert intake.read(text) == [
        "tasks.yaml: 1 new of 3 entries",
        "tasks.yaml:3:28: depends_on: there is no task 99",
        "tasks.yaml:4:20: depends_on: an entry above was refused",
    ]
    assert intake.told[1].kind is Kind.INBOX_REJECTED
    assert intake.read(text.replace("99", "1"))[0] == "tasks.yaml: 2 new of 3 entries"


def test_of_many_refused_entries_the_first_are_told_and_the_others_counted(intake: Intake) -> None:
    text = "tasks:\n" + "".join(f"- {{description: d{number}, depends_on: [99]}}\n" for number in range(200))
    told = intake.read(text)
    assert len(told) == 52
    assert told[1] == "tasks.yaml:2:21: depends_on: there is no task 99"
    assert told[-1].endswith(": and 150 more")


def test_identical_entries_are_told_to_their_author(intake: Intake) -> None:
    (message,) = intake.read("tasks: [a, a]")
    assert message == "tasks.yaml: 1 new of 1 entry; line 1: the same task as in line 1; it is submitted once"


def test_a_thousand_entries_share_their_commits(intake: Intake) -> None:
    commits: list[object] = []
    intake.db.listen(commits.append)
    intake.read("tasks:\n" + "".join(f"- task {number}\n" for number in range(1000)))
    assert len(intake.tasks()) == 100
    assert len(commits) < 100


def test_a_saved_file_reaches_the_queue_and_a_broken_one_the_log(intake: Intake, tmp_path: Path) -> None:
    path, told = tmp_path / "tasks.yaml", queue.Queue[Event]()
    crashes: list[Exception] = []
    inbox = Inbox(intake.queue.submit, told.put)
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append)
    watcher.start()
    assert told.get(timeout=5).message == "tasks.yaml: 0 new of 0 entries"
    path.write_text(TWO)
    assert told.get(timeout=5).message == "tasks.yaml: 2 new of 2 entries"
    path.write_text("tasks:\n- description: c\n  priority: high\n")
    assert told.get(timeout=5).message == "tasks.yaml: 0 new of 1 entry"
    event = told.get(timeout=5)
    assert (event.kind, event.data["line"], event.data["column"]) == (Kind.INBOX_REJECTED, 3, 3)
    assert event.message == "tasks.yaml:3:3: priority: Input should be a valid integer"
    watcher.stop()
    assert crashes == []
    assert intake.tasks() == ["a", "b"]


def test_a_full_disk_is_tried_again_until_there_is_room(intake: Intake, tmp_path: Path) -> None:
    path, told = tmp_path / "tasks.yaml", queue.Queue[Event]()
    crashes: list[Exception] = []
    path.write_text("tasks: [a]")
    full = [StoreFull("no space"), StoreFull("no space")]

    def submit(spec: TaskSpec) -> Future[Submitted]:
        if full:
            raise full.pop()
        return intake.queue.submit(spec)

    inbox = Inbox(submit, told.put)
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append, retry_s=0.05)
    watcher.start()
    assert told.get(timeout=5).message == "tasks.yaml: 1 new of 1 entry"
    watcher.stop()
    assert crashes == []


MIXED = "tasks:\n- a\n- {description: b, priority: high}\n- c\n"


def test_the_neighbours_of_a_bad_entry_are_queued_and_it_is_once_it_is_mended(intake: Intake) -> None:
    fault = "tasks.yaml:3:20: priority: Input should be a valid integer"
    assert intake.read(MIXED) == ["tasks.yaml: 2 new of 3 entries", fault]
    assert intake.tasks() == ["a", "c"]
    assert intake.inbox.notices() == (f"{fault} (the entry waits until this is mended)",)
    intake.inbox = Inbox(intake.queue.submit, intake.told.append)  # as after a restart
    assert intake.read(MIXED) == ["tasks.yaml: 0 new of 3 entries", fault]
    assert intake.read(MIXED.replace("high", "2")) == ["tasks.yaml: 1 new of 3 entries"]
    assert intake.tasks() == ["a", "c", "b"]
    assert intake.inbox.notices() == ()


def test_a_fault_is_told_once_however_often_the_file_is_saved(intake: Intake) -> None:
    intake.read(MIXED)
    assert intake.read(MIXED + "- d\n") == ["tasks.yaml: 1 new of 4 entries"]
    assert len(intake.inbox.notices()) == 1


def test_a_file_that_is_no_yaml_holds_up_everything_and_says_so(intake: Intake) -> None:
    intake.read("tasks: [a]")
    with pytest.raises(BrokenFile) as caught:
        read_tasks("tasks:\n- a\n- 'b\n")
    intake.inbox.refuse(caught.value.faults)
    (notice,) = intake.inbox.notices()
    assert notice.startswith("tasks.yaml:4:1: ")
    assert notice.endswith("(none of its entries counts until this is mended)")
    intake.read("tasks: [a]")
    assert intake.inbox.notices() == ()


def test_of_many_faults_the_status_tells_a_few(intake: Intake) -> None:
    intake.read("tasks:\n" + "".join(f"- {{description: d{n}, k: 1}}\n" for n in range(9)))
    assert len(intake.inbox.notices()) == 6
    assert intake.inbox.notices()[-1] == "tasks.yaml: and 4 more"


def test_what_the_queue_refused_is_tried_again_when_it_was_mended_elsewhere(intake: Intake, tmp_path: Path) -> None:
    path, told, repo = tmp_path / "tasks.yaml", queue.Queue[Event](), tmp_path / "shop"
    intake.queue.check_new = machine_check(load_settings(home=tmp_path))
    path.write_text(f"tasks:\n- a\n- {{description: b, repo: {repo}}}\n")
    inbox, crashes = Inbox(intake.queue.submit, told.put), list[Exception]()
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append, retry_s=0.05)
    watcher.start()
    assert told.get(timeout=5).message == "tasks.yaml: 1 new of 2 entries"
    assert told.get(timeout=5).message == f"tasks.yaml:3:20: repo: there is no folder {repo}"
    make_repo(repo)
    while (event := told.get(timeout=10)).kind is not Kind.INBOX_READ:
        assert event.kind is Kind.INBOX_REJECTED
    assert event.message == "tasks.yaml: 1 new of 2 entries"
    watcher.stop()
    assert (crashes, intake.tasks(), inbox.notices()) == ([], ["a", "b"], ())


def test_what_holds_entries_up_is_kept_whenever_it_changes(tmp_path: Path) -> None:
    kept = list[tuple[str, ...]]()
    with Database(tmp_path / "db.sqlite") as db:
        log = EventLog(db)
        inbox = Inbox(QueueManager(db, log).submit, list[Event]().append, keep=kept.append)
        for text in ("tasks: [a]", "tasks: [a]", "tasks: [a, {priority: 2}]", "tasks: [a]"):
            inbox.take(read_tasks(text))
    assert [len(each) for each in kept] == [0, 1, 0], "what an earlier daemon kept is replaced as well"
    assert kept[1][0].startswith("tasks.yaml:1:")

"""The inbox with a real queue: the tasks that it submits, and the events that it reports."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from nightshift.app.submission import machine_check
from nightshift.config.load import load_settings
from nightshift.core.errors import StoreFull
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import Submitted
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.queue.intake.inbox import Inbox
from nightshift.queue.intake.marked_yaml import BrokenFile
from nightshift.queue.intake.tasks_file import read_tasks
from nightshift.queue.intake.watcher import Watcher
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.recovery import check_rows
from tests.support.git_repo import make_repo
from tests.support.ready_database import ready


class Intake:
    """A queue, and an inbox that submits tasks to this queue."""

    def __init__(self, path: Path) -> None:
        self.db = Database(ready(path))
        self.log = EventLog(self.db)
        self.queue = QueueManager(self.db, self.log)
        self.events: list[Event] = []
        self.waiting_tasks: Sequence[int] = ()
        self.inbox = self.begin()

    def begin(self) -> Inbox:
        """Return the inbox of a newly started daemon, which knows the tasks that the previous inbox stored."""
        return Inbox(self.queue, self.events.append, keep=self.keep, tasks=self.waiting_tasks)

    def keep(self, _: object, tasks: Sequence[int]) -> None:
        self.waiting_tasks = tasks

    def read(self, text: str) -> list[str]:
        self.events.clear()
        self.inbox.take(read_tasks(text))
        return [event.message for event in self.events]

    def tasks(self) -> list[str]:
        return [task.spec.description for task in reversed(self.queue.find(limit=100))]


@pytest.fixture
def intake(tmp_path: Path) -> Iterator[Intake]:
    intake = Intake(tmp_path / "db.sqlite")
    yield intake
    intake.db.close()


def test_only_what_is_new_is_submitted(intake: Intake) -> None:
    intake.read("tasks: [a, b]")
    assert intake.read("tasks: [b, c]  # a is gone\n") == [
        "tasks.yaml: 1 new of 2 entries; task 1 waits on, though its entry is gone"
    ]
    assert intake.tasks() == ["a", "b", "c"]
    assert intake.read("tasks:\n# moved\n- c\n- b\n") == ["tasks.yaml: 0 new of 2 entries"]
    assert intake.events[0].level is Level.DEBUG


DROP = "Delete the table of invoises and write a new one"
TASKS = "tasks:\n- {}\n- Clean up what is left\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DROP, DROP.replace("invoises", "drafts")),
        (f"{{description: {DROP}, priority: 2}}", f"{{description: {DROP}, priority: 7}}"),
        (f"{{description: {DROP}, key: drop}}", "{description: Count something else, key: drop}"),
        (DROP, f"{{description: {DROP}, key: drop}}"),
        (DROP, f"Write a letter\n- {DROP}, at last"),
        ("Mend it", "Mend it, and while you are there the header, the footer and all of the colours"),
        (
            "{description: a, key: a}\n- {description: b, depends_on: [a]}",
            "{description: c, key: a}\n- {description: b, depends_on: [a]}",
        ),
    ],
)
@pytest.mark.parametrize("meanwhile", ["", "restart", "fault"])
def test_a_corrected_entry_replaces_its_waiting_task(intake: Intake, before: str, after: str, meanwhile: str) -> None:
    intake.read(TASKS.format(before))
    if meanwhile == "restart":
        intake.inbox = intake.begin()
    elif meanwhile:
        intake.read("tasks: [{description: half a word, prior: }]")
    messages = intake.read(TASKS.format(after))
    open_tasks = {task.id: task for task in intake.queue.find(limit=100) if task.status not in ENDED}
    entries = read_tasks(TASKS.format(after)).entries
    assert sorted(task.spec.description for task in open_tasks.values()) == sorted(
        entry.spec.description for entry in entries
    )
    assert list(check_rows(intake.db.reader())) == []
    new = max(open_tasks)
    assert f"task {new} replaces task 1, which had not begun" in messages[0]
    assert (intake.queue.get(1).status, intake.queue.get(1).reason) == (Status.CANCELLED, f"task {new} replaces it")
    assert all(set(task.spec.depends_on) <= {new} for task in open_tasks.values())
    intake.inbox = intake.begin()
    assert intake.read(TASKS.format(after)) == [f"tasks.yaml: 0 new of {len(entries)} entries"]
    undone = intake.read(TASKS.format(before))
    assert f"replaces task {new}" in undone[0], "the old words make a task again"


def test_a_corrected_entry_is_known_beside_a_faulty_one(intake: Intake) -> None:
    intake.read(TASKS.format(f"{DROP}\n- Keep"))
    intake.read(TASKS.format(DROP.replace("invoises", "drafts") + "\n- {description: Keep, priority: high}"))
    assert [intake.queue.get(number).status for number in (1, 2)] == [Status.CANCELLED, Status.QUEUED]


def test_a_half_of_a_file_takes_nothing_back(intake: Intake) -> None:
    intake.read("tasks:\n- Mend the first\n- Mend the second\n- Mend the third\n")
    intake.read("tasks:\n- Mend the first\n- {description: Mend the sec\n, prio: }")
    assert [task.status for task in intake.queue.find(limit=9)] == [Status.QUEUED] * 3


@pytest.mark.parametrize("entry", [DROP, f"{{description: {DROP}, key: drop}}"])
def test_a_priority_that_the_owner_changed_is_no_correction_of_the_entry(intake: Intake, entry: str) -> None:
    intake.read(TASKS.format(entry))
    intake.queue.prioritise(1, 40).result()
    for _ in range(2):
        assert "replaces" not in "".join(intake.read(TASKS.format(entry)))
        intake.inbox = intake.begin()
    assert (intake.queue.get(1).status, intake.queue.get(1).spec.priority) == (Status.QUEUED, 40)


def test_a_corrected_entry_leaves_a_task_that_has_begun(intake: Intake) -> None:
    intake.read(
        TASKS.format(f"{{description: {DROP}, key: drop, priority: 9}}") + f"- {{description: {DROP}, priority: 8}}"
    )
    intake.queue.claim("w").result()
    intake.queue.claim("w").result()
    first, *messages = intake.read(TASKS.format("{description: Other, key: drop}") + f"- {DROP} at last\n")
    assert first == "tasks.yaml: 1 new of 3 entries"
    assert [intake.queue.get(n).status for n in (1, 3, 4)] == [Status.RUNNING, Status.RUNNING, Status.QUEUED]
    assert "give it another key" in messages[0]
    assert len(intake.inbox.notices()) == 1
    intake.read(TASKS.format("{description: Other, key: drop}") + f"- {DROP} at last\n")
    assert len(intake.inbox.notices()) == 1, "what is not mended stays told"


def test_a_task_cannot_take_the_place_of_what_it_waits_for(intake: Intake) -> None:
    intake.read(
        "tasks:\n- {description: a, key: a}\n- {description: b, key: b, depends_on: [a]}\n"
        "- {description: c, depends_on: [b]}"
    )
    messages = intake.read("tasks:\n- {description: a, key: a, depends_on: [3]}")
    assert "depends_on: task 3 waits for task 1, which this one would replace" in messages[-1]
    assert intake.queue.get(1).status is Status.QUEUED


def test_a_full_disk_is_tried_again_until_there_is_room(intake: Intake, tmp_path: Path) -> None:
    path, events = tmp_path / "tasks.yaml", queue.Queue[Event]()
    crashes: list[Exception] = []
    path.write_text("tasks: [a]")
    full = [StoreFull("no space"), StoreFull("no space")]

    class Queue(QueueManager):
        def submit(self, spec: TaskSpec, *, instead_of: int | None = None) -> Future[Submitted]:
            if full:
                raise full.pop()
            return super().submit(spec, instead_of=instead_of)

    inbox = Inbox(Queue(intake.db, intake.log), events.put)
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append, look_s=0.05)
    watcher.start()
    assert events.get(timeout=5).message == "tasks.yaml: 1 new of 1 entry"
    watcher.stop()
    assert crashes == []


MIXED = "tasks:\n- a\n- {description: b, priority: high}\n- c\n"


def test_the_neighbours_of_a_bad_entry_are_queued_and_it_is_once_it_is_mended(intake: Intake) -> None:
    fault = "tasks.yaml:3:20: priority: Input should be a valid integer"
    assert intake.read(MIXED) == ["tasks.yaml: 2 new of 3 entries", fault]
    assert intake.tasks() == ["a", "c"]
    assert intake.inbox.notices() == (f"{fault} (the entry waits until this is fixed)",)
    intake.inbox = Inbox(intake.queue, intake.events.append)  # a new inbox, as after a restart
    assert intake.read(MIXED) == ["tasks.yaml: 0 new of 3 entries", fault]
    assert intake.read(MIXED.replace("high", "2")) == ["tasks.yaml: 1 new of 3 entries"]
    assert intake.tasks() == ["a", "c", "b"]
    assert intake.inbox.notices() == ()


def test_a_file_that_is_no_yaml_holds_up_everything_and_says_so(intake: Intake) -> None:
    intake.read("tasks: [a]")
    with pytest.raises(BrokenFile) as caught:
        read_tasks("tasks:\n- a\n- 'b\n")
    intake.inbox.refuse(caught.value.faults)
    (notice,) = intake.inbox.notices()
    assert notice.startswith("tasks.yaml:4:1: ")
    assert notice.endswith("(none of its entries is used until this is fixed)")
    intake.read("tasks: [a]")
    assert intake.inbox.notices() == ()


def test_what_the_queue_refused_is_tried_again_when_it_was_mended_elsewhere(intake: Intake, tmp_path: Path) -> None:
    path, events, repo = tmp_path / "tasks.yaml", queue.Queue[Event](), tmp_path / "shop"
    intake.queue.check_new = machine_check(load_settings(home=tmp_path))
    path.write_text(f"tasks:\n- a\n- {{description: b, repo: {repo}}}\n")
    inbox, crashes = Inbox(intake.queue, events.put), list[Exception]()
    watcher = Watcher(path, inbox.take, inbox.refuse, crashes.append, look_s=0.05)
    watcher.start()
    assert events.get(timeout=5).message == "tasks.yaml: 1 new of 2 entries"
    assert events.get(timeout=5).message == f"tasks.yaml:3:20: repo: there is no folder {repo}"
    make_repo(repo)
    while (event := events.get(timeout=10)).kind is not Kind.INBOX_READ:
        assert event.kind is Kind.INBOX_REJECTED
    assert event.message == "tasks.yaml: 1 new of 2 entries"
    watcher.stop()
    assert (crashes, intake.tasks(), inbox.notices()) == ([], ["a", "b"], ())


def test_what_holds_entries_up_is_kept_whenever_it_changes(tmp_path: Path) -> None:
    notices = list[tuple[str, ...]]()
    with Database(tmp_path / "db.sqlite") as db:
        log = EventLog(db)
        inbox = Inbox(QueueManager(db, log), list[Event]().append, keep=lambda messages, _: notices.append(messages))
        for text in ("tasks: [a]", "tasks: [a]", "tasks: [a, {priority: 2}]", "tasks: [a]"):
            inbox.take(read_tasks(text))
    assert [len(each) for each in notices] == [0, 1, 0], "what an earlier daemon kept is replaced as well"
    assert notices[1][0].startswith("tasks.yaml:1:")

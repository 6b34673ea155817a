"""Questions to the owner and decisions: which tasks wait, which continue, and which questions are never repeated."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.core.errors import IllegalMove, UnknownApproval
from nightshift.core.events import Kind
from nightshift.core.tasks.change_checks import Ask, AskKind, holding
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec
from nightshift.queue.approvals import open_count
from nightshift.storage.db import migrations, schema
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import connect
from tests.support.answering import answer
from tests.support.store import Store, open_store

TOOLZ = Ask(kind=AskKind.PACKAGE, subject="package:toolz", question="May it use toolz?")
FLASK = Ask(kind=AskKind.PACKAGE, subject="package:flask", question="May it use flask?")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "agent.sqlite", secrets=("hunter2hunter2",)) as opened:
        yield opened


def running(store: Store, description: str = "x", repo: str | None = None, project: str | None = None) -> Task:
    submission = store.queue.submit(TaskSpec(description=description, repo=repo, project=project)).result()
    task = store.queue.claim("w", only=submission.task_id).result()
    assert task is not None
    return task


def again(store: Store) -> Task:
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def hold(store: Store, task: Task, *asks: Ask) -> Task:
    return store.queue.wait_for_owner(task.id, task.fence, "needs packages", asks).result()


def ask(store: Store, *, open_only: bool = True) -> list[tuple[str, bool | None]]:
    approvals = store.queue.approvals(open_only=open_only)
    return [(each.ask.subject, each.granted) for each in approvals]


def kinds(store: Store) -> list[Kind]:
    return [event.kind for event in store.events.after(0, limit=1000) if event.kind in {Kind.ASKED, Kind.ANSWERED}]


def test_the_last_answer_lets_the_task_go_on_with_its_attempt(store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ, FLASK)
    first, second = store.queue.approvals()
    granted = store.queue.decide(first.id, True).result()
    assert (granted.granted, granted.answered_at) == (True, store.clock())
    assert store.queue.get(task.id).status is Status.WAITING
    denied = store.queue.decide(second.id, False, "use the standard library").result()
    assert (denied.granted, denied.answer) == (False, "use the standard library")
    assert store.queue.get(task.id).status is Status.QUEUED
    assert again(store).attempt == task.attempt
    assert ask(store) == []
    assert ask(store, open_only=False) == [("package:toolz", True), ("package:flask", False)]
    assert kinds(store) == [Kind.ASKED, Kind.ASKED, Kind.ANSWERED, Kind.ANSWERED]


def test_what_was_decided_is_not_asked_again(store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ)
    store.queue.decide(store.queue.approvals()[0].id, True).result()
    held = hold(store, again(store), TOOLZ, FLASK)
    assert held.status is Status.WAITING
    assert ask(store) == [("package:flask", None)]
    store.queue.decide(store.queue.approvals()[0].id, False).result()
    assert hold(store, again(store), TOOLZ, FLASK).status is Status.QUEUED, "nothing is left to ask"


def test_a_decision_stands(store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ)
    (asked,) = store.queue.approvals()
    store.queue.decide(asked.id, False).result()
    with pytest.raises(IllegalMove, match="already denied"):
        store.queue.decide(asked.id, True).result()
    with pytest.raises(UnknownApproval, match="no approval 99"):
        store.queue.decide(99, True).result()


def test_an_answer_for_a_task_that_runs_again_moves_nothing(store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ)
    (asked,) = store.queue.approvals()
    store.queue.cancel(task.id).result()
    store.queue.retry(task.id).result()
    task = again(store)
    store.queue.decide(asked.id, True).result()
    assert store.queue.get(task.id).status is Status.RUNNING
    assert hold(store, task, TOOLZ).status is Status.QUEUED


def test_a_question_that_nobody_answers_in_time_is_answered_by_its_default(store: Store) -> None:
    task = running(store)
    question = Ask(kind=AskKind.QUESTION, subject="question:1", question="Which port?", default="8080")
    hold(store, task, question)
    assert store.queue.assume(store.clock() - timedelta(hours=1)).result() == 0
    store.clock.advance(7200)
    assert store.queue.assume(store.clock() - timedelta(hours=1)).result() == 1
    assert store.queue.get(task.id).status is Status.QUEUED
    assert [each.answer for each in store.queue.approvals(open_only=False, task_id=task.id)] == ["8080"]
    package = running(store)
    hold(store, package, TOOLZ)
    store.clock.advance(10**7)
    assert store.queue.assume(store.clock()).result() == 0, "only the owner decides on packages"
    assert store.queue.get(package.id).status is Status.WAITING
    assert describe(store) == ["assumed, because nobody answered: 8080"]


def test_a_question_takes_an_answer_and_its_default_where_it_is_granted_without(store: Store) -> None:
    task = running(store)
    asks = [Ask(kind=AskKind.QUESTION, subject=f"question:{n}", question="Which?", default="8080") for n in (1, 2)]
    hold(store, task, *asks, TOOLZ)
    first, second, package = (each.id for each in store.queue.approvals())
    assert store.queue.answer(first, "80").result().answer == "80"
    with pytest.raises(IllegalMove, match="already granted"):
        store.queue.answer(first, "81").result()
    with pytest.raises(IllegalMove, match=r"asks for a decision \(package\)"):
        store.queue.answer(package, "yes").result()
    assert store.queue.decide(second, True).result().answer == "8080"
    assert store.queue.decide(package, True).result().answer == ""
    assert describe(store) == ["80", "8080", "package:toolz granted"]
    assert store.queue.get(task.id).status is Status.QUEUED


def describe(store: Store) -> list[str]:
    """Return the log messages of the owner's answers."""
    return [event.message for event in store.events.after(0, limit=1000) if event.kind is Kind.ANSWERED]


def test_one_answer_lets_all_tasks_of_a_repository_go_on(store: Store) -> None:
    first, second, third = running(store), running(store), running(store)
    elsewhere = running(store, repo="/srv/shop")
    for task, asks in ((first, (TOOLZ,)), (second, (TOOLZ,)), (third, (TOOLZ, FLASK)), (elsewhere, (TOOLZ,))):
        hold(store, task, *asks)
    assert [each.task_id for each in store.queue.approvals()] == [first.id, third.id, elsewhere.id]
    assert open_count(store.db.reader()) == 3
    assert kinds(store) == [Kind.ASKED] * 3
    store.queue.decide(store.queue.approvals()[0].id, True).result()
    now = [store.queue.get(task.id).status for task in (first, second, third, elsewhere)]
    assert now == [Status.QUEUED, Status.QUEUED, Status.WAITING, Status.WAITING]
    assert store.queue.repository_decisions(third.id) == {None: {"package:toolz": True}}
    assert store.queue.repository_decisions(elsewhere.id) == {}


def of_three_projects(store: Store) -> list[Task]:
    """Make four tasks that ask the same question: two of one project, one of another, and one of the root.

    A plan named the project of the second task.
    """
    shop, till = running(store, project="shop"), running(store)
    store.queue.progress(till.id, till.fence, iterations=0, spent=Spent(), project="till").result()
    tasks = [shop, till, running(store, project=""), running(store, project="shop")]
    for task in tasks:
        hold(store, task, TOOLZ)
    return tasks


def test_a_yes_holds_in_all_projects_of_the_workspace(store: Store) -> None:
    tasks = of_three_projects(store)
    (asked,) = store.queue.approvals()
    assert (asked.task_id, open_count(store.db.reader()), kinds(store)) == (tasks[0].id, 1, [Kind.ASKED])
    store.queue.decide(asked.id, True).result()
    assert {store.queue.get(task.id).status for task in tasks} == {Status.QUEUED}
    assert hold(store, running(store, "later", project="almanac"), TOOLZ).status is Status.QUEUED


def test_a_no_holds_in_its_own_project_and_the_others_ask(store: Store) -> None:
    tasks = of_three_projects(store)
    _, till, root, _ = tasks
    unasked = store.queue.submit(TaskSpec(description="y", project="shop")).result().task_id
    store.clock.advance(5)
    store.queue.decide(store.queue.approvals()[0].id, False).result()
    now = [store.queue.get(task.id).status for task in tasks]
    assert now == [Status.QUEUED, Status.WAITING, Status.WAITING, Status.QUEUED]
    (asked,) = store.queue.approvals()
    assert asked.task_id == till.id
    assert kinds(store) == [Kind.ASKED, Kind.ANSWERED, Kind.ANSWERED, Kind.ASKED], "what is left to decide is told"
    store.queue.decide(asked.id, True).result()
    assert store.queue.get(root.id).status is Status.QUEUED
    decided = store.queue.repository_decisions(unasked)
    assert holding(decided, "shop") == {"package:toolz": False}
    assert holding(decided, "till") == holding(decided, "") == {"package:toolz": True}
    assert hold(store, running(store, "later", project="shop"), TOOLZ).status is Status.QUEUED, "the yes is newer"


def test_a_no_holds_for_the_tasks_that_were_there(store: Store) -> None:
    first, second = running(store), running(store)
    hold(store, first, TOOLZ)
    store.clock.advance(5)
    store.queue.decide(store.queue.approvals()[0].id, False).result()
    assert store.queue.repository_decisions(second.id) == {None: {"package:toolz": False}}
    store.clock.advance(5)
    later = running(store, description="later")
    assert store.queue.repository_decisions(later.id) == {}
    assert hold(store, later, TOOLZ).status is Status.WAITING


def test_a_question_is_seen_again_when_the_task_that_asked_first_is_gone(store: Store) -> None:
    first, second = running(store), running(store)
    hold(store, first, TOOLZ)
    hold(store, second, TOOLZ)
    store.queue.cancel(first.id).result()
    assert [each.task_id for each in store.queue.approvals()] == [second.id]


def test_no_secret_is_kept_in_an_answer(store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ)
    decided = store.queue.decide(store.queue.approvals()[0].id, False, "no: hunter2hunter2 \ud800").result()
    assert decided.answer == "no: *** \\u{d800}"


def test_a_waiting_task_survives_the_end_of_its_daemon(tmp_path: Path, store: Store) -> None:
    task = running(store)
    hold(store, task, TOOLZ)
    store.db.close()
    with open_store(tmp_path / "agent.sqlite") as reopened:
        assert reopened.queue.recover().result() == []
        (asked,) = reopened.queue.approvals()
        reopened.queue.decide(asked.id, True).result()
        assert reopened.queue.get(task.id).status is Status.QUEUED


def test_questions_of_an_older_database_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    conn = connect(path)
    for statement in (*schema.TABLES, *schema.VECTORS):
        conn.execute(statement)
    conn.execute(
        "INSERT INTO tasks (id, status, priority, description, created_at) VALUES (1, 'waiting', 1, 'x', '2026-01-01')"
    )
    conn.execute('INSERT INTO task_specs (task_id, spec) VALUES (1, \'{"description": "x"}\')')
    rows = [("Which?", "that", "2026-01-02"), ("And now?", None, None)]
    for question, text, answered_at in rows:
        conn.execute(
            "INSERT INTO approvals (task_id, attempt, question, answer, asked_at, answered_at) VALUES (1, 1, ?, ?, "
            "'2026-01-01', ?)",
            (question, text, answered_at),
        )
    conn.execute(
        "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)"
    )
    for name, _ in migrations.STEPS[:2]:
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('nightshift', ?, '')", (name,)
        )
    conn.commit()
    conn.close()
    Database(path).close()
    with open_store(path) as store:
        first, second = store.queue.approvals(open_only=False)
        assert (first.ask.kind, first.granted, first.answer) == (AskKind.QUESTION, True, "that")
        assert (second.granted, second.answer) == (None, "")
        answer(store.queue, 1, "now")
        assert store.queue.get(1).status is Status.QUEUED


SETUP = Ask(kind=AskKind.SETUP, subject="setup:abc", question="May it run?\n\necho hello")


def test_a_setup_script_is_asked_for_once_and_one_answer_is_for_all_tasks_of_the_repository(store: Store) -> None:
    first, second = running(store, "one", "/repo"), running(store, "two", "/repo", project="web")
    hold(store, first, SETUP)
    hold(store, second, SETUP)
    assert ask(store) == [("setup:abc", None)]
    assert kinds(store) == [Kind.ASKED]
    assert store.queue.decision("setup:abc") is None
    store.queue.decide(store.queue.approvals()[0].id, False).result()
    assert ask(store) == []
    assert {store.queue.get(task.id).status for task in (first, second)} == {Status.QUEUED}
    assert store.queue.decision("setup:abc") is False
    third = running(store, "three", "/repo")
    hold(store, third, SETUP)
    store.queue.decide(store.queue.approvals()[0].id, True).result()
    assert store.queue.decision("setup:abc") is True

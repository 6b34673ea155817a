"""Tool calls are stored durably, so that a restarted daemon need not run them again."""

import json
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.errors import StaleFence
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tools import ToolPlace, ToolRecord
from nightshift.storage.db import tool_store
from nightshift.storage.db.event_log import EventFilter
from tests.support.store import Store, open_store

SECRET = "hunter2hunter2"
EDIT = ToolRecord(
    name="edit",
    arguments=json.dumps({"path": "a.py", "old": "x = 1", "new": "x = 2"}),
    text="a.py: 1 place changed",
    change={"a.py": "x = 2\n", "old.py": None, "odd.py": "y = '\ud800'\n"},
    took_s=0.125,
)


def claim(store: Store) -> Task:
    store.queue.submit(TaskSpec(description="x")).result()
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def locate(task: Task, step_no: int = 1, call_no: int = 0, seq: int = 0) -> ToolPlace:
    return ToolPlace(task_id=task.id, attempt=task.attempt, step_no=step_no, call_no=call_no, seq=seq)


def save(store: Store, task: Task, at: ToolPlace, record: ToolRecord = EDIT, fence: int | None = None) -> Future[None]:
    return store.tools.save(at, fence or task.fence, record, worker="w")


def reply(store: Store, task: Task, step_no: int = 1, call_no: int = 0) -> None:
    """Store the model's reply that requested the tool calls."""
    request = ModelRequest(
        phase=Phase.CODING, messages=(Message(role="user", text="do it"),), task_id=task.id, attempt=task.attempt,
        step_no=step_no, call_no=call_no, iteration=3,
    )  # fmt: skip
    store.steps.save_reply(request, Completion(text="```edit```", backend="x", model="m")).result()


def events(store: Store) -> list[Event]:
    return store.events.last(50, EventFilter(kind=Kind.TOOL_CALLED))


def test_a_call_is_found_at_its_place_after_a_restart_as_it_was_stored(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        task = claim(store)
        assert store.tools.stored(locate(task)) is None
        save(store, task, locate(task, 1, 2, 3)).result()
        save(store, task, locate(task, 1, 2, 4), replace(EDIT, text="no such text", ok=False, change=None)).result()
    with open_store(tmp_path / "a.sqlite") as store:
        assert store.tools.stored(locate(task, 1, 2, 3)) == EDIT
        failed = store.tools.stored(locate(task, 1, 2, 4))
        assert failed == replace(EDIT, text="no such text", ok=False, change=None)
        others = [locate(task, 2, 2, 3), locate(task, 1, 1, 3), locate(task, 1, 2, 5), replace(locate(task), attempt=2)]
        assert [store.tools.stored(other) for other in others] == [None] * 4


def test_a_call_and_its_event_are_stored_together_and_it_names_the_try_of_its_reply(store: Store) -> None:
    task = claim(store)
    reply(store, task)
    save(store, task, locate(task)).result()
    save(store, task, locate(task, seq=1), replace(EDIT, ok=False, change=None)).result()
    done, failed = events(store)
    assert (done.message, done.task_id, done.attempt, done.iteration) == ("edit a.py", task.id, 1, 3)
    assert (done.phase, done.worker) == (Phase.CODING, "w")
    assert done.data == {
        "name": "edit", "brief": "edit a.py", "ok": True, "took_s": 0.125, "chars": 21, "changed": True,
    }  # fmt: skip
    assert (failed.message, failed.data["ok"], failed.data["changed"]) == ("failed: edit a.py", False, False)


def test_a_stale_fence_is_refused_and_leaves_nothing(store: Store) -> None:
    task = claim(store)
    with pytest.raises(StaleFence):
        save(store, task, locate(task), fence=task.fence + 1).result()
    store.queue.requeue(task.id, task.fence, "shutdown").result()
    with pytest.raises(StaleFence):
        save(store, task, locate(task)).result()
    assert store.tools.stored(locate(task)) is None
    assert events(store) == []


def test_storing_a_call_twice_keeps_the_first_and_tells_of_it_once(store: Store) -> None:
    task = claim(store)
    save(store, task, locate(task)).result()
    texts = store.db.reader().execute("SELECT COUNT(*) FROM artifacts").fetchone()[0]
    save(store, task, locate(task), replace(EDIT, text="another", change=None)).result()
    assert store.tools.stored(locate(task)) == EDIT
    assert len(events(store)) == 1
    assert store.db.reader().execute("SELECT COUNT(*) FROM artifacts").fetchone()[0] == texts


def test_secrets_are_taken_out_of_all_but_the_change_which_may_be_committed(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite", secrets=(SECRET,)) as store:
        task = claim(store)
        record = ToolRecord(
            name="run",
            arguments=json.dumps({"command": f"echo {SECRET} 'é'"}),
            text=f"said {SECRET}",
            change={"a.py": f"KEY = '{SECRET}'\n"},
        )
        save(store, task, locate(task), record).result()
        replay = store.tools.stored(locate(task))
        assert replay is not None
        assert json.loads(replay.arguments) == {"command": "echo *** 'é'"}
        assert (replay.text, replay.change) == ("said ***", record.change)
        assert SECRET not in f"{events(store)} {tool_store.calls(store.db.reader(), task.id, 1, 1)}"
        assert events(store)[0].message == "run: echo *** 'é'"


@pytest.mark.parametrize("arguments", ["{path: \ud800", "[" * 100_000])
def test_arguments_that_are_no_json_or_endless_are_kept_as_a_text(store: Store, arguments: str) -> None:
    task = claim(store)
    save(store, task, locate(task), replace(EDIT, arguments=arguments)).result()
    replay = store.tools.stored(locate(task))
    assert replay is not None
    assert arguments in (replay.arguments, json.loads(replay.arguments))


def test_the_calls_of_a_step_are_listed_in_order_and_counted(store: Store) -> None:
    task = claim(store)
    for at in (locate(task, 1, 1, 0), locate(task, 1, 0, 1), locate(task, 1, 0, 0), locate(task, 4)):
        save(store, task, at, replace(EDIT, ok=at.call_no == 0)).result()
    conn = store.db.reader()
    listed = tool_store.calls(conn, task.id, 1, 1)
    assert [(call.call_no, call.seq, call.ok) for call in listed] == [(0, 0, True), (0, 1, True), (1, 0, False)]
    assert (listed[0].brief, listed[0].chars, listed[0].changed) == ("edit a.py", 21, True)
    assert store.steps.artifact(listed[0].result) == EDIT.text
    assert tool_store.counts(conn, task.id, 1) == {1: (3, 1), 4: (1, 0)}
    assert tool_store.counts(conn, task.id, 2) == {}


def test_a_call_whose_event_cannot_be_stored_is_not_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def append(*_: object) -> int:
        raise LookupError("no event")

    task = claim(store)
    with monkeypatch.context() as patched:
        patched.setattr(store.tools._events, "append", append)
        with pytest.raises(LookupError, match="no event"):
            save(store, task, locate(task)).result()
    assert store.tools.stored(locate(task)) is None
    save(store, task, locate(task)).result()
    assert len(events(store)) == 1

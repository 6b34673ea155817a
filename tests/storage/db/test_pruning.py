"""Old rows are deleted.

Open tasks can always continue, references stay valid, and no unreferenced text remains.
"""

import json
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import ENDED, Ending, Outcome, Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tools import ToolPlace, ToolRecord
from nightshift.storage.db import pruning
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import MAX_DATA_BYTES, EventFilter
from nightshift.storage.db.pruning import Gone
from nightshift.storage.db.sqlite import Connection
from tests.support import tiers
from tests.support.store import Store, open_store

DAY_S = 86_400.0
SETTING = "keep_work_days"
TEXTS = st.sampled_from(["a", "b", "c", "d"])
CALLS = st.tuples(TEXTS, TEXTS)
ATTEMPTS = st.lists(st.lists(CALLS, max_size=2), min_size=1, max_size=3)
ENDS = st.sampled_from(["committed", "gave_up", "cancelled", "parked", "waiting", "running", "retried"])


def work_on(store: Store, task: Task, steps: list[list[tuple[str, str]]]) -> None:
    """Store the steps of an attempt, each with its calls as (prompt, reply)."""
    for number, calls in enumerate(steps):
        for call_no, (prompt, reply) in enumerate(calls):
            ask(store, task, number, call_no, prompt, reply)
            call(store, task, number, call_no, prompt, reply)
        done = Step(
            phase=Phase.CODING,
            outcome=Outcome.OK,
            state=AttemptState(phase=Phase.CODING, base="b", step_no=number + 1, plan=calls[0][1] if calls else ""),
        )
        future = store.steps.save_step(task.id, task.attempt, task.fence, done, started_at=store.clock(), duration_s=1)
        future.result()


def ask(store: Store, task: Task, step_no: int, call_no: int, prompt: str, reply: str) -> None:
    request = ModelRequest(
        phase=Phase.CODING,
        messages=(Message(role="user", text=prompt),),
        task_id=task.id,
        attempt=task.attempt,
        step_no=step_no,
        call_no=call_no,
        iteration=0,
    )
    answer = Completion(text=reply, backend="x", model="m", tokens_in=1, tokens_out=1, cost_usd=0.5, latency_s=1)
    store.steps.save_reply(request, answer).result()


def call(store: Store, task: Task, step_no: int, call_no: int, result: str, changed: str) -> None:
    """Store a tool call; its texts may be shared with other rows."""
    location = ToolPlace(task_id=task.id, attempt=task.attempt, step_no=step_no, call_no=call_no, seq=0)
    change = {"a.py": changed} if changed == "a" else None
    record = ToolRecord(name="edit", arguments=f'{{"path": "{changed}"}}', text=result, change=change)
    store.tools.save(location, task.fence, record).result()


def begin(store: Store, spec: TaskSpec | None = None) -> Task:
    submission = store.queue.submit(spec or TaskSpec(description="x")).result()
    task = store.queue.claim("w", only=submission.task_id).result()
    assert task is not None
    return task


def leave(store: Store, task: Task, how: str) -> None:
    """Bring a running task into a state: ended, retried, parked, waiting for the owner, or still running."""
    at = (task.id, task.fence)
    if how in {"committed", "gave_up", "retried"}:
        store.queue.finish(*at, Ending.COMMITTED if how == "committed" else Ending.GAVE_UP).result()
    elif how == "cancelled":
        store.queue.finish(*at, Ending.USER).result()
    elif how == "parked":
        store.queue.park(*at, "no model", None).result()
    elif how == "waiting":
        store.queue.wait_for_owner(*at, "which one?").result()
    if how == "retried":
        store.queue.retry(task.id).result()


def prune_all(store: Store, days: float) -> list[int]:
    """Prune work and events older than `days`; return the ids of the tasks whose work was pruned."""
    before = store.clock() - timedelta(days=days)
    task_ids = store.db.write(lambda conn: pruning.long_ended(conn, before, 1000)).result()
    for task_id in task_ids:
        while prune_some(store, task_id, before).rows:
            pass
    reached: int | None = 0
    while reached is not None:
        some = partial(pruning.prune_events, after=reached, upto=10**9, before=before)
        reached = store.db.write(some).result().reached
    sweep(store)
    return task_ids


def prune_some(store: Store, task_id: int, before: datetime) -> Gone:
    now = store.clock()
    return store.db.write(lambda conn: pruning.prune_work(conn, task_id, before, now, SETTING)).result()


def sweep(store: Store) -> int:
    texts, reached = 0, ""
    while True:
        digests, end = pruning.list_unnamed(store.db.reader(), reached, 3)
        texts += store.db.write(partial(pruning.drop_unnamed, digests=digests)).result()
        if end is None:
            return texts
        reached = end


def name(store: Store) -> set[str]:
    """Return every digest that a row refers to, without using any index or helper of the tested code."""
    conn = store.db.reader()
    digests = {row[0] for row in conn.execute("SELECT work FROM steps")}
    digests |= {digest for row in conn.execute("SELECT prompt, reply FROM replies") for digest in row}
    rows = conn.execute("SELECT arguments, result, change FROM tool_calls")
    digests |= {digest for row in rows for digest in row if digest}
    texts = (row[0] for row in conn.execute("SELECT data FROM execution_logs"))
    return digests | {data["artifact"] for data in map(json.loads, texts) if "artifact" in data}


def keep(store: Store) -> set[str]:
    return {row[0] for row in store.db.reader().execute("SELECT digest FROM artifacts")}


def rows(store: Store, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.db.reader().execute(f"SELECT * FROM {table}")]


TASKS = st.lists(st.tuples(ENDS, ATTEMPTS, st.floats(0, 40), st.booleans()), min_size=1, max_size=6)
NEVER = ("tasks", "task_specs", "iterations", "model_stats", "git_commits", "approvals", "failures")


@settings(max_examples=tiers.examples(40), deadline=None)
@given(TASKS, st.floats(0, 120))
def test_whatever_is_pruned_open_tasks_and_references_hold(
    tasks: list[tuple[str, list[list[tuple[str, str]]], float, bool]], days: float
) -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "a.sqlite") as store:
        for how, steps, rest_days, wordy in tasks:
            task = begin(store)
            work_on(store, task, steps)
            if wordy:
                text = "x" * (MAX_DATA_BYTES + 1)
                store.events.emit(Event(kind=Kind.SUITE_JUDGED, task_id=task.id, data={"text": text}))
                store.db.write(lambda _: None).result()
            leave(store, task, how)
            store.clock.advance(rest_days * DAY_S)
        before, cut = {table: rows(store, table) for table in NEVER}, store.clock() - timedelta(days=days)
        timelines = {task.id: store.steps.timeline(task.id) for task in store.queue.find(limit=100)}
        newest = store.events.newest_id()
        gone = prune_all(store, days)
        assert {table: rows(store, table) for table in NEVER} == before
        assert name(store) == keep(store)
        assert store.db.reader().execute("PRAGMA foreign_key_check").fetchall() == []
        assert store.events.newest_id() == newest
        for task in store.queue.find(limit=100):
            may_go = task.status in ENDED and task.ended_at is not None and task.ended_at < cut
            assert bool(store.steps.timeline(task.id)) != may_go
            assert (task.id in gone) == may_go == (pruning.work_pruned(store.db.reader(), task.id) is not None)
            if not may_go:
                assert store.steps.timeline(task.id) == timelines[task.id]
                last = store.steps.last_work(task.id, task.attempt)
                assert last is not None
                assert all(store.steps.artifact(call.prompt) for call in store.steps.calls(task.id))
                assert (
                    store.events.after(0, limit=100, wanted=EventFilter(task_id=task.id))[0].kind is Kind.TASK_SUBMITTED
                )


def test_a_task_that_is_asked_for_again_while_it_is_pruned_keeps_what_is_left(store: Store) -> None:
    task = begin(store)
    work_on(store, task, [[("p", "r")]])
    leave(store, task, "gave_up")
    store.clock.advance(31 * DAY_S)
    task_ids = pruning.long_ended(store.db.reader(), store.clock(), 10)
    store.queue.retry(task.id).result()
    (task_id,) = task_ids
    assert prune_some(store, task_id, store.clock()) == Gone()
    assert store.steps.timeline(task.id)


def test_ids_of_events_never_come_again(store: Store) -> None:
    for _ in range(5):
        store.events.emit(Event(kind=Kind.STATE_SAVED))
    store.db.write(lambda _: None).result()
    newest = store.events.newest_id()
    store.clock.advance(100 * DAY_S)
    prune_all(store, 90)
    assert [event.id for event in store.events.last(10)] == [newest]
    store.events.emit(Event(kind=Kind.STATE_SAVED))
    store.db.write(lambda _: None).result()
    assert store.events.newest_id() == newest + 1
    assert [event.id for event in store.events.after(2, limit=10)] == [newest, newest + 1]
    assert store.events.cursor_at(store.clock()) == newest


ROWS, TEXT_BYTES = 1200, 20_000


def fill(conn: Connection) -> None:
    text = bytes(TEXT_BYTES)
    for number in range(ROWS):
        conn.execute("INSERT INTO artifacts (digest, chars, body, at) VALUES (?, 1, ?, '')", (f"{number:04}", text))


def empty(conn: Connection, above: int = 10) -> None:
    conn.execute("DELETE FROM artifacts WHERE digest > ?", (f"{above:04}",))


def test_a_new_file_shrinks_in_steps(tmp_path: Path) -> None:
    with Database(tmp_path / "a.sqlite") as db:
        db.write(fill).result()
        db.write(empty).result()
        before = pruning.size(db.reader())
        assert before.free > 0.9 * before.file
        steps = 0
        while db.write(pruning.give_back).result():
            steps += 1
        after = pruning.size(db.reader())
        assert (after.free, after.used) == (0, after.file)
        assert after.file < 0.1 * before.file
        assert steps > 10
    assert (tmp_path / "a.sqlite").stat().st_size == after.file

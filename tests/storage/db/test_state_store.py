"""The state store: state, commit ledger, totals, saved replies and backups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Event, Kind
from nightshift.core.status import SavedReplies
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Spent
from nightshift.storage.db import backups
from nightshift.storage.db.commit_signs import ChangedFile, Signs
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import faults
from nightshift.storage.db.state_store import Commit, StateStore, count_saved_replies
from tests.support.store import Store, open_store


def call(store: Store, model: str = "m", **values: float | None) -> None:
    reply = replace(Completion(text="", backend="b", model=model, tokens_in=10, tokens_out=1), **values)  # type: ignore[arg-type]
    store.steps.save_reply(ModelRequest(phase=Phase.CODING, messages=()), reply).result()


def test_a_value_outlives_a_restart_and_none_removes_it(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        assert store.state.get("k") is None
        store.state.set("k", {"since": store.clock(), "list": (1, 2.5, None)}).result()
    with open_store(tmp_path / "a.sqlite") as store:
        assert store.state.get("k") == {"since": "2026-03-01T12:00:00.000000Z", "list": [1, 2.5, None]}
        store.state.set("k", None).result()
        assert store.state.get("k") is None


def test_the_ledger_has_each_commit_once_newest_first(store: Store) -> None:
    first = Commit(
        task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="c1", base="b", subject="s", label="verified",
        model="m", iterations=2, at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    second = replace(first, task_id=2, commit="c2")
    for commit in (first, second, replace(first, integrated=True)):
        store.state.record_commit(commit).result()
    assert store.state.commits(9) == [second, replace(first, integrated=True)]
    assert store.state.commits(1) == [second]
    assert store.state.commits(9, task_id=1) == [replace(first, integrated=True)]


def test_what_was_spent_is_told_since_a_moment_and_ever(store: Store) -> None:
    assert store.state.sum_spent() == Spent()
    call(store, cost_usd=0.5, latency_s=2.0)
    store.clock.advance(3600)
    midnight = store.clock()
    call(store, cost_usd=0.25, latency_s=1.0)
    assert store.state.spent_since(midnight) == Spent(
        model_calls=1, tokens_in=10, tokens_out=1, cost_usd=0.25, model_s=1.0
    )
    assert store.state.sum_spent().cost_usd == 0.75
    assert store.state.spent_since(midnight + timedelta(seconds=1)) == Spent()


def test_what_the_engine_saved_is_told_of_the_last_days(store: Store) -> None:
    spared = {"extra": {"saved": "openai=big"}}
    for _ in range(2):  # once eight days ago, and once now
        for backend, more in (("openai", {}), ("repair", spared), ("repair", {})):
            reply = Completion(text="", backend=backend, model=backend, **more)  # type: ignore[arg-type] # as said
            store.steps.save_reply(ModelRequest(phase=Phase.CODING, messages=()), reply).result()
        for task_id, model in ((1, "repair"), (2, "repair, openai")):
            commit = Commit(
                task_id=task_id, attempt=1, repo="r", branch="b", base="x", subject="s", label="tests_passed",
                commit=f"{task_id} {store.clock()}", model=model,
            )  # fmt: skip
            store.state.record_commit(commit).result()
        assert store.state.count_saved_replies() == SavedReplies(days=7.0, replies=3, saved=1, solved=1)
        store.clock.advance(8 * 86400)
    assert count_saved_replies(store.db.reader(), store.clock(), 30) == SavedReplies(
        days=30, replies=6, saved=2, solved=1
    )
    assert store.state.sum_spent().model_calls == 2, "the engine's replies are no calls"


def test_a_backup_is_made_while_writers_go_on_and_is_whole(store: Store, tmp_path: Path) -> None:
    store.state.set("k", 1).result()
    later = [store.state.set("k", n) for n in range(2, 50)]
    backups.copy(store.db.path, tmp_path / "backups" / "one.sqlite")
    for future in later:
        future.result()
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["one.sqlite"]
    with Database(tmp_path / "backups" / "one.sqlite", readonly=True) as db:
        copy = StateStore(db)
        assert 1 <= copy.get("k") < 50
    assert faults(tmp_path / "backups" / "one.sqlite") == []


def test_the_ledger_keeps_files_and_signs_and_the_first_push(store: Store) -> None:
    files = (ChangedFile(path="a\udce4.py", added=3, removed=0), ChangedFile(path="b.png", added=None, removed=None))
    signs = Signs(own_tests=("test_a.py",), packages={"toolz": "1.0"}, escalations=1)
    first = Commit(
        task_id=1, attempt=1, repo="/r", branch="b", commit="c1", base="b", subject="s", label="verified",
        files=files, signs=signs, at=store.clock(),
    )  # fmt: skip
    for commit in (first, replace(first, integrated=True, files=None, signs=None)):
        store.state.record_commit(commit).result()
    pushed_at = store.clock()
    for _ in range(2):
        store.state.record_push("/r", "c1").result()
        store.clock.advance(60)
    assert store.state.commits(9) == [replace(first, integrated=True, pushed_at=pushed_at)]


def test_a_reader_who_is_notified_of_a_commit_finds_it_in_the_ledger(store: Store) -> None:
    entry = Commit(
        task_id=7, attempt=2, repo="/r", branch="agent/7", commit="c1", base="b", subject="s", label="verified"
    )
    notices: list[tuple[Kind, int | None, Mapping[str, object], list[str]]] = []

    def read(events: Sequence[Event]) -> None:
        ledger = [commit.commit for commit in store.state.commits(9)]
        notices.extend((event.kind, event.task_id, event.data, ledger) for event in events)

    store.events.subscribe(read)
    store.state.record_commit(entry).result()
    store.events.catch_up().result()
    assert notices == [(Kind.COMMIT_RECORDED, 7, {"commit": "c1", "branch": "agent/7"}, ["c1"])]

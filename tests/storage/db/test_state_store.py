"""The state store: state, commit ledger, totals, saved replies and backups."""

from dataclasses import replace
from datetime import timedelta

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store


def call(store: Store, model: str = "m", **values: float | None) -> None:
    reply = replace(Completion(text="", backend="b", model=model, tokens_in=10, tokens_out=1), **values)  # type: ignore[arg-type]
    store.steps.save_reply(ModelRequest(phase=Phase.CODING, messages=()), reply).result()


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

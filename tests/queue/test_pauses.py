"""Pauses: no task is claimed while any pause lasts, and each pause ends only with its own cause."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlite_utils import Database as Tables
from sqlite_utils import Migrations

from nightshift.core.clock import to_text
from nightshift.core.events import Kind
from nightshift.core.tasks.queueing import BY_OWNER, PauseSource
from nightshift.core.tasks.states import DaemonState
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db import migrations
from nightshift.storage.db.sqlite import connect
from tests.support import tiers
from tests.support.store import Store, open_store

SOURCES = st.sampled_from(PauseSource)
CHANGES = st.lists(st.tuples(st.booleans(), SOURCES) | st.just("resume"), max_size=30)


def describe(store: Store) -> list[tuple[Kind, str]]:
    return [(event.kind, event.data["source"]) for event in store.events.after(0, limit=99) if "source" in event.data]


def test_the_owner_is_told_of_his_own_pause_as_such(store: Store) -> None:
    store.queue.pause("lunch").result()
    store.queue.add_pause(PauseSource.CHECKPOINT, "the week is over").result()
    assert store.queue.pause_state().state is DaemonState.CHECKPOINT
    store.queue.resume().result()
    pause = [(Kind.PAUSED, "owner"), (Kind.HELD_BACK, "checkpoint")]
    assert describe(store) == [*pause, (Kind.RESUMED, "owner"), (Kind.LET_GO, "checkpoint")]


@settings(deadline=None, max_examples=tiers.examples(50))
@given(changes=CHANGES)
def test_tasks_are_held_back_exactly_while_a_hold_stands(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[bool, PauseSource] | str]
) -> None:
    model: set[PauseSource] = set()
    with open_store(tmp_path_factory.mktemp("holds") / "a.sqlite") as store:
        store.queue.submit(TaskSpec(description="x")).result()
        for change in changes:
            if isinstance(change, str):
                state, model = store.queue.resume().result(), model - {*BY_OWNER}
            elif change[0]:
                state, model = store.queue.add_pause(change[1], "r").result(), model | {change[1]}
            else:
                state, model = store.queue.remove_pause(change[1]).result(), model - {change[1]}
            assert {hold.source for hold in state.reasons} == model
            assert state == store.queue.pause_state()
        assert (store.queue.claim("w").result() is None) == bool(model)


@pytest.mark.parametrize(("reason", "source"), [("lunch", PauseSource.OWNER), ("checkpoint", PauseSource.CHECKPOINT)])
def test_a_pause_of_an_older_version_becomes_a_hold(
    tmp_path: Path, store: Store, reason: str, source: PauseSource
) -> None:
    path, at = tmp_path / "old.sqlite", store.clock()
    conn, steps = connect(path), Migrations(migrations.SET)
    for name, step in migrations.STEPS[:4]:
        steps(name=name)(step)
    steps.apply(Tables(conn))
    pause = f'{{"reason": "{reason}", "since": "{to_text(at)}"}}'
    conn.execute("INSERT INTO system_state (key, value, at) VALUES ('pause', ?, ?)", (pause, to_text(at)))
    conn.close()
    with open_store(path) as old:
        held = old.queue.pause_state()
        assert [(hold.source, hold.reason, hold.since) for hold in held.reasons] == [(source, reason, at)]

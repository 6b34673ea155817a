"""Damaged bytes in a database: after the daemon's start the database is sound, and no task is lost silently.

Each case copies the files of a home that was in use, damages the database, and opens it as the daemon does. Then it
compares each earlier task: the task has its old state, or the daemon's report names it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift.app.store import open_store
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db.recovery import find_faults
from tests.support import tiers
from tests.support.lived_home import DATABASE, NOON, Files, Moment, Ticking, describe, moments, settings_of, tasks_of

LOG = f"{DATABASE}-wal"
PAGE = 4096
fraction = st.floats(0, 1, exclude_max=True)


@dataclass(frozen=True)
class Harm:
    """One damaging change to a file; `places` are fractions of its length."""

    kind: str
    file: str
    places: tuple[float, ...] = (0.0,)
    bits: int = 1

    def do(self, files: Files) -> None:
        if self.kind == "gone":
            files.pop(self.file, None)
            return
        raw = bytearray(files.get(self.file, b""))
        for position in self.places if raw else ():
            at = int(position * len(raw))
            if self.kind == "flip":
                raw[at] ^= self.bits
            elif self.kind == "zero":
                raw[at // PAGE * PAGE : (at // PAGE + 1) * PAGE] = bytes(len(raw[at // PAGE * PAGE :][:PAGE]))
            elif self.kind == "cut":
                del raw[at:]
                break
            elif self.kind == "noise":
                raw[at : at + 300] = bytes((37 * n + self.bits) % 256 for n in range(len(raw[at : at + 300])))
        if self.file in files:
            files[self.file] = bytes(raw)


harms = st.one_of(
    st.builds(
        Harm,
        st.sampled_from(["flip", "flip", "zero", "noise"]),
        st.sampled_from([DATABASE, LOG]),
        st.lists(fraction, min_size=1, max_size=4).map(tuple),
        st.integers(1, 255),
    ),
    st.builds(Harm, st.just("cut"), st.sampled_from([DATABASE, LOG]), st.tuples(fraction)),
    st.builds(Harm, st.just("gone"), st.sampled_from([DATABASE, LOG])),
)


@cache
def live(folder: Path) -> dict[str, Moment]:
    return moments(folder / "lived")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder, in memory if possible: the tests look at the bytes and not at how they are flushed."""
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("damaged")
    with tempfile.TemporaryDirectory(dir=base) as directory:
        live(Path(directory))
        yield Path(directory)
    live.cache_clear()


def put(home: Path, files: Files) -> None:
    shutil.rmtree(home, ignore_errors=True)
    for name, raw in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(raw)


def open_it(home: Path) -> int:
    """Open the home as the daemon does, submit a task, and return its id."""
    with ExitStack() as stack:
        store = open_store(settings_of(home), stack, Ticking(NOON.replace(hour=23)))
        return store.queue.submit(TaskSpec(description="new")).result().task_id


def check(home: Path, before: Moment) -> None:
    """Compare the tasks of a home with their states before the damage; a changed task must be in the report."""
    new = open_it(home)
    tasks, report = tasks_of(home / DATABASE), describe(home / DATABASE)
    assert find_faults(home / DATABASE) == ()
    named = {n for name in ("lost", "uncertain", "failed") for n in report[name]} if report else set()
    for task_id, state in before.tasks.items():
        assert tasks.get(task_id) == state or task_id in named, (
            f"task {task_id} was {state}, is {tasks.get(task_id)}; {report}"
        )
    assert new > max(before.tasks)
    assert tasks[new][4] == "new"
    if report is not None:
        assert open_it(home) > new
        assert describe(home / DATABASE) == report, "what was restored once is sound"


@settings(max_examples=tiers.examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    moment=st.sampled_from(["hot", "folded", "closed"]),
    harm=st.lists(harms, min_size=1, max_size=2),
    backup=st.booleans(),
)
def test_nothing_is_silently_lost(folder: Path, moment: str, harm: list[Harm], backup: bool) -> None:
    before = live(folder)[moment]
    files = {name: raw for name, raw in before.files.items() if backup or "/backups/" not in name}
    for each in harm:
        each.do(files)
    put(folder / "home", files)
    check(folder / "home", before)


@pytest.mark.parametrize("moment", ["hot", "folded", "closed"])
def test_without_damage_nothing_is_restored(folder: Path, moment: str) -> None:
    before = live(folder)[moment]
    put(folder / "home", before.files)
    check(folder / "home", before)
    assert describe(folder / "home" / DATABASE) is None

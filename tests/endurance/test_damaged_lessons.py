"""Overwritten pages of a home's database: after the next start, tasks are done and lessons are recalled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift.app.store import open_store
from nightshift.core.tasks.states import Status
from nightshift.storage.db.recovery import find_faults
from tests.support import tiers
from tests.support.damaged_home import PAGE, fail_and_fix, make_home, put
from tests.support.lived_home import DATABASE, NOON, Files, Ticking, settings_of

fraction = st.floats(0, 1, exclude_max=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder, in memory if possible: the tests look at the bytes and not at how they are flushed."""
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("lessons")
    with tempfile.TemporaryDirectory(dir=base) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def homes(folder: Path) -> dict[bool, Files]:
    """The files of two homes: key False has today's tables, key True the former vector table."""
    return {old: make_home(folder / "made", lessons=12, vector_tables=old) for old in (False, True)}


@settings(max_examples=tiers.examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pages=st.lists(fraction, min_size=1, max_size=8), seed=st.integers(0, 255), old=st.booleans())
def test_a_task_that_fails_once_is_done_and_recalls_a_lesson(
    folder: Path, homes: dict[bool, Files], pages: list[float], seed: int, old: bool
) -> None:
    files, home = dict(homes[old]), folder / "home"
    raw = bytearray(files[DATABASE])
    for position in pages:
        page = int(position * len(raw) / PAGE)
        raw[PAGE * page : PAGE * (page + 1)] = bytes((seed * 31 + 37 * n) % 256 for n in range(PAGE))
    files[DATABASE] = bytes(raw)
    put(home, files)
    for number in range(2):
        with ExitStack() as stack:
            store = open_store(settings_of(home), stack, Ticking(NOON.replace(hour=22 + number)))
            status, recalled = fail_and_fix(store, f"add the prices of another basket {number}")
        assert (status, bool(recalled)) == (Status.DONE, True)
        assert find_faults(home / DATABASE) == ()

"""The sweep runs the tests that may depend on any file.

It runs while the workers are idle, and identifies the task whose commit broke such a test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from nightshift.attempt.services import AttemptServices
from nightshift.attempt.sweep import Sweep
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.commit_message import CommitMessage
from tests.support.services import open_services

LOADS_BY_NAME = """import importlib


def test_the_answer_is_found_by_name():
    assert importlib.import_module("ans" + "wer").VALUE == 42
"""


def land(parts: AttemptServices, task_id: int, **files: str) -> str:
    """Commit files to the workspace's main, as a task does."""
    git = parts.git
    workspace = git.open(None, None, task_id, f"task {task_id}")
    change = {name.replace("_py", ".py"): text for name, text in files.items()}
    message = CommitMessage(subject=f"Task {task_id}", trailers={"Task": str(task_id)})
    commit = git.commit(workspace, workspace.base, change, message)
    assert commit
    assert git.advance(workspace, commit, workspace.base)
    return commit.id


async def test_the_task_that_broke_a_test_of_unknown_closure_is_named(tmp_path: Path) -> None:
    async with open_services(tmp_path) as rooms:
        parts, settings = rooms.parts, rooms.settings
        land(parts, 1, answer_py="VALUE = 42\n", test_answer_py=LOADS_BY_NAME)
        sweep = Sweep(parts, settings.workspace, idle=lambda: True)
        assert await sweep.once()
        for task_id in (2, 3, 4):
            land(parts, task_id, **{f"other_{task_id}_py": f"X = {task_id}\n"})
        culprit = land(parts, 5, answer_py="VALUE = 41\n")
        land(parts, 6, more_py="Y = 6\n")
        assert not await sweep.once()
        await asyncio.wrap_future(rooms.store.events.catch_up())
        (regression,) = [event for event in rooms.store.events.last(50) if event.kind is Kind.REGRESSION]
        assert (regression.task_id, regression.data["commit"], regression.data["tests"]) == (
            5,
            culprit,
            ["test_answer.py"],
        )
        assert await sweep.once(), "the same tip is not judged twice"


STARTS_ONE = """import os
import subprocess
import sys


def test_starts_one_process_and_waits():
    assert os.listdir(".")
    assert subprocess.run([sys.executable, "-c", "pass"]).returncode == 0
"""
LEAVES_MANY = """import os
import subprocess


def test_leaves_processes():
    assert os.listdir(".")
    for _ in range(200):
        try:
            subprocess.Popen(["sleep", "600"], start_new_session=True)
        except OSError:
            break
"""


def leave_processes(parts: AttemptServices) -> dict[str, list[str]]:
    """Add tests, one of which leaves more processes running than the sandbox allows; return no commit to blame."""
    land(parts, 2, test_a1_py=STARTS_ONE, test_a2_py=LEAVES_MANY, test_b1_py=STARTS_ONE)
    land(parts, 3, test_b2_py=STARTS_ONE)
    return {}


def break_twice(parts: AttemptServices) -> dict[str, list[str]]:
    """Add two tests, and break each with a different commit; return the broken tests of each commit."""
    other = LOADS_BY_NAME.replace('"ans" + "wer"', '"oth" + "er"').replace("42", "7")
    land(parts, 2, other_py="VALUE = 7\n", test_other_py=other)
    first = land(parts, 3, answer_py="VALUE = 41\n")
    land(parts, 4, more_py="Y = 6\n")
    second = land(parts, 5, other_py="VALUE = 8\n")
    return {first: ["test_answer.py"], second: ["test_other.py"]}


def break_before(parts: AttemptServices) -> dict[str, list[str]]:
    """Break a test with a commit and record that commit as swept, so that no later commit is to blame."""
    bad = land(parts, 2, answer_py="VALUE = 41\n")
    land(parts, 3, more_py="Y = 6\n")
    parts.state.set("swept_commit", bad).result()
    land(parts, 4, still_py="Z = 6\n")
    return {}


@pytest.mark.parametrize("happen", [leave_processes, break_twice, break_before])
async def test_a_commit_is_blamed_only_for_what_fails_alone_there_and_not_before_it(
    tmp_path: Path, happen: Callable[[AttemptServices], dict[str, list[str]]]
) -> None:
    async with open_services(tmp_path) as rooms:
        parts, settings = rooms.parts, rooms.settings
        land(parts, 1, answer_py="VALUE = 42\n", test_answer_py=LOADS_BY_NAME)
        sweep = Sweep(parts, settings.workspace, idle=lambda: True)
        assert await sweep.once()
        blamed = happen(parts)
        await sweep.once()
        await asyncio.wrap_future(rooms.store.events.catch_up())
        events = rooms.store.events.last(50)
        regressions = [event for event in events if event.kind is Kind.REGRESSION]
        assert {event.data["commit"]: event.data["tests"] for event in regressions} == blamed
        warned = [event for event in events if event.kind is Kind.SWEPT and event.level is Level.WARNING]
        assert bool(warned) == (not blamed), "what is not blamed on anybody is told all the same"


async def test_a_sweep_gives_way_to_work(tmp_path: Path) -> None:
    async with open_services(tmp_path) as rooms:
        parts, settings = rooms.parts, rooms.settings
        land(parts, 1, answer_py="VALUE = 42\n", test_answer_py=LOADS_BY_NAME)
        assert not await Sweep(parts, settings.workspace, idle=lambda: False).once()
        assert await Sweep(parts, settings.workspace, idle=lambda: True).once()


async def test_each_project_is_swept_as_if_it_were_alone(tmp_path: Path) -> None:
    async with open_services(tmp_path) as rooms:
        parts, settings = rooms.parts, rooms.settings
        beginning = {"shop/README.md": "# shop\n", "shop/requirements.txt": "pytest\n", "answer.py": "VALUE = 41\n"}
        land(parts, 1, **beginning, **{"shop/answer.py": "VALUE = 42\n", "shop/tests/test_answer.py": LOADS_BY_NAME})
        sweep = Sweep(parts, settings.workspace, idle=lambda: True)
        assert await sweep.once()
        culprit = land(parts, 2, **{"shop/answer.py": "VALUE = 41\n"})
        assert not await sweep.once()
        await asyncio.wrap_future(rooms.store.events.catch_up())
        (regression,) = [event for event in rooms.store.events.last(50) if event.kind is Kind.REGRESSION]
        assert (regression.data["commit"], regression.data["tests"]) == (culprit, ["shop/tests/test_answer.py"])

"""Several workers on one main branch: cancels, restarts of workers and kills of the daemon at random moments.

Afterwards git and the records agree on every commit. The moments depend on a printed seed; NIGHTSHIFT_SEED=N repeats
them. `make test-all` runs a larger form.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import secrets
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightshift.attempt.verify import Judgement, OpenedSuite, Verification
from nightshift.core.tasks.commit_message import trailers
from tests.support import tiers
from tests.support.daemon import Daemon, settings_for
from tests.support.git_repo import git
from tests.support.services import open_services
from tests.support.wire_server import WireServer

TASKS, CANCELS, RESTARTS, KILLS = (40, 8, 6, 4) if tiers.ALL else (12, 3, 2, 1)
WITHIN_S = 900
NAME = re.compile(r"\b(?:alone|same|part)_\d+\b")


@dataclass(frozen=True, slots=True)
class Landed:
    """A commit of ours.

    Attributes:
        id: The full commit id.
        task: The number of the commit's task.
        is_draft: True if the commit message says that the commit is a draft.
    """

    id: str
    task: int
    is_draft: bool


def test_git_and_the_records_agree_on_every_commit_after_a_night_of_interruptions(tmp_path: Path) -> None:
    seed = int(os.environ.get("NIGHTSHIFT_SEED") or secrets.randbelow(10**6))
    print("NIGHTSHIFT_SEED", seed)
    moments = random.Random(seed)
    with WireServer(_reply) as server:
        path = f"{_make_slow_git(tmp_path)}:{os.environ['PATH']}"
        daemon = Daemon(tmp_path, settings_for(server, WORKER_COUNT="4", REPAIR_FIRST_S="0", PATH=path))
        daemon.start()
        numbers = [daemon.submit(description=words) for words in _descriptions(moments)]
        _interrupt(daemon, numbers, moments)
        daemon.wait(*numbers, within_s=WITHIN_S)
        daemon.stop()
    faults = [*_compare(tmp_path), *asyncio.run(_verify(tmp_path))]
    assert not faults, "\n".join((f"NIGHTSHIFT_SEED={seed}", *faults))


def _descriptions(moments: random.Random) -> list[str]:
    """Return the descriptions of tasks, most of which overlap.

    Several tasks each begin the same new project, and several add a file with the same text.
    """
    groups = [[f"Write same_{n}.py with same_{n}(n): n plus {n}"] * 3 for n in range(TASKS // 9)]
    parts = [f"write part_{n}.py with part_{n}(n): n plus {n}" for n in range(TASKS // 3)]
    groups += [[f"In the new project greek{n // 3} {part}" for n, part in enumerate(parts[at : at + 3], at)]
               for at in range(0, len(parts), 3)]  # fmt: skip
    groups += [
        [f"Write alone_{n}.py with alone_{n}(n): n plus {n}"] for n in range(TASKS - sum(len(each) for each in groups))
    ]
    moments.shuffle(groups)
    return [words for group in groups for words in group]


def _make_slow_git(folder: Path) -> Path:
    """Create a `git` that takes 50 ms more to move references, so that interruptions hit landings.

    Return its folder.
    """
    git_path = shutil.which("git")
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "git"
    wrapper.write_text(f"""#!{sys.executable} -S
import os, subprocess, sys, threading, time
if "--stdin" not in sys.argv or "update-ref" not in sys.argv:
    os.execv({git_path!r}, ["git", *sys.argv[1:]])
child = subprocess.Popen([{git_path!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
threading.Thread(target=lambda: os._exit(child.wait()), daemon=True).start()
for line in iter(sys.stdin.buffer.readline, b""):
    time.sleep(0.05 * (line == b"commit\\n"))
    child.stdin.write(line)
    child.stdin.flush()
child.stdin.close()
sys.exit(child.wait())
""")
    wrapper.chmod(0o755)
    return wrapper.parent


def _reply(phase: str, messages: Sequence[dict[str, Any]]) -> str:
    text = "\n".join(str(message["content"]) for message in messages)
    name = NAME.search(text)
    assert name, text
    number = int(name[0].partition("_")[2])
    project = re.search(r"new project (greek\d)", text)
    if phase == "PLANNING":
        return f"Project: {project[1] if project else '.'}\n1. Write it."
    if phase == "CODING":
        return f"```python path={name[0]}.py\ndef {name[0]}(n):\n    return n + {number}\n```"
    asserts = f"    assert {name[0]}(1) == {1 + number}\n    assert {name[0]}(-4) == {number - 4}\n"
    code = f"from {name[0]} import {name[0]}\n\n\ndef test_{name[0]}():\n{asserts}"
    return f"```python path=tests/test_{name[0]}.py\n{code}```" if phase == "TESTING" else "{}"


def _interrupt(daemon: Daemon, numbers: Sequence[int], moments: random.Random) -> None:
    """Cancel tasks, restart workers and kill the daemon, spread over the time that the tasks take."""
    doings = ["cancel"] * CANCELS + ["restart"] * RESTARTS + ["kill"] * KILLS
    moments.shuffle(doings)
    ended_at = [(index + 1) * len(numbers) // (len(doings) + 1) for index in range(len(doings))]
    for doing, after in zip(doings, ended_at, strict=True):
        _wait_for_ended(daemon, after)
        time.sleep(moments.random() * 0.3)
        if doing == "kill":
            daemon.kill()
            daemon.start()
        elif doing == "restart":
            with contextlib.suppress(OSError):
                daemon.ask("POST", f"/api/worker/worker-{moments.randint(1, 4)}/restart", {})
        else:
            daemon.ask("POST", f"/api/task/{_choose_task(daemon, numbers, moments)}/cancel", {})


def _choose_task(daemon: Daemon, numbers: Sequence[int], moments: random.Random) -> int:
    """Return a task that is landing now. If 60 checks find none, return any task."""
    for _ in range(60):
        for worker in daemon.get("/api/status")["workers"]:
            if worker["phase"] == "COMMIT":
                return int(worker["task_id"])
    return moments.choice(numbers)


def _wait_for_ended(daemon: Daemon, count: int) -> None:
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        queue = daemon.get("/api/status")["queue"]
        if sum(queue.get(status, 0) for status in ("done", "failed", "cancelled")) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"fewer than {count} tasks ended: {daemon.output()[-2000:]}")


def _commits(repo: Path, *which: str) -> list[Landed]:
    """Return our commits that are reachable from these references."""
    entries = git(repo, "log", "-z", "--format=%H%n%B", *which).split("\0")
    commits = [(id_, trailers(message)) for id_, _, message in (entry.partition("\n") for entry in entries) if id_]
    return [
        Landed(id_, int(fields.get("Task") or fields["Draft-Of"]), "Draft-Of" in fields)
        for id_, fields in commits if {"Task", "Draft-Of"} & fields.keys()
    ]  # fmt: skip


def _compare(home: Path) -> Iterator[str]:
    """Yield a sentence for each disagreement between git and the records."""
    repo = home / "workspace"
    with contextlib.closing(sqlite3.connect(home / "db" / "agent_logs.sqlite")) as db:
        tasks = {row[0]: row[1:] for row in db.execute("SELECT id, status, commit_id FROM tasks")}
        ledger = db.execute("SELECT commit_id, task_id, integrated FROM git_commits").fetchall()
    on_main = _commits(repo, "main")
    for commit in on_main:
        rows = [row for row in ledger if row[0] == commit.id]
        if not git(repo, "diff-tree", "--no-commit-id", "--name-only", "-r", "--root", commit.id).strip():
            yield f"{commit.id} of task {commit.task} is empty"
        if rows != [(commit.id, commit.task, 1)]:
            yield f"{commit.id} of task {commit.task} on main stands in the ledger as {rows}"
        if tasks[commit.task] != ("done", commit.id):
            yield f"task {commit.task} has {commit.id} on main and is {tasks[commit.task]}"
        if commit.is_draft:
            yield f"{commit.id} on main is a draft"
    for commit in {each.id: each for each in _commits(repo, "--branches=agent/*", "^main")}.values():
        if (commit.id, commit.task, 0) not in ledger or tasks[commit.task][1] != commit.id:
            yield f"{commit.id} of task {commit.task} waits on a branch, its task is {tasks[commit.task]}"
    for commit_id, task, integrated in ledger:
        if integrated and commit_id not in {each.id for each in on_main}:
            yield f"the ledger has {commit_id} of task {task} on main, git has not"


async def _verify(home: Path) -> list[str]:
    """Return a sentence for each commit on main whose evidence does not hold."""
    async with open_services(home) as opened:
        repo = opened.settings.workspace

        async def open_suite() -> OpenedSuite:
            return OpenedSuite(suite=opened.parts.suite)

        verification = Verification(opened.parts.git, str(repo), open_suite, opened.parts.seal_key)
        faults = []
        for commit in _commits(repo, "main"):
            report = await verification.verify(commit.id)
            if report.judgement is not Judgement.HOLDS:
                faults.append(f"{commit.id} of task {commit.task}: {report.sentence}: {report.checks}")
        return faults

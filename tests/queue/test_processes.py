"""The queue with several real processes, and after kill -9."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db.sqlite import faults
from tests.support.store import open_store

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def child(role: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    run = [sys.executable, "-m", "tests.support.queue_child", role, str(path)]
    with subprocess.Popen(run, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return (line.strip() for line in process.stdout if line.endswith("\n"))


def fill(path: Path, count: int) -> list[int]:
    with open_store(path) as store:
        sent = [store.queue.submit(TaskSpec(description=str(number))) for number in range(count)]
        return [done.result().task_id for done in sent]


def test_four_processes_claim_every_task_once(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ids = fill(path, 400)
    with (
        child("consume", path) as a,
        child("consume", path) as b,
        child("consume", path) as c,
        child("consume", path) as d,
    ):
        outputs = [process.communicate(timeout=120)[0].splitlines() for process in (a, b, c, d)]
        assert [process.returncode for process in (a, b, c, d)] == [0] * 4
    claims = [int(line.split()[1]) for output in outputs for line in output if line.startswith("claimed")]
    assert sorted(claims) == ids
    with open_store(path) as store:
        assert store.queue.counts()[Status.DONE] == 400
        tasks = store.queue.find(limit=1000)
        assert {task.fence for task in tasks} == {1}
        assert store.events.newest_id() == 3 * 400


def test_what_a_killed_producer_was_acknowledged_is_there(tmp_path: Path) -> None:
    path, acknowledged = tmp_path / "a.sqlite", list[int]()
    open_store(path).db.close()
    with child("produce", path) as process:
        for line in lines(process):
            acknowledged.append(int(line))
            if len(acknowledged) == 100:
                process.kill()
    with open_store(path) as store:
        stored = {task.id for task in store.queue.find(limit=10_000)}
        assert len(acknowledged) >= 100
        assert stored >= set(acknowledged)
        assert stored <= {*acknowledged, acknowledged[-1] + 1}
        assert faults(store.db.path) == []


def test_what_a_killed_claimer_left_is_done_once_by_the_next(tmp_path: Path) -> None:
    path, output_lines = tmp_path / "a.sqlite", list[str]()
    ids = fill(path, 60)
    for kill_at in (7, 30, 61):
        with child("consume", path) as process:
            for line in lines(process):
                output_lines.append(line)
                if len(output_lines) >= kill_at:
                    process.kill()
        with open_store(path) as store:
            assert len(store.queue.recover().result()) <= 1
    with child("consume", path) as process:
        output_lines += list(lines(process))
    done = [int(line.split()[1]) for line in output_lines if line.startswith("done")]
    assert len(done) == len(set(done))
    with open_store(path) as store:
        assert sorted(task.id for task in store.queue.find(Status.DONE, limit=100)) == ids
        assert {task.attempt for task in store.queue.find(limit=100)} == {1}
        assert set(done) <= set(ids)

"""The git manager's open files and memory do not grow with the number of repositories and commits that it has used."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil

from nightshift.git import registry, trees
from tests.git.conftest import Bench, make_commit, message
from tests.support.git_repo import make_repo
from tests.support.processes import words


def is_reader(process: psutil.Process, below: str) -> bool:
    """Check whether a process is git's object reader for a repository below a folder.

    Return False if the process ends meanwhile.
    """
    try:
        return "cat-file" in words(process) and below in str(process.environ())
    except psutil.Error:
        return False


def test_only_the_repositories_used_last_stay_open(bench: Bench, tmp_path: Path) -> None:
    names = [str(make_repo(tmp_path / f"repo{number}", {"a.py": "1\n"})) for number in range(registry.OPEN + 4)]
    bench.git.open(None, None, 1, "x")
    for _ in range(2):
        for name in names:
            where = bench.git.open(name, None, 7, "x")
            assert bench.git.tree(where, where.base).read("a.py") == b"1\n"
    held = [process for process in psutil.Process().children() if is_reader(process, str(tmp_path))]
    assert len(held) <= 2 * (registry.OPEN + 1)
    assert bench.git.tip(bench.git.open(None, None, 2, "y"))


def test_objects_in_memory_are_counted_in_bytes(bench: Bench) -> None:
    where = bench.git.open(None, None, 1, "x")
    files = {f"module_{number:05}_{'x' * 180}.py": "" for number in range(3000)}
    last = make_commit(bench.git, where, dict(files), 1).id
    reader = bench.git._repositories.find(where).reader
    for number in range(50):  # Each commit has a root tree of some 800 KB
        commit = bench.git.commit(where, last, {"a.py": f"{number}\n"}, message(1))
        assert commit
        last = commit.id
        assert len(bench.git.tree(where, last).entries()) == 3001
    held = sum(map(len, reader._objects.values()))
    assert held == reader._object_bytes
    assert trees.MAX_KEPT_BYTES / 2 < held <= trees.MAX_KEPT_BYTES
    assert threading.active_count() < 50
